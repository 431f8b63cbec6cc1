package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/internal/gateway/trace"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// A message that an agent sends to another session is a machine message that names the
// agent. Its origin is recorded with it, so that after a crash the answer is still
// delivered, within the bounds of the original asker.

// fromField is the extra field with the origin of a delegated message.
const fromField = "delegated"

// origin is the session whose turn sent a message.
type origin struct {
	Session firn.ID `json:"session"`
	// Depth is the length of the delegation chain, Above the sessions in it that may be
	// waiting for the answer.
	Depth int       `json:"depth"`
	Above []firn.ID `json:"above,omitempty"`
	// Reply is set if the message is the answer to a delegated message.
	Reply bool `json:"reply,omitempty"`
}

// Delegation configures how an agent may delegate.
type Delegation struct {
	// Peers are the other agents that accept tasks from it.
	Peers []agent.Peer
	// Depth is the maximum length of a delegation chain; zero means 3. Children is the
	// maximum number of concurrent delegated turns per session; zero means 8.
	Depth, Children int
}

func (d Delegation) depth() int    { return cmp.Or(d.Depth, 3) }
func (d Delegation) children() int { return cmp.Or(d.Children, 8) }

// turnPlace identifies the turn that a context belongs to.
type turnPlace struct {
	session firn.ID
	agent   string
	asker   Asker
	depth   int
	above   []firn.ID
	// approver is that of the turn; nil if it has none.
	approver agent.Approver
}

type turnPlaceKey struct{}

// withTurn adds the turn of a batch to a context.
func (l *lane) withTurn(ctx context.Context, agentName string, batch []*ticket, approver agent.Approver) context.Context {
	p := turnPlace{session: l.id, agent: agentName, asker: batch[0].Asker, approver: approver}
	for _, t := range batch {
		if t.From != nil {
			p.depth = max(p.depth, t.From.Depth)
			p.above = append(p.above, t.From.Above...)
		}
	}
	return context.WithValue(ctx, turnPlaceKey{}, p)
}

// delegator implements delegation for an agent.
type delegator struct {
	g    *lanes
	name string
}

// Spawn creates the session of a sub-agent and links it to the calling session.
func (d delegator) Spawn(ctx context.Context, task agent.Task) (firn.ID, error) {
	at, err := d.currentTurn(ctx)
	if err != nil {
		return "", err
	}
	if err := d.checkPeer(ctx, at, task.Agent); err != nil {
		return "", err
	}
	if len(d.g.delegated.pending(at.session)) >= d.g.setup.Load().Habits[d.name].Delegation.children() {
		return "", fmt.Errorf("this session already has %d delegated tasks running; wait for one: %w", d.g.setup.Load().Habits[d.name].Delegation.children(), firn.ErrTooLarge)
	}
	child := firn.NewID()
	entries, link, err := task.NewSession(child, at.session)
	if err != nil {
		return "", err
	}
	header := *entries[0].Body.(*firn.Header)
	header.CWD = d.g.workspaceOf(task.Agent)
	if _, err := d.g.editor.createKeyed(ctx, header, entries[1:]); err != nil {
		return "", err
	}
	if _, err := d.g.Store.Append(ctx, at.session, store.Any, link); err != nil {
		return "", fmt.Errorf("link session %s to its sub-agent: %w", at.session, err)
	}
	d.g.events.publish(event(wire.SessionUpdated, child, nil))
	return child, nil
}

// checkPeer rejects an agent that is not configured as a peer or is outside the asker's
// bounds.
func (d delegator) checkPeer(ctx context.Context, at turnPlace, name string) error {
	if name == d.name {
		return nil
	}
	setup := d.g.setup.Load()
	peers := setup.Habits[d.name].Delegation.Peers
	h, err := d.g.header(ctx, at.session)
	if err != nil {
		return err
	}
	known := slices.ContainsFunc(peers, func(p agent.Peer) bool { return p.Name == name })
	if !known || !agent.BoundsOf(ctx).In(h.Key).AdmitsAgent(name) {
		return fmt.Errorf("unknown agent %q: %w", view.Clip(name), firn.ErrNotFound)
	}
	_, err = setup.agent(name)
	return err
}

// currentTurn returns the turn that delegates. It fails if the chain is too long.
func (d delegator) currentTurn(ctx context.Context) (turnPlace, error) {
	at, ok := ctx.Value(turnPlaceKey{}).(turnPlace)
	if !ok {
		return at, fmt.Errorf("only a turn of a session can delegate to other sessions: %w", firn.ErrInvalid)
	}
	if most := d.g.setup.Load().Habits[d.name].Delegation.depth(); at.depth >= most {
		return at, fmt.Errorf("sessions can delegate at most %d levels deep; do the task here: %w", most, firn.ErrTooLarge)
	}
	return at, nil
}

