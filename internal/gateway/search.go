package gateway

import (
	"cmp"
	"context"
	"fmt"

	"firn"
	"firn/internal/search"
	"firn/internal/view"
	"firn/wire"
)

// Index finds what was said. Its methods may be called from many goroutines.
type Index interface {
	// Search finds what fits a query, the best first, in what is indexed so far.
	Search(ctx context.Context, q search.Query) (search.Answer, error)
	// State tells how far it is.
	State() search.State
	// StartRebuild begins to build it anew.
	StartRebuild()
	// Check tells in what it does not say what the sessions do.
	Check(ctx context.Context) ([]wire.IndexDifference, error)
}

// searchAPI finds what was said, and cares for what it is found with.
type searchAPI interface {
	Search(ctx context.Context, q wire.SearchQuery, owners Owners) (wire.Found, error)
	IndexState(ctx context.Context) (wire.IndexState, error)
	Reindex(ctx context.Context) (wire.IndexState, error)
	CheckIndex(ctx context.Context) (wire.IndexReport, error)
}

// Owners says whose sessions may be found.
type Owners struct {
	// Agents are the only ones, if there are any; May decides, unless it is nil.
	Agents []string
	May    func(agent, key string) bool
}

func searchRoutes() []operation {
	return []operation{
		{method: "GET", path: "/v1/search", name: "search", scope: wire.ScopeRead, what: "Finds what was said, the best first, each with what stands around it.", query: append([]param{
			text("q", `What to look for: words, "phrases", begin*, AND, OR, NOT, parentheses, and filters such as role:user or since:7d.`),
			text("role", "Only what was said by a role.", roleNames()...), text("tool", "Only calls or outputs of a tool."), text("agent", "Only sessions of an agent."),
			text("key", "Only sessions of a key."), text("source", "Only sessions of a tool: firn for our own."), text("path", "Only sessions begun in a directory, or calls with a file, of that name."),
			text("session", "Only a session, by its id or the beginning of it."), text("since", "A day, a time, or how long ago: 2026-11-01, 7d, 12h."), text("until", "The same, for the end."),
			text("in", "Where to look: in what was said, in what tools put out, or both.", string(search.InTalk), string(search.InTools), string(search.InAll)),
			count("before", "How many items before a hit are told; 4 if not given."), count("after", "How many after it. With the hit there are 16 at most."),
		}, count("limit", "How many hits at most; 20 if not given, up to 100."), text("cursor", "Goes on from an earlier answer.")), action: give((*call).search)},
		{method: "GET", path: "/v1/index", name: "indexState", scope: wire.ScopeRead, what: "Tells how far the index of words is.", action: give((*call).indexState)},
		{method: "POST", path: "/v1/index/rebuild", name: "reindex", scope: wire.ScopeAdmin, what: "Begins to build the indexes anew. Those there are can be used meanwhile.", action: mayTake((*call).reindex)},
		{method: "POST", path: "/v1/index/check", name: "checkIndex", long: true, scope: wire.ScopeAdmin, what: "Compares the indexes with all sessions.", action: mayTake((*call).checkIndex)},
	}
}

func roleNames() []string {
	var names []string
	for _, role := range search.Roles() {
		names = append(names, string(role))
	}
	return names
}

func (c *call) search() (wire.Found, error) {
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
	var owners Owners
	if c.who.bound() {
		owners = Owners{Agents: c.who.agents, May: func(agent, key string) bool { return c.who.may(cmp.Or(agent, agentOfKey(key)), key) }}
	}
	return c.h.api.Search(c.r.Context(), want, owners)
}

func (c *call) indexState() (wire.IndexState, error) { return c.h.api.IndexState(c.r.Context()) }

func (c *call) reindex(none) (wire.IndexState, error) { return c.h.api.Reindex(c.r.Context()) }

func (c *call) checkIndex(none) (wire.IndexReport, error) {
	return c.h.api.CheckIndex(c.r.Context())
}

// index is the index, if there is one.
func (g *Gateway) index() (Index, error) {
	if g.Index == nil {
		return nil, fmt.Errorf("search: %w: this store has no index", firn.ErrUnsupported)
	}
	return g.Index, nil
}

