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

// This file limits what a token bound to agents or keys can see. A session outside its
// bounds looks the same as one that does not exist.

// session resolves the session in the request path and reserves memory for the response.
func (c *call) session() (firn.ID, error) {
	id, err := c.resolve(c.r.PathValue("id"))
	if err != nil {
		return id, err
	}
	return id, c.reserve(id)
}

// resolve resolves a session reference.
func (c *call) resolve(ref string) (firn.ID, error) {
	if !c.who.bound() {
		return c.h.services.Lookup.Resolve(c.r.Context(), ref)
	}
	s, err := c.h.services.Lookup.Session(c.r.Context(), ref)
	return s.ID, c.visible(s, err)
}

// sessionOrBinned resolves the session in the request path. A session in the trash bin is found
// by its full ID only.
func (c *call) sessionOrBinned() (firn.ID, error) {
	ref := c.r.PathValue("id")
	id, err := c.resolve(ref)
	if err != nil && wire.KindOf(err) == wire.NotFound && !c.who.bound() && firn.ID(ref).Check() == nil {
		return firn.ID(ref), nil
	}
	return id, err
}

// visible returns err, or a not-found error if the session is outside the caller's bounds.
// An ambiguous reference is also reported as not found, since the matches may be outside
// the bounds.
func (c *call) visible(s wire.Session, err error) error {
	if !c.who.bound() {
		return err
	}
	if err != nil && wire.KindOf(err) != wire.Ambiguous && wire.KindOf(err) != wire.NotFound {
		return err
	}
	if err != nil || !c.canSee(s) {
		problem := &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("there is no session %q", view.Clip(c.r.PathValue("id")))}
		if err != nil {
			return problem
		}
		return &outOfBounds{problem}
	}
	return nil
}

// outOfBounds is an error for a request outside the caller's bounds. It is counted in the
// metrics; the client sees only the wrapped problem.
type outOfBounds struct{ *wire.Problem }

// Unwrap returns the problem.
func (o *outOfBounds) Unwrap() error { return o.Problem }

// canSee reports whether a session is within the caller's bounds.
func (c *call) canSee(s wire.Session) bool {
	agent := s.Agent
	if agent == "" {
		agent = route.AgentOf(s.Key)
	}
	return c.who.may(agent, s.Key)
}

func (c *call) filterVisible(all []wire.Session) []wire.Session {
	return slices.DeleteFunc(all, func(s wire.Session) bool { return !c.canSee(s) })
}

// running lists the visible sessions with a running turn.
func (c statusCalls) running() []wire.Session {
	return c.filterVisible(c.gateway.Running(c.r.Context()))
}

// maxPagesScanned limits the pages read from the gateway to fill one page for a bound
// caller.
const maxPagesScanned = 20