// asker returns the asker of a delegated message, which is that of the turn. In a session
// with another key it keeps the bounds it has here. A turn whose bounds are narrower than
// those of its asker cannot delegate, because no single asker represents it.
func (d delegator) asker(ctx context.Context, at turnPlace) (Asker, error) {
	h, err := d.g.header(ctx, at.session)
	if err != nil {
		return Asker{}, err
	}
	who := at.asker
	bounds, err := d.g.access.boundsIn(ctx, who, h.Key)
	if err != nil {
		return Asker{}, err
	}
	if !bounds.Equal(agent.BoundsOf(ctx)) {
		return Asker{}, fmt.Errorf("this turn answers several users with different permissions; do the task here: %w", firn.ErrUnsupported)
	}
	if who.Outside && who.Place == "" {
		who.Place = h.Key
	}
	return who, nil
}

// Send sends a message to a session on behalf of the turn that ctx belongs to.
func (d delegator) Send(ctx context.Context, id firn.ID, message string, awaited bool) (agent.Delegated, error) {
	at, err := d.currentTurn(ctx)
	if err != nil {
		return nil, err
	}
	who, err := d.asker(ctx, at)
	if err != nil {
		return nil, err
	}
	if id == at.session || slices.Contains(at.above, id) || awaited && !d.g.waits.Await(at.session, id) {
		return nil, fmt.Errorf("session %s is waiting for this one, so it cannot be asked now: %w", id, firn.ErrLocked)
	}
	from := &origin{Session: at.session, Depth: at.depth + 1, Above: append(slices.Clone(at.above), at.session)}
	t := newTicket(waiting{ID: firn.NewEntryID(), Text: message, By: "agent:" + d.name, Mode: route.QueueFollowup, Asker: who, From: from, Approve: at.approvalMode()})
	t.answer.Session, t.trace = id, trace.FromContext(ctx)
	sent := &delegated{g: d.g, t: t, id: id, awaited: awaited}
	if err := d.g.enter(ctx, id, t); err != nil {
		sent.stopWaiting()
		return nil, err
	}
	d.g.delegated.add(at.session, t)
	if awaited {
		return sent, nil
	}
	select {
	case <-t.accepted:
	case <-ctx.Done():
	}
	return sent, nil
}

// delegated is a message sent by the turn of another session.
type delegated struct {
	g       *lanes
	t       *ticket
	id      firn.ID
	awaited bool
	once    sync.Once
}

// stopWaiting records that the turn no longer waits for the answer.
func (d *delegated) stopWaiting() {
	d.once.Do(func() {
		if d.awaited {
			d.g.waits.Awaited(d.t.From.Session, d.id)
		}
	})
}

// Done is closed when the message is answered.
func (d *delegated) Done() <-chan struct{} { return d.t.done }

// Answer returns the answer.
func (d *delegated) Answer() (string, error) {
	d.stopWaiting()
	return d.t.reply()
}

// reply returns the answer to a message as it is passed to another agent.
func (t *ticket) reply() (string, error) {
	if t.err != nil || !t.answer.Silent {
		return t.answer.Text, t.err
	}
	return "(nothing to say)", nil
}

// Detach delivers the answer to the calling session as a message once it is available.
func (d *delegated) Detach() bool {
	d.stopWaiting()
	return d.g.deliverReply(d.id, d.t)
}

// Stop stops the turn of a sub-agent. A conversation with other participants continues.
func (d *delegated) Stop(error) {
	d.stopWaiting()
	h, err := d.g.header(d.g.ctx, d.id)
	if k, parsed := route.Parse(h.Key); err != nil || parsed != nil || k.Kind() != route.KindSubagent {
		return
	}
	if _, err := d.g.Stop(d.g.ctx, d.id); err != nil {
		d.g.Log.Warn("stopping a sub-agent failed", "session", d.id, "error", err)
	}
}

