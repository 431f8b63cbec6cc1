package mcp

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// Limits on the part of a session that one call returns.
const (
	// mostText is the maximum number of bytes, mostOfOne that of a single entry.
	mostText  = 40_000
	mostOfOne = 4_000
	// mostEntries is the maximum number of entries, mostLooked the number of entries
	// searched for the requested one.
	mostEntries = 200
	mostLooked  = 20_000
)

type readArgs struct {
	Session string `json:"session" jsonschema:"the session: its ID, a prefix of it, its exact title, or @ and a key"`
	Around  string `json:"around,omitempty" jsonschema:"an entry to read around: its ID, a prefix of it, or #n; default: the end of the session"`
	Before  *int   `json:"before,omitempty" jsonschema:"number of entries before it: default 10"`
	After   *int   `json:"after,omitempty" jsonschema:"number of entries after it: default 10"`
	Limit   int    `json:"limit,omitempty" jsonschema:"without around: number of latest entries, default 30, at most 200"`
	View    string `json:"view,omitempty" jsonschema:"branch (the current conversation; default) or disk (all entries, in the order they were written)"`
}

func (d *toolServer) read(ctx context.Context, _ *sdk.CallToolRequest, a readArgs) (*sdk.CallToolResult, any, error) {
	view := wire.ViewBranch
	switch a.View {
	case "", wire.ViewBranch:
	case wire.ViewDisk:
		view = wire.ViewDisk
	default:
		return nil, nil, fmt.Errorf("unknown view %q: expected branch or disk", a.View)
	}
	id, err := d.c.Resolve(ctx, a.Session)
	if err != nil {
		return nil, nil, sentence(err)
	}
	w := excerpt{c: d.c, id: id, view: view}
	if a.Around == "" {
		err = w.latest(ctx, bounded(a.Limit, 30, mostEntries))
	} else {
		err = w.around(ctx, a.Around, count(a.Before), count(a.After))
	}
	if err != nil {
		return nil, nil, sentence(err)
	}
	return textResult(w.text(mostText)), nil, nil
}

// count returns the number of entries on one side.
func count(n *int) int {
	if n == nil {
		return 10
	}
	return max(0, min(*n, mostEntries/2))
}

// excerpt is a part of a session.
type excerpt struct {
	c    *client.Client
	id   firn.ID
	view string
	// entries are in order, oldest first; earlier and later report whether there are more
	// before and after them.
	entries        []wire.Entry
	earlier, later bool
}

// latest reads the end of the session.
func (r *excerpt) latest(ctx context.Context, n int) error {
	for e, err := range r.back(ctx, 0) {
		if err != nil {
			return err
		}
		if n == 0 && e.Gap == "" {
			r.earlier = true
			break
		}
		if r.entries = append(r.entries, e); e.Gap == "" {
			n--
		}
	}
	slices.Reverse(r.entries)
	return nil
}

// back iterates over the session from its end, skipping usage entries.
func (r *excerpt) back(ctx context.Context, limit int) func(func(wire.Entry, error) bool) {
	return func(yield func(wire.Entry, error) bool) {
		for e, err := range r.c.Entries(ctx, r.id, client.EntryQuery{View: r.view, Back: true, Limit: limit}) {
			if line, ok := prose.ReadLine(e.Line); err == nil && ok && line.Counts() {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// around reads the entries around an entry, which is searched from the end.
func (r *excerpt) around(ctx context.Context, name string, before, after int) error {
	found := -1
	for e, err := range r.back(ctx, mostLooked) {
		if err != nil {
			return err
		}
		if found < 0 && names(name, e) {
			found = len(r.entries)
		}
		if found >= 0 && len(r.entries) > found+before {
			r.earlier = true
			break
		}
		r.entries = append(r.entries, e)
		if found < 0 && len(r.entries) > after+1 {
			r.entries, r.later = r.entries[1:], true
		}
	}
	if found < 0 {
		return fmt.Errorf("no entry %q among the latest %d of the session", prose.OneLine(name, 80), mostLooked)
	}
	if extra := found - after; extra > 0 {
		r.entries, r.later = r.entries[extra:], true
	}
	slices.Reverse(r.entries)
	return nil
}

// names reports whether name refers to an entry.
func names(name string, e wire.Entry) bool {
	if n, ok := strings.CutPrefix(name, "#"); ok {
		return e.N > 0 && n == strconv.Itoa(e.N)
	}
	line, ok := prose.ReadLine(e.Line)
	return ok && line.ID != "" && (string(line.ID) == name || len(name) >= 4 && strings.HasPrefix(string(line.ID), name))
}

// text formats the excerpt in at most most bytes. If there is more, the beginning is cut
// off.
func (r *excerpt) text(most int) string {
	var parts []string
	size := 0
	cut := r.earlier
	for _, e := range slices.Backward(r.entries) {
		text := prose.Entry(e, true)
		if len(text) > mostOfOne {
			text = firn.CutText(text, mostOfOne) + fmt.Sprintf("\n… %d bytes of this entry omitted", len(text)-mostOfOne)
		}
		if size += len(text) + 1; size > most && len(parts) > 0 {
			cut = true
			break
		}
		parts = append(parts, strings.TrimRight(text, "\n"))
	}
	slices.Reverse(parts)
	var b strings.Builder
	if cut {
		b.WriteString("… earlier messages omitted; read around the first entry to see them\n\n")
	}
	b.WriteString(strings.Join(parts, "\n"))
	if r.later {
		b.WriteString("\n\n… later messages omitted")
	}
	if len(parts) == 0 {
		b.WriteString("no messages yet")
	}
	b.WriteString("\n")
	if slices.ContainsFunc(r.entries, func(e wire.Entry) bool { return e.Damage != nil }) {
		b.WriteString("\n" + verifyHint(r.id))
	}
	return b.String()
}
