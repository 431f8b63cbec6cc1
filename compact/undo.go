package compact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/window"
)

// Record is a compaction of a session's branch.
type Record struct {
	ID firn.EntryID
	// At is the position before it.
	At   firn.Pos
	Time time.Time
	// FirstKept is the first entry it kept, or its own ID if it kept none.
	FirstKept firn.EntryID
	// Before and After are the sizes of the window in tokens before and after it. After is
	// zero if it was not recorded.
	Before, After int64
	// Strategy, Reason and Model are empty if they were not recorded.
	Strategy Strategy
	Reason   Reason
	Model    string
	// Line is the first line of the summary that is neither blank nor a heading.
	Line string
	// Undone reports whether it is hidden; By are the tombstones that hide it.
	Undone bool
	By     []firn.EntryID
	// Counts reports whether it is the one in effect.
	Counts bool
}

// List returns all compactions on the branch of the head, oldest first, including undone
// ones. It reads the whole session.
func List(ctx context.Context, st store.Store, id firn.ID) ([]Record, error) {
	past, _, err := listWithEnd(ctx, st, id)
	return past, err
}

// listWithEnd is like List and also returns the end position of the log it read.
func listWithEnd(ctx context.Context, st store.Store, id firn.ID) ([]Record, firn.Pos, error) {
	var tree firn.Tree
	var end firn.Pos
	found := make(map[int]Record)
	for rec, err := range st.Read(ctx, id, store.Start) {
		if err != nil {
			return nil, 0, fmt.Errorf("list the compactions of session %s: %w", id, err)
		}
		end = rec.Next
		if rec.Gap != nil {
			continue
		}
		n := tree.Add(rec.At, rec.Glance)
		if n < 0 || rec.Glance.Kind != firn.KindCompaction {
			continue
		}
		if entry, err := rec.Entry(); err == nil { // Collect ignores unreadable compactions too
			if c, ok := entry.Body.(*firn.Compaction); ok {
				found[n] = pastOf(rec.At, entry, c)
			}
		}
	}
	by := tombstonesByTarget(&tree)
	var past []Record
	for _, n := range tree.Path(tree.Head()) {
		if p, ok := found[n]; ok {
			p.By = slices.Clone(by[p.ID])
			p.Undone = len(p.By) > 0
			past = append(past, p)
		}
	}
	for i := len(past) - 1; i >= 0; i-- {
		if !past[i].Undone {
			past[i].Counts = true
			break
		}
	}
	return past, end, nil
}

// listLatest is like listWithEnd, but reads back only to the latest compaction in the file and
// returns no older ones. It returns false if that compaction is on another branch, or if what
// follows it is damaged.
func listLatest(ctx context.Context, st store.Store, id firn.ID) (past []Record, end firn.Pos, ok bool, err error) {
	var tail []firn.Node // newest first
	for rec, err := range st.ReadBack(ctx, id, store.End) {
		if err != nil {
			return nil, 0, false, fmt.Errorf("find the latest compaction of session %s: %w", id, err)
		}
		if rec.Gap != nil {
			return nil, 0, false, nil
		}
		end = max(end, rec.Next)
		tail = append(tail, firn.Node{Glance: rec.Glance, At: rec.At})
		if rec.Glance.Kind != firn.KindCompaction {
			continue
		}
		entry, err := rec.Entry()
		c, isCompaction := entry.Body.(*firn.Compaction)
		if err != nil || !isCompaction {
			return nil, 0, false, nil
		}
		past = []Record{pastOf(rec.At, entry, c)}
		break
	}
	var tree firn.Tree
	for _, n := range slices.Backward(tail) {
		tree.Add(n.At, n.Glance)
	}
	if len(past) == 0 {
		return nil, end, true, nil
	}
	p := &past[0]
	for _, gap := range tree.Gaps() {
		if gap.Entry != p.ID { // its parent was not read
			return nil, 0, false, nil
		}
	}
	if path := tree.Path(tree.Head()); len(path) == 0 || tree.Node(path[0]).ID != p.ID {
		return nil, 0, false, nil
	}
	p.By = slices.Clone(tombstonesByTarget(&tree)[p.ID])
	p.Undone = len(p.By) > 0
	p.Counts = !p.Undone
	return past, end, true, nil
}

// pastOf describes one compaction.
func pastOf(at firn.Pos, e firn.Entry, c *firn.Compaction) Record {
	d := DetailsOf(c)
	return Record{
		ID: e.ID, At: at, Time: e.Time, FirstKept: c.FirstKept,
		Before: c.TokensBefore, After: d.TokensAfter,
		Strategy: d.Strategy, Reason: d.Reason, Model: d.Model, Line: firstLine(c.Summary),
	}
}

// firstLine returns the first line of a text that is neither blank nor a heading.
func firstLine(text string) string {
	heading := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case !strings.HasPrefix(line, "#"):
			return line
		case heading == "":
			heading = line
		}
	}
	return heading
}

// tombstonesByTarget maps each entry to the tombstones that hide it and are not hidden
// themselves.
func tombstonesByTarget(tree *firn.Tree) map[firn.EntryID][]firn.EntryID {
	hidden := tree.Hidden()
	by := make(map[firn.EntryID][]firn.EntryID)
	for n := range tree.Len() {
		if node := tree.Node(n); node.Kind == firn.KindTombstone && !hidden[node.ID] {
			by[node.Target] = append(by[node.Target], node.ID)
		}
	}
	return by
}

