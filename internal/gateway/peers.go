package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/wire"
)

// Peers are the other gateways that serve the same sessions. A session belongs to
// one of them at a time, while something is done to it: its turns run there, and
// whoever asks elsewhere is passed on. So what is promised of one lane holds for
// all clients of all gateways.
//
// Who owns a session may be wrong about it for a moment. Nothing is lost by that:
// see [agent.ErrFenced].
type Peers interface {
	// Enter waits until this gateway owns a session, and calls waits if it must.
	Enter(ctx context.Context, id firn.ID, waits func()) (*Tenure, error)
	// Own makes this gateway the owner of what is claimed, unless another one is:
	// then the tenure is nil, and the other's name is returned.
	Own(ctx context.Context, claim Claim) (*Tenure, string, error)
	// Tell tells the others what happens here. It does not wait.
	Tell(e wire.Event)
	// Leads reports whether this one does what is done by one for all, such as
	// running jobs.
	Leads() bool
	// Running tells in which sessions the others have a turn running, as far as they
	// answer in time.
	Running(ctx context.Context) []wire.Session
	// Roll tells which gateways and servers there are.
	Roll(ctx context.Context) (wire.Cluster, error)
}

// Claim is what a gateway wants to own: a session, or a key that points at none
// yet.
type Claim struct {
	Session firn.ID
	Key     string
}

// Tenure is that this gateway owns something.
type Tenure struct {
	// Since is the place in the log behind which nobody else may have taken the
	// session over.
	Since firn.Pos
	// Lost is closed when it is over before its time.
	Lost <-chan struct{}
	// Leave says that it is not needed any more. It may be called twice.
	Leave func()
	// Void says that somebody else has taken it over, whatever the lease says.
	Void func()
}

// lost reports whether a tenure is over.
func (t *Tenure) lost() bool {
	select {
	case <-t.Lost:
		return true
	default:
		return false
	}
}

// owning runs one turn while this gateway owns the session.
func (l *lane) runOwned(ctx context.Context, batch []*ticket) (wire.Answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tenure := l.tenure
	go func() {
		select {
		case <-tenure.Lost:
			cancel(agent.ErrFenced)
		case <-ctx.Done():
		}
	}()
	answer, err := l.turn(ctx, batch)
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, agent.ErrFenced) {
		err = cause
	}
	return answer, err
}

// sift sees that the lane has the session, if there are other gateways, and
// returns what of a batch is still to be answered: another one may have had the
// session meanwhile.
func (l *lane) acquireSession(ctx context.Context, batch []*ticket) ([]*ticket, error) {
	if l.g.Peers == nil {
		return batch, nil
	}
	if l.tenure != nil && !l.tenure.lost() {
		if !slices.ContainsFunc(batch, func(t *ticket) bool { return t.recovered }) {
			return batch, nil
		}
		return l.concludeHandled(ctx, batch)
	}
	l.releaseTenure()
	var err error
	l.tenure, err = l.g.Peers.Enter(ctx, l.id, func() {
		l.g.events.publish(event(wire.TurnQueued, l.id, wire.Answer{Session: l.id, Message: batch[len(batch)-1].ID, Queued: true}))
	})
	if err != nil {
		return batch, err
	}
	l.mu.Lock()
	for _, t := range l.queue { // what waited before may have been said by another
		t.recovered = t.recovered || t.queued
	}
	l.mu.Unlock()
	return l.concludeHandled(ctx, batch)
}

// lose gives up a session that somebody else has taken over.
func (l *lane) voidTenure() {
	if l.tenure != nil {
		l.tenure.Void()
	}
	l.releaseTenure()
}

// inLog reports whether a message is in the log, said or waiting.
func inLog(t *ticket) bool { return t.queued || t.recovered || t.turn.Load() != nil }

