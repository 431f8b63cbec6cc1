package api

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/internal/gateway"
	"firn.dev/internal/gateway/view"
	"firn.dev/wire"
)

// What a token that is bound to agents or keys gets to see. What it may not
// touch is not there: it cannot tell a session of somebody else from none.

// session finds the session that the address names.
func (c *call) session() (firn.ID, error) {
	id, err := c.resolve(c.r.PathValue("id"))
	if err != nil {
		return id, err
	}
	return id, c.reserve(id)
}

// resolve finds the session that a reference names.
func (c *call) resolve(ref string) (firn.ID, error) {
	if !c.who.bound() {
		return c.h.gateway.Resolve(c.r.Context(), ref)
	}
	s, err := c.h.gateway.Session(c.r.Context(), ref)
	return s.ID, c.visible(s, err)
}

// removed finds a session that may be in the bin, where only its id names it.
func (c *call) removed() (firn.ID, error) {
	ref := c.r.PathValue("id")
	id, err := c.resolve(ref)
	if err != nil && wire.KindOf(err) == wire.NotFound && !c.who.bound() && firn.ID(ref).Check() == nil {
		return firn.ID(ref), nil
	}
	return id, err
}

// visible is err, or that there is no such session if it is somebody else's.
// That a name means several is not told either: they may be others'.
func (c *call) visible(s wire.Session, err error) error {
	if !c.who.bound() {
		return err
	}
	if err != nil && wire.KindOf(err) != wire.Ambiguous && wire.KindOf(err) != wire.NotFound {
		return err
	}
	if err != nil || !c.sees(s) {
		problem := &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("there is no session %q", view.Clip(c.r.PathValue("id")))}
		if err != nil {
			return problem
		}
		return &outOfBounds{problem}
	}
	return nil
}

// outOfBounds is a problem of somebody who asked for what is not theirs. It is
// counted; they need not know.
type outOfBounds struct{ *wire.Problem }

// Unwrap returns the problem.
func (o *outOfBounds) Unwrap() error { return o.Problem }

// sees reports whether a session is theirs.
func (c *call) sees(s wire.Session) bool {
	agent := s.Agent
	if agent == "" {
		agent = route.AgentOf(s.Key)
	}
	return c.who.may(agent, s.Key)
}

func (c *call) visibleOf(all []wire.Session) []wire.Session {
	return slices.DeleteFunc(all, func(s wire.Session) bool { return !c.sees(s) })
}

// running lists the sessions in which a turn runs.
func (c *call) running() []wire.Session { return c.visibleOf(c.h.gateway.Running(c.r.Context())) }

// pagesLooked bounds how many pages are looked through to fill one.
const pagesLooked = 20

// visibleSessions lists sessions. For who is bound, pages are filled from as
// many of the gateway's as it takes; how many there are is not told.
func (c *call) visibleSessions(q gateway.SessionQuery) (wire.Page[wire.Session], error) {
	if c.who.bound() && q.Agent == "" && len(c.who.agents) == 1 {
		q.Agent = c.who.agents[0]
	}
	limit := cmp.Or(q.Limit, 100)
	page := wire.Page[wire.Session]{Items: []wire.Session{}}
	for range pagesLooked {
		next, err := c.h.gateway.Sessions(c.r.Context(), q)
		if err != nil {
			return wire.Page[wire.Session]{}, err
		}
		page.Items = append(page.Items, c.visibleOf(next.Items)...)
		page.Cursor, page.Total = next.Cursor, next.Total
		if !c.who.bound() {
			return page, nil
		}
		page.Total = -1
		if len(page.Items) >= limit || next.Cursor == "" || next.Cursor == q.Cursor {
			break
		}
		q.Cursor, q.Limit = next.Cursor, limit-len(page.Items)
	}
	return page, nil
}

