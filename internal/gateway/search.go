package gateway

import (
	"context"
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/internal/find/search"
	"firn.dev/internal/gateway/view"
	"firn.dev/wire"
)

// Index is the search index. Its methods are safe for concurrent use.
type Index interface {
	// Search returns the best matches among the entries indexed so far.
	Search(ctx context.Context, q search.Query) (search.Answer, error)
	// State returns the progress of indexing.
	State() search.State
	// StartRebuild starts rebuilding the index.
	StartRebuild()
	// Check returns the differences between the index and the sessions.
	Check(ctx context.Context) ([]wire.IndexDifference, error)
}

// Owners limits a search to some sessions.
type Owners struct {
	// Agents limits the search to some agents, if not empty. May, if not nil, decides per
	// session.
	Agents []string
	May    func(agent, key string) bool
}

// index returns the index, or an error if there is none.
func (g *sessionReader) index() (Index, error) {
	if g.Index == nil {
		return nil, fmt.Errorf("search: %w: this store has no index", firn.ErrUnsupported)
	}
	return g.Index, nil
}

// Search searches messages and returns the best matches first.
func (g *sessionReader) Search(ctx context.Context, q wire.SearchQuery, owners Owners) (wire.Found, error) {
	index, err := g.index()
	if err != nil {
		return wire.Found{}, err
	}
	if q.Literal {
		return g.searchLiteral(ctx, index, q, owners)
	}
	want, err := parseQuery(q, g.now())
	if err != nil {
		return wire.Found{}, err
	}
	for _, f := range [][2]string{
		{"role", q.Role}, {"tool", q.Tool}, {"agent", q.Agent}, {"key", q.Key}, {"source", q.Source}, {"path", q.Path}, {"session", q.Session},
		{"since", q.Since}, {"until", q.Until}, {"in", q.In}, {"machines", q.Machines},
	} {
		if f[1] == "" {
			continue
		}
		if err := want.Narrow(f[0], f[1], g.now()); err != nil {
			return wire.Found{}, err
		}
	}
	if want.Want == nil && q.Query != "" && want.Free() {
		return wire.Found{}, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("no words in %q", view.Clip(q.Query)), Hint: "use words, or a filter such as role:user"}
	}
	if want.Want == nil && want.Free() {
		return wire.Found{}, &wire.Problem{Kind: wire.Invalid, Message: "empty query", Hint: "use words, or a filter such as role:user"}
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
	if q.Prompt {
		answer.Hits = search.Relevant(answer.Hits)
	}
	if q.Group {
		search.GroupBySession(answer.Hits)
	}
	return foundOf(answer), nil
}

// searchLiteral finds a text in one session.
func (g *sessionReader) searchLiteral(ctx context.Context, index Index, q wire.SearchQuery, owners Owners) (wire.Found, error) {
	literal, ok := search.NewLiteral(q.Query)
	switch {
	case len(q.Query) > search.MaxQuery:
		return wire.Found{}, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("the text to find is longer than %d bytes", search.MaxQuery), Hint: "use fewer words"}
	case !ok:
		return wire.Found{}, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("no words in %q", view.Clip(q.Query)), Hint: "use at least one letter or digit"}
	case q.Session == "":
		return wire.Found{}, &wire.Problem{Kind: wire.Invalid, Message: "a literal search needs a session", Hint: "set session to its ID"}
	}
	var want search.Query
	if q.In != "" {
		if err := want.Narrow("in", q.In, g.now()); err != nil {
			return wire.Found{}, err
		}
	}
	want.Literal, want.Sessions, want.Agents, want.Owners = literal, []string{q.Session}, owners.Agents, owners.May
	want.Limit, want.Before, want.After, want.Cursor = q.Limit, q.Before, q.After, q.Cursor
	answer, err := index.Search(ctx, want)
	if err != nil {
		return wire.Found{}, err
	}
	return foundOf(answer), nil
}

// parseQuery parses a query, or takes the words of a prompt.
func parseQuery(q wire.SearchQuery, now time.Time) (search.Query, error) {
	if !q.Prompt {
		return search.Parse(q.Query, now)
	}
	want := search.Words(q.Query)
	want.Shown = true
	return want, nil
}

// mostUnsearched is the maximum number of reported sessions that could not be searched.
const mostUnsearched = 1000

func foundOf(a search.Answer) wire.Found {
	found := wire.Found{Items: make([]wire.Hit, len(a.Hits)), Cursor: a.Cursor, Unread: a.Unread}
	for i, h := range a.Hits {
		found.Items[i] = hitOf(h)
	}
	for _, u := range a.Unsearched[:min(len(a.Unsearched), mostUnsearched)] {
		found.Unsearched = append(found.Unsearched, wire.Unsearched(u))
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
		Role: string(h.Role), Tools: h.Tools, Time: h.Time, Score: h.Score, Coverage: h.Coverage, Relevance: h.Relevance, Parts: h.Parts, Snippet: h.Snippet, Matches: h.Matches, Marks: h.Marks,
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
	state := wire.IndexState{Building: s.Building, Rebuilding: s.Rebuilding, Done: s.Done, Total: s.Total, Read: s.Read, Bytes: s.Bytes, Failed: s.Failed}
	if v := s.Vectors; v != nil {
		state.Vectors = &wire.VectorState{Model: v.Model, Done: v.Done, Total: v.Total, Failed: v.Failed}
	}
	return state
}

// IndexState returns the progress of the search index.
func (g *sessionReader) IndexState(context.Context) (wire.IndexState, error) {
	index, err := g.index()
	if err != nil {
		return wire.IndexState{}, err
	}
	return stateOf(index.State()), nil
}

// Reindex starts rebuilding the indexes.
func (g *sessionReader) Reindex(context.Context) (wire.IndexState, error) {
	index, err := g.index()
	if err != nil {
		return wire.IndexState{}, err
	}
	index.StartRebuild()
	return wire.IndexState{Building: true, Rebuilding: true}, nil
}

// mostDifferences is the maximum number of reported differences.
const mostDifferences = 1000

// CheckIndex compares the indexes with all sessions.
func (g *sessionReader) CheckIndex(ctx context.Context) (wire.IndexReport, error) {
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
