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

// A message that an agent says in another session is one of a machine: it names the
// agent. Where it came from is recorded with it, so that a gateway that goes on with it
// after a crash delivers the answer, within the bounds of who asked.

// fromField names the session that a message comes from, in the entry of it.
const fromField = "delegated"

// origin is the session whose turn said a message.
type origin struct {
	Session firn.ID `json:"session"`
	// Depth is how many sessions have asked one another for it, and Above the
	// sessions that may wait for its answer.
	Depth int       `json:"depth"`
	Above []firn.ID `json:"above,omitempty"`
	// Reply says that it is the answer to what this session said there.
	Reply bool `json:"reply,omitempty"`
}

// Delegation is how an agent may delegate.
type Delegation struct {
	// Peers are the other agents that it can give tasks to.
	Peers []agent.Peer
	// Depth is how deep sessions may ask one another; zero means 3. Children is how
	// many delegated turns a session may have at a time; zero means 8.
	Depth, Children int
}

func (d Delegation) depth() int    { return cmp.Or(d.Depth, 3) }
func (d Delegation) children() int { return cmp.Or(d.Children, 8) }

// turnPlace is the turn that a context belongs to.
type turnPlace struct {
	session firn.ID
	agent   string
	asker   Asker
	depth   int
	above   []firn.ID
}

type turnPlaceKey struct{}

// withTurn marks a context with the turn of a batch.
func (l *lane) withTurn(ctx context.Context, agentName string, batch []*ticket) context.Context {
	p := turnPlace{session: l.id, agent: agentName, asker: batch[0].Asker}
	for _, t := range batch {
		if t.From != nil {
			p.depth = max(p.depth, t.From.Depth)
			p.above = append(p.above, t.From.Above...)
		}
	}
	return context.WithValue(ctx, turnPlaceKey{}, p)
}

// delegator delegates for an agent.
type delegator struct {
	g    *Gateway
	name string
}

// Spawn creates the session of a sub-agent and links it to the one that asks.
func (d delegator) Spawn(ctx context.Context, task agent.Task) (firn.ID, error) {
	at, err := d.asking(ctx)
	if err != nil {
		return "", err
	}
	if err := d.may(ctx, at, task.Agent); err != nil {
		return "", err
	}
	if len(d.g.delegated.of(at.session)) >= d.g.setup.Load().Habits[d.name].Delegation.children() {
		return "", fmt.Errorf("this session has %d delegated tasks running; wait for one: %w", d.g.setup.Load().Habits[d.name].Delegation.children(), firn.ErrTooLarge)
	}
	child := firn.NewID()
	entries, link, err := task.Newborn(child, at.session)
	if err != nil {
		return "", err
	}
	header := *entries[0].Body.(*firn.Header)
	header.CWD = d.g.workspaceOf(task.Agent)
	if _, err := d.g.createFor(ctx, header, entries[1:]); err != nil {
		return "", err
	}
	if _, err := d.g.Store.Append(ctx, at.session, store.Any, link); err != nil {
		return "", fmt.Errorf("link session %s to its sub-agent: %w", at.session, err)
	}
	d.g.events.tell(event(wire.SessionUpdated, child, nil))
	return child, nil
}

// may refuses an agent that tasks cannot be given to: it is not named in the settings,
// or out of the bounds of who asks.
func (d delegator) may(ctx context.Context, at turnPlace, name string) error {
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
		return fmt.Errorf("there is no agent %q to delegate to: %w", view.Clip(name), firn.ErrNotFound)
	}
	_, err = setup.agent(name)
	return err
}

// asking returns the turn that delegates, if it is not too deep for that.
func (d delegator) asking(ctx context.Context) (turnPlace, error) {
	at, ok := ctx.Value(turnPlaceKey{}).(turnPlace)
	if !ok {
		return at, fmt.Errorf("only a turn of a session can ask other sessions: %w", firn.ErrInvalid)
	}
	if most := d.g.setup.Load().Habits[d.name].Delegation.depth(); at.depth >= most {
		return at, fmt.Errorf("sessions can ask one another %d deep and no deeper; do the task here: %w", most, firn.ErrTooLarge)
	}
	return at, nil
}

// asker returns who asks for a delegated message: who asked for the turn. In a session of
// another key it has the bounds that it has here. A turn that was narrowed to more than
// one asker's bounds delegates nothing, since no one asker stands for it.
func (d delegator) asker(ctx context.Context, at turnPlace) (Asker, error) {
	h, err := d.g.header(ctx, at.session)
	if err != nil {
		return Asker{}, err
	}
	who := at.asker
	bounds, err := d.g.boundsIn(ctx, who, h.Key)
	if err != nil {
		return Asker{}, err
	}
	if !bounds.Equal(agent.BoundsOf(ctx)) {
		return Asker{}, fmt.Errorf("this turn answers several people with different rights; do the task here: %w", firn.ErrUnsupported)
	}
	if who.Outside && who.Place == "" {
		who.Place = h.Key
	}
	return who, nil
}