// visibleSessions lists sessions. For a bound caller, a page is filled from several pages
// of the gateway, and the total is not revealed.
func (c sessionCalls) visibleSessions(q gateway.SessionQuery) (wire.Page[wire.Session], error) {
	if c.who.bound() && q.Agent == "" && len(c.who.agents) == 1 {
		q.Agent = c.who.agents[0]
	}
	// The cursor of such a list contains the title or the directory of the last session that
	// was read, which may be out of bounds.
	if c.who.bound() && (q.Sort != "" || q.Direction != "" || q.Group != "") {
		return wire.Page[wire.Session]{}, boundTo("sorting and grouping the list of sessions")
	}
	limit := cmp.Or(q.Limit, 100)
	page := wire.Page[wire.Session]{Items: []wire.Session{}}
	for range maxPagesScanned {
		next, err := c.gateway.Sessions(c.r.Context(), q)
		if err != nil {
			return wire.Page[wire.Session]{}, err
		}
		page.Items = append(page.Items, c.filterVisible(next.Items)...)
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

// permittedKey returns the canonical form of a key and reports whether it is within the
// caller's bounds.
func (c *call) permittedKey(key string) (string, bool) {
	kept, err := c.h.services.Lookup.CanonicalKey(key)
	return kept, err == nil && c.who.may(route.AgentOf(kept), kept)
}

// boundNew checks that a new session will be within the caller's bounds. It fills in the
// agent and the canonical key.
func (c *call) boundNew(n wire.NewSession) (wire.NewSession, error) {
	if !c.who.bound() {
		return n, nil
	}
	if n.Key == "" {
		if n.Agent == "" && len(c.who.agents) == 1 {
			n.Agent = c.who.agents[0]
		}
		if !c.who.may(n.Agent, "") {
			return n, boundTo("creating a session of that agent without a key")
		}
		return n, nil
	}
	key, ok := c.permittedKey(n.Key)
	if !ok || n.Agent != "" && n.Agent != route.AgentOf(key) {
		return n, boundTo("creating a session of that agent and key")
	}
	n.Key = key
	return n, nil
}

// boundFork checks that a fork will be within the caller's bounds. A fork inherits the
// agent of its origin and has the requested key.
func (c branchCalls) boundFork(f wire.Fork) (wire.Fork, error) {
	if !c.who.bound() || f.Key == "" && len(c.who.keys) == 0 {
		return f, nil
	}
	var ok bool
	if f.Key, ok = c.permittedKey(f.Key); !ok {
		return f, boundTo("creating a fork with that key")
	}
	return f, nil
}

// boundInbound checks that a message is routed to a key within the caller's bounds.
func (c turnCalls) boundInbound(in wire.Inbound) error {
	if !c.who.bound() {
		return nil
	}
	key, err := c.gateway.KeyOf(in)
	if err != nil {
		return err
	}
	if !c.who.may(route.AgentOf(key), key) {
		return boundTo("messages routed to other agents or keys")
	}
	return nil
}

// boundTo returns the error for a request that a bound token may not make.
func boundTo(what string) error {
	return &outOfBounds{&wire.Problem{Kind: wire.NotAllowed, Message: "the token is restricted to some agents or keys and does not allow " + what}}
}

// key returns the key in the request path, or a not-found error if it is outside the
// caller's bounds.
func (c *call) key() (string, error) {
	key := c.r.PathValue("key")
	if !c.who.bound() {
		return key, nil
	}
	kept, ok := c.permittedKey(key)
	if !ok {
		return "", &outOfBounds{&wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("there is no key %q", view.Clip(key))}}
	}
	return kept, nil
}

func (c statusCalls) visibleAgents(all []wire.Agent) []wire.Agent {
	return slices.DeleteFunc(all, func(a wire.Agent) bool { return c.who.bound() && !c.who.bounds().KnowsAgent(a.ID) })
}

// boundStatus removes the agents and sessions outside the caller's bounds, and all paths,
// from a status.
func (c statusCalls) boundStatus(s wire.Status) wire.Status {
	if !c.who.bound() {
		return s
	}
	s.Agents, s.Recent = c.visibleAgents(s.Agents), c.filterVisible(s.Recent)
	s.Home, s.Store, s.Gateway, s.TCP, s.PID, s.MCP = "", "", "", "", 0, nil
	s.Sessions, s.Running, s.Queued = -1, 0, 0
	for _, session := range c.running() {
		s.Running, s.Queued = s.Running+1, s.Queued+session.Queued
	}
	return s
}

// visibleEvents filters out events of sessions outside the caller's bounds. The owner of a
// session does not change, so the result is cached per session once known.
func (c eventCalls) visibleEvents(ctx context.Context, all iter.Seq2[wire.Event, error]) iter.Seq2[wire.Event, error] {
	if !c.who.bound() {
		return all
	}
	return func(yield func(wire.Event, error) bool) {
		known := make(map[firn.ID]bool)
		for e, err := range all {
			if err == nil && e.Session != "" {
				mine, ok := known[e.Session]
				if !ok {
					s, err := c.gateway.Session(ctx, string(e.Session))
					if mine = err == nil && c.canSee(s); err == nil {
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
