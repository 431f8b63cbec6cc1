package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/find/redact"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
	"firn.dev/wire"
)

// mostAppended is the maximum number of entries per append.
const mostAppended = 1000

// Append appends entries to a session if its end is at expect; [store.Any] means any end.
// The entries are lines of the native dialect or the text of a user message; headers are
// rejected. Append does not start a turn and is allowed during one.
func (g *sessionEditor) Append(ctx context.Context, id firn.ID, expect firn.Pos, n wire.NewEntries) (wire.Appended, error) {
	entries, err := g.newEntries(n)
	if err == nil {
		err = signEntries(entries, askerOf(ctx))
	}
	if err != nil {
		return wire.Appended{}, err
	}
	if err := g.CheckExists(ctx, id); err != nil {
		return wire.Appended{}, err
	}
	return g.append(ctx, id, expect, entries...)
}

// append appends entries to an existing session.
func (g *sessionEditor) append(ctx context.Context, id firn.ID, expect firn.Pos, entries ...firn.Entry) (wire.Appended, error) {
	if r, ok := requestOf(ctx); ok {
		return g.history.appendOnce(ctx, r, id, expect, entries)
	}
	return g.appendAll(ctx, id, expect, entries)
}

// appendAll appends entries and returns their IDs.
func (g *sessionEditor) appendAll(ctx context.Context, id firn.ID, expect firn.Pos, entries []firn.Entry) (wire.Appended, error) {
	masked := 0
	end, err := g.Store.Append(redact.WithCount(ctx, &masked), id, expect, entries...)
	if err != nil {
		var conflict *store.Conflict
		if errors.As(err, &conflict) {
			return wire.Appended{}, &wire.Problem{
				Kind: wire.Conflict, Message: conflict.Error(), End: conflict.End,
				Hint: "the session has new entries: read them and try again",
			}
		}
		return wire.Appended{}, err
	}
	ctx = context.WithoutCancel(ctx)
	out, err := g.appended(ctx, id, end, entries)
	out.Masked = masked
	if err == nil { // if this fails, the counters are stored at the end of the next turn
		if end, err := agent.Checkpoint(ctx, g.Store, id, end, entries); err == nil {
			out.End = end
		}
	}
	return out, err
}

// appended returns the IDs of the entries that end at a position. It reads those that the
// store assigned.
func (g *sessionEditor) appended(ctx context.Context, id firn.ID, end firn.Pos, entries []firn.Entry) (wire.Appended, error) {
	out := wire.Appended{IDs: make([]firn.EntryID, len(entries)), End: end}
	missing := false
	for i, e := range entries {
		out.IDs[i] = e.ID
		missing = missing || e.ID == ""
	}
	if !missing {
		return out, nil
	}
	i := len(entries) - 1
	for rec, err := range g.Store.ReadBack(ctx, id, end) {
		if err != nil {
			return wire.Appended{}, err
		}
		if out.IDs[i] = rec.Glance.ID; i == 0 {
			break
		}
		i--
	}
	return out, nil
}

// newEntries decodes the entries sent by a client.
func (g *sessionEditor) newEntries(n wire.NewEntries) ([]firn.Entry, error) {
	invalid := func(format string, args ...any) error {
		return &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case (n.User == "") == (len(n.Entries) == 0):
		return nil, invalid("give either entries or the text of a user message, not both")
	case n.User != "":
		return []firn.Entry{firn.UserText(n.User)}, nil
	case len(n.Entries) > mostAppended:
		return nil, &wire.Problem{
			Kind: wire.Invalid, Message: fmt.Sprintf("%d entries are too many for one request; the limit is %d", len(n.Entries), mostAppended),
			Hint: "send them in several requests, or import a whole transcript with firn import",
		}
	case g.Dialect == nil:
		return nil, fmt.Errorf("read entries: the store cannot decode lines: %w", firn.ErrUnsupported)
	}
	if tool, ok := g.detectTool(n.Entries); ok {
		return foreignEntries(tool, n.Entries)
	}
	entries := make([]firn.Entry, len(n.Entries))
	for i, line := range n.Entries {
		entry, err := g.Dialect.Decode(line)
		if err != nil {
			return nil, invalid("cannot read entry %d of %d: %v", i+1, len(n.Entries), err)
		}
		if entry.Body == nil || entry.Body.Kind() == firn.KindHeader {
			return nil, invalid("entry %d of %d is a header; a session has exactly one", i+1, len(n.Entries))
		}
		if err := store.CheckExternal(&entry); err != nil {
			return nil, errReserved(i, len(n.Entries), err)
		}
		entries[i] = entry
	}
	return entries, nil
}

// errReserved rejects an entry that only the gateway may write.
func errReserved(i, of int, err error) error {
	return &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("entry %d of %d rejected: %v", i+1, of, err), Hint: "omit it, or import a whole transcript with firn import"}
}

// detectTool returns the tool whose format the lines have, if it is not the native one.
func (g *sessionEditor) detectTool(lines []json.RawMessage) (dialect.Tool, bool) {
	name, err := dialect.Detect(bytes.Join(asBytes(lines), []byte{'\n'}))
	if err != nil || name == dialect.Native || name == dialect.Pi {
		return nil, false // pi's lines are native
	}
	tool, err := g.exchange.tool(string(name))
	return tool, err == nil
}

func asBytes(lines []json.RawMessage) [][]byte {
	all := make([][]byte, len(lines))
	for i, line := range lines {
		all[i] = line
	}
	return all
}

// foreignEntries decodes lines of another tool into a chain of entries.
func foreignEntries(tool dialect.Tool, lines []json.RawMessage) ([]firn.Entry, error) {
	scanner := tool.Scanner(dialect.Origin{})
	var entries []firn.Entry
	for i, line := range lines {
		found, err := scanner.Scan(line)
		if err != nil {
			return nil, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("cannot read entry %d of %d as %s: %v", i+1, len(lines), tool.Name(), err)}
		}
		entries = append(entries, found...)
	}
	entries = slices.DeleteFunc(append(entries, scanner.Finish()...), func(e firn.Entry) bool { return e.Body.Kind() == firn.KindHeader })
	if len(entries) == 0 {
		return nil, &wire.Problem{Kind: wire.Invalid, Message: "the lines contain only a header"}
	}
	for i := range entries {
		if err := store.CheckExternal(&entries[i]); err != nil {
			return nil, errReserved(i, len(entries), err)
		}
	}
	renewIDs(entries)
	return entries, nil
}

// renewIDs assigns new IDs to entries, since theirs may be in use, and updates the
// references among them. An entry whose parent is not among them follows the previous one.
// A tombstone or a label may refer to an existing entry.
func renewIDs(entries []firn.Entry) {
	ours := make(map[firn.EntryID]firn.EntryID, len(entries))
	for i := range entries {
		e := &entries[i]
		old := e.ID
		e.ID, e.Parent = firn.NewEntryID(), ours[e.Parent]
		if old != "" {
			ours[old] = e.ID
		}
		switch b := e.Body.(type) {
		case *firn.Compaction:
			b.FirstKept = cmp.Or(ours[b.FirstKept], e.ID) // an unknown one keeps nothing
		case *firn.BranchSummary:
			b.From = cmp.Or(ours[b.From], b.From)
		case *firn.Tombstone:
			b.Target = cmp.Or(ours[b.Target], b.Target)
		case *firn.Label:
			b.Target = cmp.Or(ours[b.Target], b.Target)
		}
	}
}
