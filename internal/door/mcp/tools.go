package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// toolServer implements the tools.
type toolServer struct {
	c *client.Client
	// alone is set if only this client can reach the gateway.
	alone bool
	// page is the number of sessions in a page of resources.
	page int
	// changed notifies clients that the list of resources has changed.
	changed func()
}

// The result of a tool is text for the model, and the same as structured data for programs
// if it is short.

// textResult returns a result that is only text.
func textResult(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

type listArgs struct {
	Agent  string `json:"agent,omitempty" jsonschema:"only sessions of this agent"`
	Key    string `json:"key,omitempty" jsonschema:"only sessions of this key"`
	Text   string `json:"text,omitempty" jsonschema:"only sessions with this in the title, the first message or the key"`
	Limit  int    `json:"limit,omitempty" jsonschema:"maximum number: default 20, at most 100"`
	Cursor string `json:"cursor,omitempty" jsonschema:"cursor of an earlier list to continue"`
}

type listed struct {
	Sessions []row  `json:"sessions"`
	Cursor   string `json:"cursor,omitempty" jsonschema:"cursor of the next page; empty at the end"`
}

// row is a session in a list.
type row struct {
	ID      firn.ID   `json:"id"`
	Title   string    `json:"title,omitempty"`
	Prompt  string    `json:"prompt,omitempty" jsonschema:"the beginning of the first message"`
	Agent   string    `json:"agent,omitempty"`
	Key     string    `json:"key,omitempty"`
	Updated time.Time `json:"updated,omitzero"`
	Bytes   int64     `json:"bytes"`
	Live    bool      `json:"live,omitempty" jsonschema:"a turn is running"`
	Unread  int       `json:"unread,omitempty" jsonschema:"number of damaged entries found so far"`
}

func rowOf(s wire.Session) row {
	return row{
		ID: s.ID, Title: prose.OneLine(s.Title, 200), Prompt: prose.OneLine(s.Prompt, 200), Agent: s.Agent, Key: s.Key,
		Updated: s.Updated, Bytes: s.Bytes, Live: s.Live, Unread: s.Unread,
	}
}

// bounded returns n limited to most, or usual if n is not set.
func bounded(n, usual, most int) int {
	if n <= 0 {
		return usual
	}
	return min(n, most)
}

func (d *toolServer) list(ctx context.Context, _ *sdk.CallToolRequest, a listArgs) (*sdk.CallToolResult, listed, error) {
	out := listed{Sessions: []row{}}
	page, err := d.c.SessionsPage(ctx, client.Query{Agent: a.Agent, Key: a.Key, Text: a.Text, Limit: bounded(a.Limit, 20, 100), Cursor: a.Cursor})
	if err != nil {
		return nil, out, sentence(err)
	}
	for _, s := range page.Items {
		out.Sessions = append(out.Sessions, rowOf(s))
	}
	out.Cursor = page.Cursor
	return nil, out, nil
}

type windowArgs struct {
	Session string `json:"session" jsonschema:"the session: its ID, a prefix of it, its exact title, or @ and a key"`
}

func (d *toolServer) window(ctx context.Context, _ *sdk.CallToolRequest, a windowArgs) (*sdk.CallToolResult, any, error) {
	id, err := d.c.Resolve(ctx, a.Session)
	if err != nil {
		return nil, nil, sentence(err)
	}
	w, err := d.c.Window(ctx, id, "")
	if err != nil {
		return nil, nil, sentence(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s tokens, for %s/%s\n", prose.Grouped(w.Usage.Tokens), prose.Grouped(w.Usage.Window), w.Provider, w.Model)
	fmt.Fprintf(&b, "system %d, tools %d, notes %d, summary %d, messages %d, tool results %d\n",
		w.Totals.System, w.Totals.Specs, w.Totals.Notes, w.Totals.Summary, w.Totals.Kept, w.Totals.Tools)
	for _, r := range w.Out {
		fmt.Fprintf(&b, "left out: %s (%s)\n", runName(r), r.Why)
	}
	for _, one := range w.Damage {
		b.WriteString(prose.Damage(one) + "\n")
	}
	if len(w.Damage) > 0 {
		b.WriteString(verifyHint(id))
	}
	for _, it := range w.Items[max(len(w.Items)-mostItems, 0):] {
		fmt.Fprintf(&b, "%s (%d tokens): %s\n", it.Role, it.Tokens, prose.OneLine(it.Preview, 200))
	}
	if n := w.Count - min(len(w.Items), mostItems); n > 0 {
		fmt.Fprintf(&b, "and %d messages before these\n", n)
	}
	return textResult(b.String()), nil, nil
}

// verifyHint returns a hint about damage in a session.
func verifyHint(id firn.ID) string {
	return fmt.Sprintf("the session is damaged there; its owner can run: firn verify %s\n", id)
}

// mostItems is the maximum number of messages shown of a window.
const mostItems = 50

// runName names a range of entries.
func runName(r wire.Run) string {
	switch {
	case r.From == 0 || r.To == 0:
		return fmt.Sprintf("%s to %s", r.First, r.Last)
	case r.From == r.To:
		return fmt.Sprintf("#%d", r.From)
	}
	return fmt.Sprintf("#%d to #%d", r.From, r.To)
}

type forkArgs struct {
	Session string `json:"session" jsonschema:"the session to fork"`
	At      string `json:"at,omitempty" jsonschema:"the last entry to copy: an ID, a label, HEAD~n or #n; default: the head"`
	Title   string `json:"title,omitempty" jsonschema:"the title of the new session"`
}

func (d *toolServer) fork(ctx context.Context, _ *sdk.CallToolRequest, a forkArgs) (*sdk.CallToolResult, row, error) {
	id, err := d.c.Resolve(ctx, a.Session)
	if err != nil {
		return nil, row{}, sentence(err)
	}
	s, err := d.c.Fork(ctx, id, wire.Fork{At: firn.EntryID(a.At), Title: a.Title})
	if err != nil {
		return nil, row{}, sentence(err)
	}
	return nil, rowOf(s), nil
}

type compactArgs struct {
	Session string `json:"session" jsonschema:"the session"`
	Hint    string `json:"hint,omitempty" jsonschema:"instructions for the summary"`
	Keep    int64  `json:"keep_recent,omitempty" jsonschema:"approximate number of tokens of the latest messages to keep verbatim"`
	Plan    bool   `json:"plan,omitempty" jsonschema:"dry run: only report what would be done"`
}

func (d *toolServer) compact(ctx context.Context, _ *sdk.CallToolRequest, a compactArgs) (*sdk.CallToolResult, any, error) {
	id, err := d.c.Resolve(ctx, a.Session)
	if err != nil {
		return nil, nil, sentence(err)
	}
	done, err := d.c.Compact(ctx, id, wire.Compact{Hint: a.Hint, KeepRecent: a.Keep, Plan: a.Plan})
	if err != nil {
		return nil, nil, sentence(err)
	}
	if p := done.Plan; p != nil && p.Nothing != "" {
		return textResult(p.Nothing + "; nothing to do"), nil, nil
	} else if p != nil {
		return textResult(fmt.Sprintf("%d entries (about %d tokens) would be summarized, %d (about %d tokens) kept", p.Summarised, p.SummarisedTokens, p.Kept, p.KeptTokens)), nil, nil
	}
	return textResult(fmt.Sprintf("about %d tokens became %d (%s); the summary, entry %s:\n\n%s", done.Before, done.After, done.Strategy, done.ID, firn.CutText(done.Summary, mostText))), nil, nil
}
