package api

import (
	"cmp"

	"firn.dev/internal/base/route"
	"firn.dev/internal/find/search"
	"firn.dev/internal/gateway"
	"firn.dev/wire"
)

func searchRoutes() []operation {
	return []operation{
		{method: "GET", path: "/v1/search", name: "search", scope: wire.ScopeRead, what: "Finds what was said, the best first, each with what stands around it.", query: append([]param{
			text("q", `What to look for: words, "phrases", begin*, AND, OR, NOT, parentheses, and filters such as role:user or since:7d.`),
			text("role", "Only what was said by a role.", roleNames()...), text("tool", "Only calls or outputs of a tool."), text("agent", "Only sessions of an agent."),
			text("key", "Only sessions of a key."), text("source", "Only sessions of a tool: firn for our own."), text("path", "Only sessions begun in a directory, or calls with a file, of that name."),
			text("session", "Only a session, by its id or the beginning of it."), text("since", "A day, a time, or how long ago: 2026-11-01, 7d, 12h."), text("until", "The same, for the end."),
			text("in", "Where to look: in what was said, in what tools put out, or both.", string(search.InTalk), string(search.InTools), string(search.InAll)),
			count("before", "How many items before a hit are told; 4 if not given."), count("after", "How many after it. With the hit there are 16 at most."),
		}, count("limit", "How many hits at most; 20 if not given, up to 100."), text("cursor", "Goes on from an earlier answer.")), action: give(searchCalls.search)},
		{method: "GET", path: "/v1/index", name: "indexState", scope: wire.ScopeRead, what: "Tells how far the index of words is.", action: give(searchCalls.indexState)},
		{method: "POST", path: "/v1/index/rebuild", name: "reindex", scope: wire.ScopeAdmin, what: "Begins to build the indexes anew. Those there are can be used meanwhile.", action: takeOptional(searchCalls.reindex)},
		{method: "POST", path: "/v1/index/check", name: "checkIndex", long: true, scope: wire.ScopeAdmin, what: "Compares the indexes with all sessions.", action: takeOptional(searchCalls.checkIndex)},
	}
}

func roleNames() []string {
	var names []string
	for _, role := range search.Roles() {
		names = append(names, string(role))
	}
	return names
}

func (c searchCalls) search() (wire.Found, error) {
	q := &c.query
	want := wire.SearchQuery{
		Query: q.text("q"), Role: q.text("role"), Tool: q.text("tool"), Agent: q.text("agent"), Key: q.text("key"), Source: q.text("source"),
		Path: q.text("path"), Session: q.text("session"), Since: q.text("since"), Until: q.text("until"), In: q.text("in"),
		Limit: int(q.number("limit", search.MaxLimit)), Cursor: q.text("cursor"),
	}
	for name, into := range map[string]**int{"before": &want.Before, "after": &want.After} {
		if q.text(name) != "" {
			n := int(q.number(name, search.MaxItems-1))
			*into = &n
		}
	}
	if q.err != nil {
		return wire.Found{}, q.err
	}
	var owners gateway.Owners
	if c.who.bound() {
		owners = gateway.Owners{Agents: c.who.agents, May: func(agent, key string) bool { return c.who.may(cmp.Or(agent, route.AgentOf(key)), key) }}
	}
	found, err := c.gateway.Search(c.r.Context(), want, owners)
	if found.Index != nil {
		state := c.boundIndex(*found.Index)
		found.Index = &state
	}
	return found, err
}

func (c searchCalls) indexState() (wire.IndexState, error) {
	state, err := c.gateway.IndexState(c.r.Context())
	return c.boundIndex(state), err
}

// boundIndex removes the numbers about all sessions from the index state for bound callers.
func (c searchCalls) boundIndex(s wire.IndexState) wire.IndexState {
	if c.who.bound() {
		s = wire.IndexState{Building: s.Building, Rebuilding: s.Rebuilding}
	}
	return s
}

func (c searchCalls) reindex(none) (wire.IndexState, error) { return c.gateway.Reindex(c.r.Context()) }

func (c searchCalls) checkIndex(none) (wire.IndexReport, error) {
	return c.gateway.CheckIndex(c.r.Context())
}
