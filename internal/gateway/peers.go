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

// Peers are the other gateways that serve the same sessions. While a session is in use, one
// gateway owns it and runs its turns; requests to the others are forwarded. So the
// guarantees of a lane hold for the clients of all gateways.
//
// An owner may be mistaken for a moment. That loses nothing: see [agent.ErrFenced].
type Peers interface {
	// Enter waits until this gateway owns a session and calls waits if it has to wait.
	Enter(ctx context.Context, id firn.ID, waits func()) (*Tenure, error)
	// Own makes this gateway the owner of a claim. If another one owns it, Own returns a
	// nil tenure and the name of the owner.
	Own(ctx context.Context, claim Claim) (*Tenure, string, error)
	// Publish sends an event to the other gateways. It does not block.
	Publish(e wire.Event)
	// Leads reports whether this gateway does the work that only one does, such as running
	// jobs.
	Leads() bool
	// Running returns the sessions with a running turn on the other gateways, as far as
	// they answer in time.
	Running(ctx context.Context) []wire.Session
	// Roll lists the gateways and servers of the cluster.
	Roll(ctx context.Context) (wire.Cluster, error)
}

// Claim identifies the target of an ownership request: a session, or an unbound key.
type Claim struct {
	Session firn.ID
	Key     string
}

// Tenure is the ownership of a claim by this gateway.
type Tenure struct {
	// Since is the log position after which no other gateway can have taken over the
	// session.
	Since firn.Pos
	// Lost is closed when the ownership ends prematurely.
	Lost <-chan struct{}
	// Leave releases the ownership. It may be called twice.
	Leave func()
	// Void invalidates the ownership because another gateway has taken over, whatever the
	// lease says.
	Void func()
}

// lost reports whether the ownership has ended.
func (t *Tenure) lost() bool {
	select {
	case <-t.Lost:
		return true
	default:
		return false
	}
}

// runOwned runs a turn while this gateway owns the session.
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