// unsaid concludes what of a batch was said by another gateway, and returns the
// rest. Alone, what was said and not answered is gone on with.
func (l *lane) concludeHandled(ctx context.Context, batch []*ticket) (rest []*ticket, err error) {
	for i, t := range batch {
		answer, said, waits, err := l.messageState(ctx, t)
		if err != nil {
			return append(rest, batch[i:]...), err
		}
		switch {
		case t.resume:
			rest = append(rest, t)
		case answer.Entry != "":
			l.conclude(t, answer, nil)
		case said && len(batch) == 1:
			t.resume, t.recovered = true, true
			rest = append(rest, t)
		case said || inLog(t) && !waits:
			l.conclude(t, wire.Answer{Session: l.id}, errTaken())
		default:
			rest = append(rest, t)
		}
	}
	return rest, nil
}

// standing tells of a message whether it was said, what was answered, and whether
// it waits in the log. The live part of the session is read only for what may be
// there: a name of ours that is new is not.
func (l *lane) messageState(ctx context.Context, t *ticket) (answer wire.Answer, said, waits bool, err error) {
	answer, _, said, _, err = l.g.findAnswer(ctx, l.id, t.ID)
	if _, ours := t.ID.Made(); err != nil || ours && !inLog(t) {
		if errors.Is(err, firn.ErrNotFound) {
			err = nil // it begins with this
		}
		return answer, said, false, err
	}
	path, err := l.g.Path(ctx, l.id)
	if err != nil {
		if errors.Is(err, firn.ErrNotFound) {
			err = nil
		}
		return answer, said, false, err
	}
	said = said || slices.ContainsFunc(path.Entries, func(e firn.Entry) bool { return e.ID == t.ID || slices.Contains(collected(e), t.ID) })
	return answer, said, slices.ContainsFunc(queuedIn(path), func(w waiting) bool { return w.ID == t.ID }), nil
}

// disown gives the session back.
func (l *lane) releaseTenure() {
	if l.tenure != nil {
		l.tenure.Leave()
		l.tenure = nil
	}
}

// errTaken is what those are told who wait for an answer that another gateway
// gives now.
func errTaken() error {
	return &wire.Problem{Kind: wire.Unavailable, Message: "another gateway has taken the session over", Hint: "ask again, under the same id if the message had one"}
}

// putBack puts what is in the log back into the queue, because another gateway
// has taken the session over: when that is done with it, it is looked what is
// left. It returns the rest, which nobody knows of.
func (l *lane) requeueStored(batch []*ticket) (rest []*ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var back []*ticket
	for _, t := range batch {
		if inLog(t) {
			back = append(back, t)
		} else {
			rest = append(rest, t)
		}
	}
	l.queue = append(back, l.queue...)
	return rest
}