// deliverReply delivers the answer to a delegated message to the session of origin, in the
// background, as a message of the answering agent. It returns false if the gateway is
// shutting down; then the next one delivers it.
func (g *lanes) deliverReply(id firn.ID, t *ticket) bool {
	if t.From == nil || t.From.Reply || !g.addWork() {
		return false
	}
	go func() {
		defer g.work.Done()
		<-t.done
		if g.ctx.Err() != nil || errors.Is(t.err, ErrDraining) || wire.KindOf(t.err) == wire.Closing {
			return
		}
		if err := g.replyTo(g.ctx, id, t); err != nil && g.ctx.Err() == nil {
			g.Log.Warn("delivering an answer to the asking session failed", "session", t.From.Session, "from", id, "error", err)
		}
	}()
	return true
}

// replyTo posts the answer to a message in the session of origin, once.
func (g *lanes) replyTo(ctx context.Context, id firn.ID, t *ticket) error {
	text, err := t.reply()
	switch {
	case err != nil:
		text = fmt.Sprintf("session %s failed: %s", id, ProblemOf(err).Message)
	case t.answer.Silent:
		return nil
	default:
		text = fmt.Sprintf("session %s answered:\n%s", id, text)
	}
	if err := g.mayReply(ctx, t); err != nil {
		return err
	}
	a, err := g.agentOf(ctx, id)
	if err != nil {
		return err
	}
	entry := firn.EntryID("reply-" + string(t.ID))
	if held, err := g.hasMessage(ctx, t.From.Session, entry); held || err != nil {
		return err
	}
	w := waiting{ID: entry, Text: text, By: "agent:" + cmp.Or(a.Name, g.setup.Load().Default), Asker: t.Asker, Approve: t.Approve, From: &origin{Session: id, Depth: t.From.Depth, Reply: true}}
	_, err = g.inbox.postMachineMessage(ctx, t.From.Session, w)
	return err
}

// mayReply rejects a reply to a session outside the asker's bounds: the origin is read from
// the log, which may have been imported.
func (g *lanes) mayReply(ctx context.Context, t *ticket) error {
	h, err := g.header(ctx, t.From.Session)
	if err != nil {
		return err
	}
	bounds, err := g.access.boundsIn(ctx, t.Asker, h.Key)
	if err != nil {
		return err
	}
	if !bounds.Admits(cmp.Or(h.Agent, g.setup.Load().Default), h.Key) {
		return fmt.Errorf("session %s is outside the restrictions of the caller: %w", t.From.Session, firn.ErrNotFound)
	}
	return nil
}

// childrenShown is the maximum number of sub-agents listed per session.
const childrenShown = 100

// Children lists the sub-agent sessions of a session, newest first, including archived
// ones. It reads only sessions updated since the session was created.
func (g *sessionReader) Children(ctx context.Context, id firn.ID) ([]wire.Session, error) {
	info, err := g.Info(ctx, id)
	if err != nil {
		return nil, err
	}
	var infos []store.Info
	for _, archived := range []bool{false, true} {
		q := store.Query{Text: ":subagent:" + route.EncodeID(string(id)) + ":", Since: info.Created, Archived: archived, Limit: childrenShown}
		for info, err := range g.List(ctx, q) {
			if err != nil {
				return nil, fmt.Errorf("list the sub-agents of session %s: %w", id, err)
			}
			if route.ParentSession(info.Key) == string(id) {
				infos = append(infos, info)
			}
		}
	}
	store.SortByUpdate(infos)
	children := make([]wire.Session, 0, len(infos))
	for i := range infos[:min(len(infos), childrenShown)] {
		children = append(children, g.listed(ctx, &infos[i]))
	}
	return children, nil
}

// originIn returns the origin of the last accepted message of a path; nil if a person sent
// it.
func originIn(p window.Path) *origin {
	for _, e := range slices.Backward(p.Entries) {
		if m, ok := e.Body.(*firn.Message); !(ok && m.Role == firn.RoleUser) && !byMachine(e) {
			continue
		}
		var from origin
		if raw := e.Extra.Get(fromField); raw == nil || json.Unmarshal(raw, &from) != nil || from.Session == "" {
			return nil
		}
		return &from
	}
	return nil
}

// delegations are the unanswered delegated messages, by the session that sent them.
type delegations struct {
	mu  sync.Mutex
	all map[firn.ID][]*ticket
}

// add adds a message and removes answered ones.
func (d *delegations) add(from firn.ID, t *ticket) {
	left := append(d.pending(from), t)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = make(map[firn.ID][]*ticket)
	}
	d.all[from] = left
}

// pending returns the unanswered messages of a session.
func (d *delegations) pending(from firn.ID) []*ticket {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(d.all[from]), answered)
	if len(left) == 0 {
		delete(d.all, from)
	} else {
		d.all[from] = left
	}
	return left
}