// theirs reports whether a key, however it is spelt, is theirs, and returns it
// as it is kept.
func (c *call) theirs(key string) (string, bool) {
	kept, err := c.h.gateway.CanonicalKey(key)
	return kept, err == nil && c.who.may(route.AgentOf(kept), kept)
}

// boundNew makes sure that a new session will be theirs.
func (c *call) boundNew(n wire.NewSession) (wire.NewSession, error) {
	if !c.who.bound() {
		return n, nil
	}
	if n.Key == "" {
		if n.Agent == "" && len(c.who.agents) == 1 {
			n.Agent = c.who.agents[0]
		}
		if !c.who.may(n.Agent, "") {
			return n, boundTo("a session of that agent, without a key")
		}
		return n, nil
	}
	key, ok := c.theirs(n.Key)
	if !ok || n.Agent != "" && n.Agent != route.AgentOf(key) {
		return n, boundTo("a session of that agent and key")
	}
	n.Key = key
	return n, nil
}

// boundFork makes sure that a fork will be theirs: it has the agent of what it
// is forked from, and the key that it is given.
func (c *call) boundFork(f wire.Fork) (wire.Fork, error) {
	if !c.who.bound() || f.Key == "" && len(c.who.keys) == 0 {
		return f, nil
	}
	var ok bool
	if f.Key, ok = c.theirs(f.Key); !ok {
		return f, boundTo("a fork under that key")
	}
	return f, nil
}

// boundInbound makes sure that a message goes to a key of theirs.
func (c *call) boundInbound(in wire.Inbound) error {
	if !c.who.bound() {
		return nil
	}
	key, err := c.h.gateway.KeyOf(in)
	if err != nil {
		return err
	}
	if !c.who.may(route.AgentOf(key), key) {
		return boundTo("messages that are routed elsewhere")
	}
	return nil
}

// boundTo is the problem of a token that is not good for something.
func boundTo(what string) error {
	return &outOfBounds{&wire.Problem{Kind: wire.NotAllowed, Message: "the token is bound to some agents or keys, and not good for " + what}}
}

// key is the key that the address names, if it is theirs.
func (c *call) key() (string, error) {
	key := c.r.PathValue("key")
	if !c.who.bound() {
		return key, nil
	}
	kept, ok := c.theirs(key)
	if !ok {
		return "", &outOfBounds{&wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("there is no key %q", view.Clip(key))}}
	}
	return kept, nil
}

func (c *call) visibleAgents(all []wire.Agent) []wire.Agent {
	return slices.DeleteFunc(all, func(a wire.Agent) bool { return c.who.bound() && !c.who.bounds().KnowsAgent(a.ID) })
}

// boundStatus leaves out of the status what is not theirs: others' agents and
// sessions, and where things are on the owner's disk.
func (c *call) boundStatus(s wire.Status) wire.Status {
	if !c.who.bound() {
		return s
	}
	s.Agents, s.Recent = c.visibleAgents(s.Agents), c.visibleOf(s.Recent)
	s.Home, s.Store, s.Gateway, s.TCP, s.PID = "", "", "", "", 0
	s.Sessions, s.Running, s.Queued = -1, 0, 0
	for _, session := range c.running() {
		s.Running, s.Queued = s.Running+1, s.Queued+session.Queued
	}
	return s
}

// visibleEvents leaves out events of sessions that are not theirs. Whose a
// session is does not change, so it is asked until it is known.
func (c *call) visibleEvents(ctx context.Context, all iter.Seq2[wire.Event, error]) iter.Seq2[wire.Event, error] {
	if !c.who.bound() {
		return all
	}
	return func(yield func(wire.Event, error) bool) {
		known := make(map[firn.ID]bool)
		for e, err := range all {
			if err == nil && e.Session != "" {
				mine, ok := known[e.Session]
				if !ok {
					s, err := c.h.gateway.Session(ctx, string(e.Session))
					if mine = err == nil && c.sees(s); err == nil {
						known[e.Session] = mine
					}
				}
				if !mine {
					continue
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