// Send says a message in a session, for the turn that ctx belongs to.
func (d delegator) Send(ctx context.Context, id firn.ID, message string, awaited bool) (agent.Delegated, error) {
	at, err := d.asking(ctx)
	if err != nil {
		return nil, err
	}
	who, err := d.asker(ctx, at)
	if err != nil {
		return nil, err
	}
	if id == at.session || slices.Contains(at.above, id) || awaited && !d.g.waits.Await(at.session, id) {
		return nil, fmt.Errorf("session %s waits for this one; it cannot be asked now: %w", id, firn.ErrLocked)
	}
	from := &origin{Session: at.session, Depth: at.depth + 1, Above: append(slices.Clone(at.above), at.session)}
	t := newTicket(waiting{ID: firn.NewEntryID(), Text: message, By: "agent:" + d.name, Mode: route.QueueFollowup, Asker: who, From: from})
	t.answer.Session, t.trace = id, trace.Of(ctx)
	sent := &delegated{g: d.g, t: t, id: id, awaited: awaited}
	if err := d.g.enter(ctx, id, t); err != nil {
		sent.over()
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

// delegated is a message that the turn of another session said.
type delegated struct {
	g       *Gateway
	t       *ticket
	id      firn.ID
	awaited bool
	once    sync.Once
}

// over says that the turn does not wait any longer.
func (d *delegated) over() {
	d.once.Do(func() {
		if d.awaited {
			d.g.waits.Awaited(d.t.From.Session, d.id)
		}
	})
}

// Done is closed when the message is answered.
func (d *delegated) Done() <-chan struct{} { return d.t.done }

// Answer returns what was answered.
func (d *delegated) Answer() (string, error) {
	d.over()
	return d.t.reply()
}

// reply is the answer to a message as another agent is told it.
func (t *ticket) reply() (string, error) {
	if t.err != nil || !t.answer.Silent {
		return t.answer.Text, t.err
	}
	return "(nothing to say)", nil
}

// Detach delivers the answer to the session that asked, as a message, when it is there.
func (d *delegated) Detach() bool {
	d.over()
	return d.g.deliverReply(d.id, d.t)
}

// Stop stops the turn of a sub-agent. A conversation that others take part in goes on.
func (d *delegated) Stop(error) {
	d.over()
	h, err := d.g.header(d.g.ctx, d.id)
	if k, parsed := route.Parse(h.Key); err != nil || parsed != nil || k.Kind() != route.KindSubagent {
		return
	}
	if _, err := d.g.Stop(d.g.ctx, d.id); err != nil {
		d.g.Log.Warn("a sub-agent could not be stopped", "session", d.id, "error", err)
	}
}

// deliverReply sees that the answer to a delegated message reaches the session that it
// came from, as a message of its agent. It is false if the gateway is being closed: then
// the next one does. It does not wait.
func (g *Gateway) deliverReply(id firn.ID, t *ticket) bool {
	if t.From == nil || t.From.Reply || !g.attend() {
		return false
	}
	go func() {
		defer g.work.Done()
		<-t.done
		if g.ctx.Err() != nil || errors.Is(t.err, ErrDraining) || wire.KindOf(t.err) == wire.Closing {
			return
		}
		if err := g.replyTo(g.ctx, id, t); err != nil && g.ctx.Err() == nil {
			g.Log.Warn("an answer could not be delivered to the session that asked", "session", t.From.Session, "from", id, "error", err)
		}
	}()
	return true
}

// replyTo says the answer to a message in the session that it came from, once.
func (g *Gateway) replyTo(ctx context.Context, id firn.ID, t *ticket) error {
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
	if held, err := g.holds(ctx, t.From.Session, entry); held || err != nil {
		return err
	}
	w := waiting{ID: entry, Text: text, By: "agent:" + cmp.Or(a.Name, g.setup.Load().Default), Asker: t.Asker, From: &origin{Session: id, Depth: t.From.Depth, Reply: true}}
	_, err = g.sayAs(ctx, t.From.Session, w)
	return err
}

// mayReply refuses to deliver an answer to a session that who asked may not see: where a
// message came from is read from the log, which may have been imported.
func (g *Gateway) mayReply(ctx context.Context, t *ticket) error {
	h, err := g.header(ctx, t.From.Session)
	if err != nil {
		return err
	}
	bounds, err := g.boundsIn(ctx, t.Asker, h.Key)
	if err != nil {
		return err
	}
	if !bounds.Admits(cmp.Or(h.Agent, g.setup.Load().Default), h.Key) {
		return fmt.Errorf("session %s is out of the bounds of who asked: %w", t.From.Session, firn.ErrNotFound)
	}
	return nil
}

// childrenShown bounds how many sub-agents of a session are listed.
const childrenShown = 100

// Children lists the sessions of sub-agents that a session began, latest first, archived
// ones too. Only those are looked at that were used since the session began.
func (g *Gateway) Children(ctx context.Context, id firn.ID) ([]wire.Session, error) {
	info, err := g.Info(ctx, id)
	if err != nil {
		return nil, err
	}
	var infos []store.Info
	for _, archived := range []bool{false, true} {
		q := store.Query{Text: ":subagent:" + route.Spell(string(id)) + ":", Since: info.Created, Archived: archived, Limit: childrenShown}
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

// originIn is where the last message of a path that a gateway accepted came from; nil if
// a person said it.
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

// delegations are the delegated messages that are not answered yet, by the session that
// said them.
type delegations struct {
	mu  sync.Mutex
	all map[firn.ID][]*ticket
}

// add notes a message, and forgets those that were answered.
func (d *delegations) add(from firn.ID, t *ticket) {
	left := append(d.of(from), t)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = make(map[firn.ID][]*ticket)
	}
	d.all[from] = left
}

// of returns the messages of a session that are not answered yet.
func (d *delegations) of(from firn.ID) []*ticket {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(d.all[from]), ours)
	if len(left) == 0 {
		delete(d.all, from)
	} else {
		d.all[from] = left
	}
	return left
}
