package api

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/gateway"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
)

// controlledGateway is a gateway with a model whose answers are controlled by the test.
type controlledGateway struct {
	*gateway.Gateway
	t  *testing.T
	st store.Store
	// asked receives the prompts of the model; gate releases its answers.
	asked chan string
	gate  chan struct{}
}

// open creates a gateway whose model echoes the last message each time the gate is opened,
// or hangs if the message asks for it.
func open(t *testing.T, st store.Store) *controlledGateway {
	t.Helper()
	d := &controlledGateway{t: t, st: st, asked: make(chan string, 1000), gate: make(chan struct{}, 1000)}
	var model *scripted.Model
	model = scripted.Func(scripted.Info(), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		last := req.Window.Items[len(req.Window.Items)-1].Message.Text()
		s := scripted.Reply("re: " + last)
		s.Before = func(ctx context.Context) error {
			d.asked <- last
			gate := d.gate
			if strings.HasSuffix(last, "hang") { // messages without an answer between them are merged
				gate = nil
			}
			select {
			case <-gate:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return model.Play(ctx, req, s)
	})
	var err error
	d.Gateway, err = gateway.New(gateway.Options{Store: st, Setup: gateway.Setup{Default: "main", Agents: map[string]*agent.Agent{
		"main": {Store: st, Model: model, NoTitles: true},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	d.startSession("s")
	return d
}

// startSession creates a session unless it exists.
func (d *controlledGateway) startSession(id firn.ID) {
	d.t.Helper()
	header := firn.Entry{Body: &firn.Header{Session: id, Agent: "main"}}
	if _, err := d.st.Append(d.t.Context(), id, store.Start, header); err != nil && !errors.Is(err, firn.ErrConflict) {
		d.t.Fatal(err)
	}
}

// userTexts returns the user messages of a session, one per line.
func (d *controlledGateway) userTexts(id firn.ID) string {
	d.t.Helper()
	var b strings.Builder
	for rec, err := range d.st.Read(d.t.Context(), id, store.Start) {
		if err != nil {
			d.t.Fatal(err)
		}
		entry, err := rec.Entry()
		if err != nil {
			d.t.Fatal(err)
		}
		if m, ok := entry.Body.(*firn.Message); ok && m.Role == firn.RoleUser {
			b.WriteString(m.Text() + "\n")
		}
	}
	return b.String()
}

func (d *controlledGateway) shut() {
	d.t.Helper()
	if err := d.Close(context.Background()); err != nil {
		d.t.Error(err)
	}
}
