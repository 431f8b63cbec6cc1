package gateway

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// jobGateway is a gateway with jobs in a synctest bubble.
type jobGateway struct {
	*Gateway
	t  *testing.T
	st store.Store
	// hold blocks the model until it is closed or the turn ends.
	mu    sync.Mutex
	hold  chan struct{}
	asked []string
	log   *bytes.Buffer
	// ahead is the offset of the clock.
	ahead atomic.Int64
}

// newJobGateway opens a gateway whose clock shows at, independent of the bubble's.
func newJobGateway(t *testing.T, st store.Store, at time.Time, change func(*Setup)) *jobGateway {
	t.Helper()
	o := &jobGateway{t: t, st: st, log: &bytes.Buffer{}}
	var model *scripted.Model
	model = scripted.Func(scripted.Info(), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		last := req.Window.Items[len(req.Window.Items)-1].Message.Text()
		s := scripted.Reply("done: " + last)
		s.Before = func(ctx context.Context) error {
			o.mu.Lock()
			o.asked = append(o.asked, last)
			hold := o.hold
			o.mu.Unlock()
			if hold == nil {
				return nil
			}
			select {
			case <-hold:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return model.Play(ctx, req, s)
	})
	shift := time.Until(at)
	clock := func() time.Time { return time.Now().Add(shift + time.Duration(o.ahead.Load())) }
	setup := Setup{
		Default: "main", Zone: time.UTC, Route: route.Config{Default: "main"},
		Agents: map[string]*agent.Agent{"main": {Store: st, Model: model, NoTitles: true, Clock: clock}},
		Models: func(p, m string) (provider.Model, error) {
			if p+"/"+m != "scripted/other" {
				return nil, firn.ErrNotFound
			}
			return model, nil
		},
	}
	setup.Agents["main"].Models = setup.Models
	if change != nil {
		change(&setup)
	}
	g, err := New(Options{Store: st, Setup: setup, Clock: clock, Log: slog.New(slog.NewTextHandler(&guarded{o}, nil))})
	if err != nil {
		t.Fatal(err)
	}
	o.Gateway = g
	return o
}

// guarded writes to the log of a gateway.
type guarded struct{ o *jobGateway }

func (g *guarded) Write(p []byte) (int, error) {
	g.o.mu.Lock()
	defer g.o.mu.Unlock()
	return g.o.log.Write(p)
}

func (o *jobGateway) logged() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.log.String()
}

// block blocks the model; the returned function releases it.
func (o *jobGateway) block() func() {
	o.mu.Lock()
	defer o.mu.Unlock()
	hold := make(chan struct{})
	o.hold = hold
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.hold = nil
		close(hold)
	}
}

func (o *jobGateway) start() *jobGateway {
	o.t.Helper()
	if err := o.StartJobs(o.t.Context()); err != nil {
		o.t.Fatal(err)
	}
	return o
}

// pass lets time pass and waits until everything due is done.
func (o *jobGateway) pass(d time.Duration) {
	time.Sleep(d) // of the bubble
	synctest.Wait()
}

func (o *jobGateway) close() {
	o.t.Helper()
	if err := o.Close(context.Background()); err != nil {
		o.t.Error(err)
	}
}

func (o *jobGateway) job(id string) wire.Job {
	o.t.Helper()
	all, err := o.Jobs(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(j wire.Job) bool { return j.ID == id })
	if i < 0 {
		o.t.Fatalf("there is no job %s in %+v", id, all)
	}
	return all[i]
}

// of returns the sessions of a key, oldest first.
func (o *jobGateway) of(key string) []store.Info {
	o.t.Helper()
	k, err := route.Parse(key)
	if err != nil {
		o.t.Fatal(err)
	}
	all, err := o.runs(o.t.Context(), k)
	if err != nil {
		o.t.Fatal(err)
	}
	slices.Reverse(all)
	return all
}

func entriesOf(t *testing.T, st store.Store, id firn.ID) []firn.Entry {
	t.Helper()
	var all []firn.Entry
	for rec, err := range st.Read(t.Context(), id, store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		entry, err := rec.Entry()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry)
	}
	return all
}

// spoken returns the messages of a session with their authors.
func spoken(t *testing.T, st store.Store, id firn.ID) string {
	t.Helper()
	var lines []string
	for _, e := range entriesOf(t, st, id) {
		switch b := e.Body.(type) {
		case *firn.Message:
			lines = append(lines, string(b.Role)+": "+b.Text())
		case *firn.CustomMessage:
			lines = append(lines, strings.Trim(string(e.Extra.Get(byField)), `"`)+": "+firn.JoinText(b.Parts))
		}
	}
	return strings.Join(lines, "\n")
}

func inMemory() store.Store { return memstore.New(memstore.Options{}) }