// Undo hides a compaction, which restores the previous window, and returns the tombstone.
// An empty target means the compaction in effect; if there is none, or the target is
// already undone, the error is ErrNothing. A target that is not a compaction of the branch
// is an ErrNotFound.
//
// Undoing the compaction in effect reads the live part; any other target requires reading
// the whole session.
func Undo(ctx context.Context, st store.Store, id firn.ID, target firn.EntryID) (firn.Entry, error) {
	entry, done, err := undoInForce(ctx, st, id, target)
	if err != nil {
		return firn.Entry{}, fmt.Errorf("undo a compaction of session %s: %w", id, err)
	}
	if done {
		return entry, nil
	}
	entries, err := appendTombstones(ctx, st, id, listWithEnd, func(past []Record) ([]firn.EntryID, error) {
		p, err := pick(past, target, func(p Record) bool { return p.Counts })
		if err == nil && p.Undone {
			err = fmt.Errorf("%s is already undone: %w", p.ID, ErrNothing)
		}
		return []firn.EntryID{p.ID}, err
	})
	if err != nil {
		return firn.Entry{}, fmt.Errorf("undo a compaction of session %s: %w", id, err)
	}
	return entries[0], nil
}

// undoInForce hides the compaction in effect if it is the target.
func undoInForce(ctx context.Context, st store.Store, id firn.ID, target firn.EntryID) (entry firn.Entry, done bool, err error) {
	for try := 1; ; try++ {
		path, err := window.Collect(st.ReadBack(ctx, id, store.End))
		if err != nil {
			return entry, false, err
		}
		if path.Compaction == nil || target != "" && target != path.Compaction.ID {
			return entry, false, nil
		}
		entry = firn.NewEntry(&firn.Tombstone{Target: path.Compaction.ID})
		if _, err = st.Append(ctx, id, path.End, entry); err == nil {
			return entry, true, nil
		}
		if !errors.Is(err, firn.ErrConflict) || try == maxTries {
			return entry, false, err
		}
	}
}

// Current returns the compaction in effect on a path, or false if there is none. Its
// position in the file is not set.
func Current(path window.Path) (Record, bool) {
	if path.Compaction == nil {
		return Record{}, false
	}
	c, ok := path.Compaction.Body.(*firn.Compaction)
	if !ok {
		return Record{}, false
	}
	p := pastOf(0, *path.Compaction, c)
	p.Counts = true
	return p, true
}

// Redo reverts the undoing of a compaction and returns the tombstones that do so. An empty
// target means the latest one that was undone and not replaced since. The errors are those
// of Undo. Redoing the latest compaction of the file reads back to it; any other target
// requires reading the whole session.
func Redo(ctx context.Context, st store.Store, id firn.ID, target firn.EntryID) ([]firn.Entry, error) {
	list := func(ctx context.Context, st store.Store, id firn.ID) ([]Record, firn.Pos, error) {
		past, end, ok, err := listLatest(ctx, st, id)
		if err != nil || ok && (target == "" || len(past) > 0 && past[0].ID == target) {
			return past, end, err
		}
		return listWithEnd(ctx, st, id)
	}
	entries, err := appendTombstones(ctx, st, id, list, func(past []Record) ([]firn.EntryID, error) {
		if n := len(past); target == "" && n > 0 && past[n-1].Counts {
			return nil, fmt.Errorf("the latest compaction is not undone: %w", ErrNothing)
		}
		p, err := pick(past, target, func(p Record) bool { return p.Undone })
		if err == nil && !p.Undone {
			err = fmt.Errorf("%s is not undone: %w", p.ID, ErrNothing)
		}
		return p.By, err
	})
	if err != nil {
		return nil, fmt.Errorf("redo a compaction of session %s: %w", id, err)
	}
	return entries, nil
}

// pick returns the target or, if it is empty, the latest compaction for which ok holds.
func pick(past []Record, target firn.EntryID, ok func(Record) bool) (Record, error) {
	for _, p := range slices.Backward(past) {
		if p.ID == target || target == "" && ok(p) {
			return p, nil
		}
	}
	if target != "" {
		return Record{}, fmt.Errorf("no compaction %s on this branch: %w", target, firn.ErrNotFound)
	}
	return Record{}, fmt.Errorf("no compaction: %w", ErrNothing)
}

// appendTombstones hides the entries that decide returns for the compactions of list. If other entries are appended in
// the meantime, it calls decide again.
func appendTombstones(ctx context.Context, st store.Store, id firn.ID, list func(context.Context, store.Store, firn.ID) ([]Record, firn.Pos, error), decide func([]Record) ([]firn.EntryID, error)) ([]firn.Entry, error) {
	for try := 1; ; try++ {
		past, end, err := list(ctx, st, id)
		if err != nil {
			return nil, err
		}
		targets, err := decide(past)
		if err != nil {
			return nil, err
		}
		entries := make([]firn.Entry, len(targets))
		for i, target := range targets {
			entries[i] = firn.NewEntry(&firn.Tombstone{Target: target})
		}
		if _, err = st.Append(ctx, id, end, entries...); err == nil {
			return entries, nil
		}
		if !errors.Is(err, firn.ErrConflict) || try == maxTries {
			return nil, err
		}
	}
}

// maxTries is the number of attempts to append while other writers append.
const maxTries = 16
