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
		{method: "GET", path: "/v1/search", name: "search", scope: wire.ScopeRead, what: "Searches all sessions, best matches first. Each hit includes its context.", query: append([]param{
			text("q", `The query: words, "phrases", prefix*, AND, OR, NOT, parentheses, and filters such as role:user or since:7d.`),
			text("role", "Only messages of this role.", roleNames()...), text("tool", "Only calls and results of this tool."), text("agent", "Only sessions of this agent."),
			text("key", "Only sessions of this key."), text("source", "Only sessions of this tool; firn for its own."), text("path", "Only sessions started in this directory, or calls with this file."),
			text("session", "Only this session, by ID or ID prefix."), text("since", "Earliest time, as a date, a time or an age: 2026-11-01, 7d, 12h."), text("until", "Latest time, in the same format."),
			flag("prompt", "The query is a prompt: its words are searched without syntax, hidden entries are left out, and hits are returned only if they are likely to be relevant."),
			flag("group", "Put the hits of a page that are in the same session one after the other; the session with the best hit is first."),
			text("in", "Search messages, tool output, or both.", string(search.InTalk), string(search.InTools), string(search.InAll)),
			text("machines", "How sessions of jobs, hooks and sub-agents rank: lower than those of people (the default), equal, hide, or only.", machineNames()...),
			flag("literal", "Find the query as it is written, word for word, in the session of this ID: every entry with it, the latest first. Other filters than in do not apply."),
			count("before", "Number of items before each hit; default 4."), count("after", "Number of items after each hit; default 4. At most 16 in all."),
		}, count("limit", "Maximum number of hits, up to 100; default 20."), text("cursor", "Cursor of the previous response.")), action: give(searchCalls.search)},
		{method: "GET", path: "/v1/index", name: "indexState", scope: wire.ScopeRead, what: "Returns the state of the full-text index.", action: give(searchCalls.indexState)},
		{method: "POST", path: "/v1/index/rebuild", name: "reindex", scope: wire.ScopeAdmin, what: "Starts rebuilding the indexes. The existing ones stay in use meanwhile.", action: takeOptional(searchCalls.reindex)},
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

func machineNames() []string {
	var names []string
	for _, how := range search.AllMachines() {
		names = append(names, string(how))
	}
	return names
}

func (c searchCalls) search() (wire.Found, error) {
	q := &c.query
	want := wire.SearchQuery{
		Query: q.text("q"), Role: q.text("role"), Tool: q.text("tool"), Agent: q.text("agent"), Key: q.text("key"), Source: q.text("source"),
		Path: q.text("path"), Session: q.text("session"), Since: q.text("since"), Until: q.text("until"), In: q.text("in"), Machines: q.text("machines"), Literal: q.flag("literal"), Prompt: q.flag("prompt"), Group: q.flag("group"),
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