// Inherit goes on with what the owner before this one accepted in a session and
// did not answer. The caller owns the session.
func (g *Gateway) Inherit(ctx context.Context, id firn.ID) (int, error) {
	owed, err := g.pendingTickets(ctx, id)
	if errors.Is(err, firn.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n := 0
	for _, t := range owed {
		if g.findTicket(id, t.ID) != nil {
			continue
		}
		t.recovered = true
		if err := g.queue(ctx, id, t); err != nil {
			return n, err
		}
		g.deliverReply(id, t)
		n++
	}
	return n, nil
}

// adopt goes on with what is owed in a session, unless another gateway has it,
// which then does.
func (g *Gateway) recoverOwned(ctx context.Context, id firn.ID) (bool, error) {
	owed, err := g.pendingTickets(ctx, id)
	if err != nil || len(owed) == 0 {
		return false, nil // one bad session does not stop the others
	}
	tenure, _, err := g.Peers.Own(ctx, Claim{Session: id})
	if err != nil || tenure == nil {
		return false, err
	}
	defer tenure.Leave()
	n, err := g.Inherit(ctx, id) // anew: it may have been answered meanwhile
	return n > 0, err
}

// forgotten is told to peers, and not beyond: what is remembered of a session is
// not true any more.
const forgotten = "session.forgotten"

// forget forgets what is remembered of a session, here and elsewhere.
func (g *Gateway) forget(id firn.ID) {
	g.forgetLocal(id)
	if g.Peers != nil {
		g.Peers.Tell(wire.Event{Name: forgotten, Session: id})
	}
}

func (g *Gateway) forgetLocal(id firn.ID) {
	g.Erased(id)
}

// Hear takes in what another gateway tells.
func (g *Gateway) Hear(from string, e wire.Event) {
	if e.Name == forgotten {
		g.forgetLocal(e.Session)
		return
	}
	g.events.receive(from, e)
}

// Missed says that something was missed of what another gateway tells.
func (g *Gateway) Missed(from string) { g.events.markMissed(from) }

// Ended says that no other gateway has a session any more.
func (g *Gateway) Ended(id firn.ID) { g.events.endRemote(id) }

// Led says that [Peers.Leads] may have changed.
func (g *Gateway) Led() { g.timer.Rouse() }

// hear tells those who listen here what happens elsewhere.
func (h *hub) receive(from string, e wire.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.partials[e.Session]
	switch e.Name {
	case wire.TurnStarted:
		h.noteTurn(e)
		h.partials[e.Session].from = from
	case wire.TurnCompleted, wire.TurnFailed:
		if p != nil && p.from == from {
			h.noteTurn(e)
		}
	default:
		if p != nil && p.from == from && !p.receive(e) {
			return
		}
		if p == nil && (e.Name == wire.DeltaText || e.Name == wire.DeltaThinking) {
			return // the beginning is not known: the log will tell
		}
	}
	h.broadcast(e)
}

// hear takes in what happens elsewhere, and reports whether it can be told: what
// has a hole cannot.
func (p *partial) receive(e wire.Event) bool {
	switch e.Name {
	case wire.DeltaText, wire.DeltaThinking:
		var d wire.Delta
		if p.holed || json.Unmarshal(e.Data, &d) != nil {
			return false
		}
		p.note(agent.Delta{Entry: d.Entry, Text: d.Text, Thinking: e.Name == wire.DeltaThinking})
	case wire.ToolStarted, wire.ToolCompleted:
		var t wire.Tool
		if json.Unmarshal(e.Data, &t) != nil {
			return false
		}
		if e.Name == wire.ToolStarted {
			p.note(agent.ToolStarted{Call: t.Call, Name: t.Name, Arguments: t.Arguments})
		} else {
			p.note(agent.ToolDone{Call: t.Call})
		}
	case logReached:
		var entry firn.EntryID
		if json.Unmarshal(e.Data, &entry) == nil && entry == p.entry {
			p.forget()
		}
		p.holed = false
	}
	return true
}

// missed notes that events of a gateway were lost.
func (h *hub) markMissed(from string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.partials {
		if p.from == from {
			p.holed = true
			p.forget()
		}
	}
}

// ended forgets the turn of a session that ran elsewhere.
func (h *hub) endRemote(id firn.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.partials[id]; p != nil && p.from != "" {
		delete(h.partials, id)
	}
}

// elsewhere reports whether a turn of a session runs in another gateway.
func (h *hub) runsElsewhere(id firn.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.partials[id]
	return p != nil && p.from != ""
}

// ClaimOf is what must be owned for something that is said under a key: the
// session it points at, or the key itself.
func (g *Gateway) ClaimOf(ctx context.Context, key string) (Claim, error) {
	keyed, err := g.keyed()
	if err != nil {
		return Claim{}, err
	}
	id, err := keyed.Lookup(ctx, key)
	if errors.Is(err, firn.ErrNotFound) {
		return Claim{Key: key}, nil
	}
	return Claim{Session: id}, err
}

// HookKey is the key that calls of a hook go to; empty if each has a session of
// its own.
func (g *Gateway) HookKey(name string) string {
	setup := g.setup.Load()
	h, err := setup.hook(name)
	if err != nil || h.Key == "" {
		return ""
	}
	k, _, err := setup.hookKey(h, "")
	if err != nil {
		return ""
	}
	return k.String()
}
