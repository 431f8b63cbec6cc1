package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// searchArgs are the arguments of search_sessions.
type searchArgs struct {
	Query    string `json:"query" jsonschema:"words to search for; also \"a phrase\", begin*, AND, OR, NOT, parentheses, and filters such as role:user, tool:NAME, since:7d, until:2026-11-01, in:tools"`
	Agent    string `json:"agent,omitempty" jsonschema:"only sessions of this agent"`
	Key      string `json:"key,omitempty" jsonschema:"only sessions of this key"`
	Session  string `json:"session,omitempty" jsonschema:"only this session: its ID or a prefix of it"`
	Limit    int    `json:"limit,omitempty" jsonschema:"maximum number of hits: default 5, at most 20"`
	Before   *int   `json:"before,omitempty" jsonschema:"number of messages before each hit: default 1"`
	After    *int   `json:"after,omitempty" jsonschema:"number of messages after each hit: default 1"`
	Machines string `json:"machines,omitempty" jsonschema:"how sessions of jobs, hooks and sub-agents rank: lower (default), equal, hide or only"`
	Group    bool   `json:"group,omitempty" jsonschema:"put hits of the same session one after the other"`
	Cursor   string `json:"cursor,omitempty" jsonschema:"cursor of an earlier search to continue"`
}

// search implements search_sessions.
func (d *toolServer) search(ctx context.Context, _ *sdk.CallToolRequest, a searchArgs) (*sdk.CallToolResult, any, error) {
	one := 1
	q := wire.SearchQuery{Query: a.Query, Agent: a.Agent, Key: a.Key, Session: a.Session, Before: a.Before, After: a.After, Limit: bounded(a.Limit, 5, 20), Cursor: a.Cursor, Group: a.Group, Machines: a.Machines}
	if q.Before == nil {
		q.Before = &one
	}
	if q.After == nil {
		q.After = &one
	}
	found, err := d.c.Search(ctx, q)
	if err != nil {
		return nil, nil, sentence(err)
	}
	var b strings.Builder
	if len(found.Items) == 0 {
		fmt.Fprintf(&b, "no results for %q\n", prose.OneLine(a.Query, 100))
	}
	for i, h := range found.Items {
		if text := hitText(i+1, h); b.Len()+len(text) <= mostText || i == 0 {
			b.WriteString(text)
		}
	}
	if found.Cursor != "" {
		fmt.Fprintf(&b, "more results: use cursor %s\n", found.Cursor)
	}
	if found.Index != nil {
		fmt.Fprintf(&b, "the index is being built (%d of %d sessions): results may be incomplete\n", found.Index.Done, found.Index.Total)
	}
	return textResult(b.String()), nil, nil
}

// hitText formats a hit as text. The message text is indented, so that none of its lines
// looks like the heading of another hit.
func hitText(n int, h wire.Hit) string {
	about := []string{fmt.Sprintf("[%d] session %s, entry %s", n, h.Session, h.Entry), h.Time.Format("2006-01-02 15:04")}
	if h.Title != "" {
		about = append(about, "“"+prose.OneLine(h.Title, 80)+"”")
	}
	lines := []string{strings.Join(append(about, h.Marks...), ", ")}
	for _, item := range h.Window {
		mark := " "
		if item.Hit {
			mark = ">"
		}
		text := strings.ReplaceAll(firn.CutText(item.Text, mostOfOne), "\n", "\n    ")
		lines = append(lines, fmt.Sprintf("%s #%d %s: %s", mark, item.N, item.Role, text))
	}
	return strings.Join(lines, "\n") + "\n\n"
}

// aroundArgs are the arguments of read_window.
type aroundArgs struct {
	Session string `json:"session" jsonschema:"the session, as returned by search_sessions"`
	Entry   string `json:"entry" jsonschema:"the entry in it: its ID, a prefix of it, or #n"`
	Before  *int   `json:"before,omitempty" jsonschema:"number of entries before it: default 4; at most 16 in total"`
	After   *int   `json:"after,omitempty" jsonschema:"number of entries after it: default 4"`
}

// most and usual are the maximum and the default number of entries around the entry.
const (
	usualAround = 4
	mostAround  = 15
)

// around implements read_window: it returns the entries around an entry on the current
// branch, or else on the entry's own branch.
func (d *toolServer) around(ctx context.Context, _ *sdk.CallToolRequest, a aroundArgs) (*sdk.CallToolResult, any, error) {
	if a.Entry == "" {
		return nil, nil, errors.New("an entry is required; search_sessions returns entries")
	}
	id, err := d.c.Resolve(ctx, a.Session)
	if err != nil {
		return nil, nil, sentence(err)
	}
	before := side(a.Before, mostAround)
	after := side(a.After, mostAround-before)
	var r excerpt
	for _, view := range []string{wire.ViewBranch, wire.ViewDisk} {
		r = excerpt{c: d.c, id: id, view: view}
		if err = r.around(ctx, a.Entry, before, after); err == nil {
			return textResult(r.text(mostText)), nil, nil
		}
	}
	return nil, nil, sentence(err)
}

// side returns the number of entries on one side.
func side(n *int, most int) int {
	if n == nil {
		return min(usualAround, most)
	}
	return max(0, min(*n, most))
}
