package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"firn.dev"
	"firn.dev/internal/find/lookback"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// A client without an answer sends its message again with the same ID. It then gets the
// ticket of the queued or running message, or the existing answer.

// acceptNamed accepts a message with an ID chosen by its sender, and reports whether it was
// accepted before.
func (g *lanes) acceptNamed(ctx context.Context, id firn.ID, t *ticket) (_ *ticket, repeated bool, _ error) {
	if _, err := g.recoverSession(ctx, id); err != nil { // it may be an unanswered message of the previous gateway
		return nil, false, err
	}
	defer g.locks.lock("message " + string(id) + " " + string(t.ID))()
	if twin := g.findTicket(id, t.ID); twin != nil {
		twin.adoptLease(t.lease())
		return twin, true, nil
	}
	if _, ours := t.ID.Time(); !ours { // searching takes longer; its turn checks that
		return t, false, g.enter(ctx, id, t)
	}
	answer, at, logged, ok, err := g.findAnswer(ctx, id, t.ID)
	if err != nil {
		return nil, false, err
	}
	if logged { // possibly before a crash or a failed sync
		if err := store.Confirm(ctx, g.Store, id, at); err != nil {
			return nil, false, err
		}
	}
	if ok {
		t.answer = answer
		t.finish(nil)
		return t, true, nil
	}
	if logged { // it is not added again
		t.apply(eventDeliver, eventAccept)
	}
	return t, logged, g.enter(ctx, id, t)
}

// findTicket returns the ticket of a message that is queued or being answered, or nil. A
// failed ticket does not count, so that a retry is attempted.
func (g *lanes) findTicket(id firn.ID, message firn.EntryID) *ticket {
	l := g.laneOf(id)
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range slices.Concat(l.running, l.queue) {
		if t.ID == message && t.state().stage != stageFailed {
			return t
		}
	}
	return nil
}

// findAnswer returns the position of a message and its answer, if the log has them.
func (g *lanes) findAnswer(ctx context.Context, id firn.ID, message firn.EntryID) (a wire.Answer, at firn.Pos, logged, ok bool, err error) {
	for rec, err := range lookback.Records(ctx, g.Store, id, store.End, lookback.EarliestAppend(message, g.now())) {
		if err != nil {
			return a, 0, false, false, err
		}
		if isMessage(&rec, message) {
			a, ok, err = g.answerTo(ctx, id, message, rec.Glance.ID)
			return a, rec.At, true, ok, err
		}
	}
	return a, 0, false, false, nil
}

// existingAnswer returns the answer that a message already has, if that is why there was
// nothing to answer: the previous turn or another gateway read it. If it has none, because
// its turn was stopped and the head was moved back, the answer is empty: the message is
// stored, and a retry would be rejected forever.
func (g *lanes) existingAnswer(id firn.ID, t *ticket, err error) (wire.Answer, bool) {
	nothingLeft := t.state().resumes() && errors.Is(err, firn.ErrInvalid)
	if !errors.Is(err, firn.ErrConflict) && !nothingLeft {
		return wire.Answer{}, false
	}
	a, _, logged, ok, err := g.findAnswer(g.ctx, id, t.ID)
	if err == nil && logged && !ok && nothingLeft {
		return wire.Answer{Session: id}, true
	}
	return a, ok && err == nil
}

// isMessage reports whether a record is a message or the one it was joined into.
func isMessage(rec *firn.Record, message firn.EntryID) bool {
	if rec.Gap != nil || rec.Glance.Kind != firn.KindMessage {
		return false
	}
	if rec.Glance.ID == message {
		return true
	}
	if line := rec.Line(); line != nil && !bytes.Contains(line, []byte(message)) {
		return false // our own IDs have only one encoding
	}
	entry, err := rec.Entry()
	return err == nil && slices.Contains(collected(entry), message)
}

// answerTo returns the answer to a message, which is the given entry of the session.
func (g *lanes) answerTo(ctx context.Context, id firn.ID, message, entry firn.EntryID) (wire.Answer, bool, error) {
	path, err := g.Path(ctx, id)
	if err != nil {
		return wire.Answer{}, false, err
	}
	a, ok := answerOn(path, entry)
	if !ok && !slices.ContainsFunc(path.Entries, func(e firn.Entry) bool { return e.ID == entry }) {
		if path, err = g.descendants(ctx, id, entry); err != nil {
			return wire.Answer{}, false, err
		}
		a, ok = answerOn(path, entry)
	}
	a.Session, a.Message = id, message
	if owner, err := g.agentOf(ctx, id); err == nil {
		a.Silent = ok && owner.Silence.Silent(a.Text)
		a.Agent = cmp.Or(a.Agent, nameOf(owner))
	}
	return a, ok, nil
}

// descendants returns an entry and its descendants on all branches: the head may have been
// moved back since.
func (g *lanes) descendants(ctx context.Context, id firn.ID, entry firn.EntryID) (window.Path, error) {
	var later []firn.Entry // newest first
	for rec, err := range g.Store.ReadBack(ctx, id, store.End) {
		if err != nil {
			return window.Path{}, err
		}
		if e, err := rec.Entry(); rec.Gap == nil && err == nil {
			later = append(later, e)
		}
		if rec.Glance.ID == entry {
			break
		}
	}
	slices.Reverse(later)
	var path window.Path
	there := map[firn.EntryID]bool{entry: true}
	for _, e := range later {
		if e.ID == entry || there[e.Parent] {
			there[e.ID] = true
			path.Entries = append(path.Entries, e)
		}
	}
	return path, nil
}

// answerOn returns the answer to an entry on a path: the first complete one that took it
// into account.
func answerOn(p window.Path, entry firn.EntryID) (wire.Answer, bool) {
	var a wire.Answer
	place := func(id firn.EntryID) int {
		return slices.IndexFunc(p.Entries, func(e firn.Entry) bool { return e.ID == id })
	}
	at := place(entry)
	if at < 0 {
		return a, false
	}
	for _, e := range p.Entries[at:] {
		m, ok := e.Body.(*firn.Message)
		if knew := window.LastSeen(e); !ok || m.Role != firn.RoleAssistant || knew != "" && place(knew) < at {
			continue
		}
		if calls := addUsage(&a, m); calls == 0 && m.StopReason != firn.StopError && m.StopReason != firn.StopAborted && m.Text() != "" {
			a.Entry, a.Text, a.Stop = e.ID, m.Text(), string(m.StopReason)
			a.Agent, a.Provider, a.Model = window.AnsweringAgent(&e), m.Provider, m.Model
			return a, true
		}
	}
	return a, false
}

// addUsage adds the usage of an assistant message to an answer and returns the number of its
// tool calls.
func addUsage(a *wire.Answer, m *firn.Message) (calls int) {
	for _, part := range m.Parts {
		if _, ok := part.(firn.ToolCall); ok {
			calls++
		}
	}
	a.Rounds++
	a.Calls += calls
	a.Usage.Answers++
	if u := m.Usage; u != nil {
		a.Usage.Input, a.Usage.Output = a.Usage.Input+u.Input, a.Usage.Output+u.Output
		a.Usage.CacheRead, a.Usage.CacheWrite = a.Usage.CacheRead+u.CacheRead, a.Usage.CacheWrite+u.CacheWrite
		a.Usage.Cost += u.Cost.Total
	}
	return calls
}
