package gateway

import (
	"context"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/internal/gateway/timer"
	"firn.dev/internal/gateway/trace"
	"firn.dev/store"
	"firn.dev/wire"
)

// Messages of machines are stored as custom messages that name their sender, never as user
// messages, so that automated text is not attributed to a person.
const (
	machineType = "firn.machine"
	byField     = "by"
)

// byMachine reports whether a machine sent a message.
func byMachine(e firn.Entry) bool { return e.Extra.Get(byField) != nil }

// machineEntry returns the log entry of a machine message.
func (w waiting) machineEntry() firn.Entry {
	e := firn.NewEntry(&firn.CustomMessage{Type: machineType, Parts: w.parts(), Display: true})
	e.ID = w.ID
	e.Extra = append(w.extra(nil), firn.Field{Name: byField, Value: toJSON(w.By)})
	return e
}

// storeMachineMessage stores a machine message at the start of its turn, unless that was
// done before. The turn then resumes with the unanswered message.
func (l *lane) storeMachineMessage(ctx context.Context, t *ticket) error {
	if t.saved || t.state().resumes() {
		return nil
	}
	e := t.machineEntry()
	e.Time = l.g.now()
	if _, err := l.g.Store.Append(ctx, l.id, store.Any, e); err != nil {
		return fmt.Errorf("send to session %s the message of %s: %w", l.id, t.By, err)
	}
	t.saved = true
	t.apply(eventAccept)
	return nil
}

// postMachineText posts a machine message in a session, for the asker in ctx. It waits for
// a running turn: conversations are not interrupted.
func (g *inbox) postMachineText(ctx context.Context, id firn.ID, by, text string, entry firn.EntryID) (*ticket, error) {
	if strings.TrimSpace(text) == "" {
		return nil, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("%s has no message", by)}
	}
	if entry == "" {
		entry = firn.NewEntryID()
	}
	return g.postMachineMessage(ctx, id, waiting{ID: entry, Text: text, By: by, Asker: askerOf(ctx)})
}

// postMachineMessage posts a machine message in a session. The message is durable when it
// returns.
func (g *inbox) postMachineMessage(ctx context.Context, id firn.ID, w waiting) (*ticket, error) {
	w.Mode = route.QueueFollowup
	t := newTicket(w)
	t.answer.Session, t.trace = id, trace.FromContext(ctx)
	if err := g.lanes.enter(ctx, id, t); err != nil {
		return nil, err
	}
	select {
	case <-t.accepted:
		if !t.saved && t.joinedAt().IsZero() { // it failed immediately
			<-t.done
			return t, t.err
		}
		return t, nil
	case <-ctx.Done():
		return t, context.Cause(ctx)
	}
}

// startMachineSession creates a session for a machine message and points the key at it. It
// records the previous session but carries nothing over from it.
func (g *inbox) startMachineSession(ctx context.Context, k route.Key, cause route.Cause, title, model string) (firn.ID, error) {
	keyed, err := g.keyed()
	if err != nil {
		return "", err
	}
	id, now := firn.NewID(), g.now()
	entries := []firn.Entry{{Time: now, Body: &firn.Header{Session: id, Agent: k.Agent(), Key: k.String(), CWD: g.workspaceOf(k.Agent())}}}
	if old, err := keyed.Lookup(ctx, k.String()); err == nil {
		claim, err := store.ReplaceClaim(ctx, g.Store, k.String(), old, now)
		if err != nil {
			return "", err
		}
		entries = append(append(entries, resetMark{Reason: cause, Previous: old}.entry()), claim...)
	}
	entries = append(entries, firn.NewEntry(&firn.Title{Name: title, Source: firn.SourceAuto}))
	if model != "" {
		chosen, err := g.choice(model)
		if err != nil {
			return "", err
		}
		entries = append(entries, firn.NewEntry(chosen))
	}
	for i := range entries {
		entries[i].Time = now
	}
	if _, err := g.Store.Append(ctx, id, store.Start, entries...); err != nil {
		return "", err
	}
	if err := keyed.Bind(ctx, k.String(), id); err != nil {
		return "", err
	}
	g.events.publish(event(wire.SessionUpdated, id, nil))
	return id, nil
}

// choice returns the entry that chooses a model, by provider/model.
func (g *inbox) choice(name string) (*firn.ModelChange, error) {
	setup := g.setup.Load()
	providerName, model, ok := strings.Cut(name, "/")
	if !ok || setup.Models == nil {
		return nil, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("unknown model %q", name), Hint: "expected provider/model"}
	}
	if _, err := setup.Models(providerName, model); err != nil {
		return nil, fmt.Errorf("select model %s: %w", name, err)
	}
	return &firn.ModelChange{Provider: providerName, Model: model}, nil
}

// addWork adds to g.work, which delays shutdown until Done is called. It returns false if
// the gateway is shutting down.
func (g *core) addWork() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.work.Add(1)
	return true
}

// checkMachines rejects invalid jobs, hooks and maintenance settings.
func (s *Setup) checkMachines() error {
	keys := make(map[string]string)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		k, err := s.jobKey(j)
		if err != nil {
			return err
		}
		if other, ok := keys[k.String()]; ok {
			return fmt.Errorf("jobs %q and %q would have the same sessions: %w", other, j.ID, firn.ErrInvalid)
		}
		keys[k.String()] = j.ID
		if strings.TrimSpace(j.Message) == "" {
			return fmt.Errorf("job %s has no message: %w", j.ID, firn.ErrInvalid)
		}
		if err := j.Check(); err != nil {
			return fmt.Errorf("job %s: %w", j.ID, err)
		}
	}
	for name, h := range s.Hooks {
		if err := s.checkHook(name, h); err != nil {
			return err
		}
	}
	return s.Maintenance.Check()
}

// jobKey returns the key of a job's sessions.
func (s *Setup) jobKey(j *timer.Job) (route.Key, error) {
	owner := j.Agent
	if owner == "" {
		owner = s.Default
	}
	if _, err := s.agent(owner); err != nil {
		return route.Key{}, fmt.Errorf("job %s: %w", j.ID, err)
	}
	k, err := route.Parts{Agent: owner, Kind: route.KindCron, Peer: j.ID}.Key()
	if err != nil {
		return k, fmt.Errorf("job %.40q: %w", j.ID, err)
	}
	return k, nil
}