// Search finds what was said, the best first.
func (g *Gateway) Search(ctx context.Context, q wire.SearchQuery, owners Owners) (wire.Found, error) {
	index, err := g.index()
	if err != nil {
		return wire.Found{}, err
	}
	want, err := search.Parse(q.Query, g.now())
	if err != nil {
		return wire.Found{}, err
	}
	for _, f := range [][2]string{
		{"role", q.Role}, {"tool", q.Tool}, {"agent", q.Agent}, {"key", q.Key}, {"source", q.Source}, {"path", q.Path}, {"session", q.Session},
		{"since", q.Since}, {"until", q.Until}, {"in", q.In},
	} {
		if f[1] == "" {
			continue
		}
		if err := want.Narrow(f[0], f[1], g.now()); err != nil {
			return wire.Found{}, err
		}
	}
	if want.Want == nil && q.Query != "" && want.Free() {
		return wire.Found{}, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("there is no word in %q", view.Clip(q.Query)), Hint: "look for words, or give a filter such as role:user"}
	}
	if want.Want == nil && want.Free() {
		return wire.Found{}, &wire.Problem{Kind: wire.Invalid, Message: "there is nothing to look for", Hint: "give words, or a filter such as role:user"}
	}
	if len(want.Agents) == 0 {
		want.Agents = owners.Agents
	}
	want.Owners = owners.May
	want.Limit, want.Before, want.After, want.Cursor = q.Limit, q.Before, q.After, q.Cursor
	answer, err := index.Search(ctx, want)
	if err != nil {
		return wire.Found{}, err
	}
	return foundOf(answer), nil
}

func foundOf(a search.Answer) wire.Found {
	found := wire.Found{Items: make([]wire.Hit, len(a.Hits)), Cursor: a.Cursor}
	for i, h := range a.Hits {
		found.Items[i] = hitOf(h)
	}
	if a.State.Building {
		state := stateOf(a.State)
		found.Index = &state
	}
	return found
}

func hitOf(h search.Hit) wire.Hit {
	hit := wire.Hit{
		Session: h.Session, Entry: h.Entry, At: h.At, N: h.N, Agent: h.Agent, Key: h.Key, Source: h.Source, Title: view.OneLine(h.Title), CWD: h.CWD,
		Role: string(h.Role), Tools: h.Tools, Time: h.Time, Score: h.Score, Coverage: h.Coverage, Snippet: h.Snippet, Matches: h.Matches, Marks: h.Marks,
		Window: make([]wire.HitItem, len(h.Window)),
	}
	for i, item := range h.Window {
		hit.Window[i] = wire.HitItem{Entry: item.Entry, At: item.At, N: item.N, Role: string(item.Role), Tools: item.Tools, Time: item.Time, Text: item.Text, Hit: item.Hit}
	}
	for _, c := range h.Copies {
		hit.Copies = append(hit.Copies, wire.HitPlace{Session: c.Session, Entry: c.Entry})
	}
	return hit
}

func stateOf(s search.State) wire.IndexState {
	return wire.IndexState{Building: s.Building, Rebuilding: s.Rebuilding, Done: s.Done, Total: s.Total, Failed: s.Failed}
}

// IndexState tells how far the index of words is.
func (g *Gateway) IndexState(context.Context) (wire.IndexState, error) {
	index, err := g.index()
	if err != nil {
		return wire.IndexState{}, err
	}
	return stateOf(index.State()), nil
}

// Reindex begins to build the indexes anew.
func (g *Gateway) Reindex(context.Context) (wire.IndexState, error) {
	index, err := g.index()
	if err != nil {
		return wire.IndexState{}, err
	}
	index.StartRebuild()
	return wire.IndexState{Building: true, Rebuilding: true}, nil
}

// mostDifferences bounds how many differences are told.
const mostDifferences = 1000

// CheckIndex compares the indexes with all sessions.
func (g *Gateway) CheckIndex(ctx context.Context) (wire.IndexReport, error) {
	index, err := g.index()
	if err != nil {
		return wire.IndexReport{}, err
	}
	all, err := index.Check(ctx)
	if err != nil {
		return wire.IndexReport{}, err
	}
	n := min(len(all), mostDifferences)
	return wire.IndexReport{OK: len(all) == 0, Differences: append([]wire.IndexDifference{}, all[:n]...)}, nil
}