// acquireSession makes sure that the lane owns the session, if there are other gateways. It
// returns the messages of the batch that still need an answer: another gateway may have
// owned the session in the meantime.
func (l *lane) acquireSession(ctx context.Context, batch []*ticket) ([]*ticket, error) {
	if l.g.Peers == nil {
		return batch, nil
	}
	if l.tenure != nil && !l.tenure.lost() {
		if !anyTicket(batch, func(s ticketState) bool { return s.place == placeRecovered }) {
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
	for _, t := range l.queue { // another gateway may have delivered queued messages
		if t.state().place == placeQueued {
			t.apply(eventRecover)
		}
	}
	l.mu.Unlock()
	return l.concludeHandled(ctx, batch)
}

// voidTenure gives up a session that another gateway has taken over.
func (l *lane) voidTenure() {
	if l.tenure != nil {
		l.tenure.Void()
	}
	l.releaseTenure()
}

// concludeHandled finishes the messages of a batch that another gateway has delivered and
// returns the rest. A single message that was delivered but not answered is resumed.
func (l *lane) concludeHandled(ctx context.Context, batch []*ticket) (rest []*ticket, err error) {
	for i, t := range batch {
		answer, logged, waits, err := l.messageState(ctx, t)
		if err != nil {
			return append(rest, batch[i:]...), err
		}
		switch {
		case t.state().resumes():
			rest = append(rest, t)
		case answer.Entry != "":
			l.conclude(t, answer, nil)
		case logged && len(batch) == 1:
			t.apply(eventDeliver)
			rest = append(rest, t)
		case logged || t.state().inLog() && !waits:
			l.conclude(t, wire.Answer{Session: l.id}, errTaken())
		default:
			rest = append(rest, t)
		}
	}
	return rest, nil
}

// messageState reports whether a message was delivered, its answer, and whether it is
// queued in the log. It reads the live part of the session only if needed: a new ID of our
// own cannot be there.
func (l *lane) messageState(ctx context.Context, t *ticket) (answer wire.Answer, logged, waits bool, err error) {
	answer, _, logged, _, err = l.g.findAnswer(ctx, l.id, t.ID)
	if _, ours := t.ID.Time(); err != nil || ours && !t.state().inLog() {
		if errors.Is(err, firn.ErrNotFound) {
			err = nil // the session starts with this message
		}
		return answer, logged, false, err
	}
	path, err := l.g.Path(ctx, l.id)
	if err != nil {
		if errors.Is(err, firn.ErrNotFound) {
			err = nil
		}
		return answer, logged, false, err
	}
	logged = logged || slices.ContainsFunc(path.Entries, func(e firn.Entry) bool { return e.ID == t.ID || slices.Contains(collected(e), t.ID) })
	return answer, logged, slices.ContainsFunc(queuedIn(path), func(w waiting) bool { return w.ID == t.ID }), nil
}

// releaseTenure releases the session.
func (l *lane) releaseTenure() {
	if l.tenure != nil {
		l.tenure.Leave()
		l.tenure = nil
	}
}

// errTaken returns the problem for callers that wait for an answer when another gateway has
// taken over.
func errTaken() error {
	return &wire.Problem{Kind: wire.Unavailable, Message: "another gateway has taken over the session", Hint: "try again, with the same id if the message had one"}
}

// requeueStored puts messages that are in the log back into the queue, because another
// gateway has taken over the session; later it is checked which ones are left. It returns
// the rest, which are not stored.
func (l *lane) requeueStored(batch []*ticket) (rest []*ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var back []*ticket
	for _, t := range batch {
		if t.state().inLog() {
			back = append(back, t)
		} else {
			rest = append(rest, t)
		}
	}
	l.queue = append(back, l.queue...)
	return rest
}

// Inherit continues the messages that the previous owner of a session accepted and did not
// answer. The caller owns the session. It returns the number of messages.
func (g *lanes) Inherit(ctx context.Context, id firn.ID) (int, error) {
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
		if t.state().place == placeResume {
			t.apply(eventDeliver)
		}
		if err := g.queue(ctx, id, t); err != nil {
			return n, err
		}
		g.deliverReply(id, t)
		n++
	}
	return n, nil
}

// recoverOwned continues unanswered messages of a session unless another gateway owns it,
// which then does so.
func (g *lanes) recoverOwned(ctx context.Context, id firn.ID) (bool, error) {
	owed, err := g.pendingTickets(ctx, id)
	if err != nil || len(owed) == 0 {
		return false, nil // one bad session does not stop the others
	}
	tenure, _, err := g.Peers.Own(ctx, Claim{Session: id})
	if err != nil || tenure == nil {
		return false, err
	}
	defer tenure.Leave()
	n, err := g.Inherit(ctx, id) // read again: it may have been answered in the meantime
	return n > 0, err
}

// forgotten is an internal event between peers: cached data of a session is invalid.
const forgotten = "session.forgotten"

// forget drops cached data of a session, on all gateways.
func (g *core) forget(id firn.ID) {
	g.forgetLocal(id)
	if g.Peers != nil {
		g.Peers.Publish(wire.Event{Name: forgotten, Session: id})
	}
}

func (g *core) forgetLocal(id firn.ID) {
	g.Erased(id)
}

// HandlePeerEvent handles an event of another gateway.
func (g *eventFeeds) HandlePeerEvent(from string, e wire.Event) {
	if e.Name == forgotten {
		g.forgetLocal(e.Session)
		return
	}
	g.events.receive(from, e)
}

// Missed records that events of another gateway were lost.
func (g *eventFeeds) Missed(from string) { g.events.markMissed(from) }

// Ended records that no other gateway owns a session any more.
func (g *eventFeeds) Ended(id firn.ID) { g.events.endRemote(id) }

// LeadershipChanged notifies the scheduler that [Peers.Leads] may have changed.
func (g *inbox) LeadershipChanged() { g.timer.Wake() }

// receive publishes an event of another gateway to the local listeners.
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
			return // the start is unknown; the log will have the text
		}
	}
	h.broadcast(e)
}

// receive records an event of another gateway. It returns false if the event cannot be
// shown because earlier ones were lost.
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

// markMissed records that events of a gateway were lost.
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

// endRemote forgets the turn of a session on another gateway.
func (h *hub) endRemote(id firn.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.partials[id]; p != nil && p.from != "" {
		delete(h.partials, id)
	}
}

// runsElsewhere reports whether a turn of a session runs on another gateway.
func (h *hub) runsElsewhere(id firn.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.partials[id]
	return p != nil && p.from != ""
}

// ClaimOf returns the claim that a message under a key requires: the session that the key
// points at, or the key itself.
func (g *keyTable) ClaimOf(ctx context.Context, key string) (Claim, error) {
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

// HookKey returns the key of a hook; empty if each call has its own session.
func (g *inbox) HookKey(name string) string {
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
