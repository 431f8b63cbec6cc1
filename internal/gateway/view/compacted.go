package view

import (
	"context"
	"errors"
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/compact"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// Compacted returns the effect of a compaction on the window at the time it was made. It
// reads back to the compaction and the live part before it.
func (v *View) Compacted(ctx context.Context, id firn.ID, name string) (wire.CompactionDetail, error) {
	out := wire.CompactionDetail{Session: id, Replaced: []wire.Run{}, Stayed: []wire.Run{}}
	if err := v.CheckExists(ctx, id); err != nil {
		return out, err
	}
	target, err := v.compactionNamed(ctx, id, name)
	if err != nil {
		return out, err
	}
	found, err := v.findCompaction(ctx, id, target)
	if err != nil {
		return out, err
	}
	found.describe(&out)
	before, err := v.windowAt(ctx, id, found.at, found.parent)
	if errors.Is(err, firn.ErrNotFound) {
		err = nil // it is the first entry, or its parent is missing
	}
	if err != nil {
		return out, err
	}
	after, err := v.windowAt(ctx, id, found.next, target)
	if err != nil {
		return out, err
	}
	if c := before.path.Compaction; c != nil {
		out.Earlier = c.ID
	}
	out.Was, out.Is = before.totals(), after.totals()
	kept := entriesByID(after.path.Entries)
	out.Replaced = v.entryRuns(ctx, id, before, func(id firn.EntryID) bool { return kept[id] == nil }, window.Compacted)
	out.Stayed = v.entryRuns(ctx, id, before, func(id firn.EntryID) bool { return kept[id] != nil }, "")
	return out, nil
}

// compactionNamed resolves a reference to a compaction.
func (v *View) compactionNamed(ctx context.Context, id firn.ID, name string) (firn.EntryID, error) {
	if name != Latest {
		return v.EntryAt(ctx, id, name)
	}
	path, err := v.Path(ctx, id)
	if err != nil {
		return "", err
	}
	if path.Compaction == nil {
		return "", NoEntry(id, name, "no compaction is in effect")
	}
	return path.Compaction.ID, nil
}

// foundCompaction is a compaction with its position.
type foundCompaction struct {
	entry    firn.Entry
	body     *firn.Compaction
	at, next firn.Pos
	parent   firn.EntryID
	// undone is set if a tombstone hides it.
	undone, current bool
}

// findCompaction reads back to a compaction.
func (v *View) findCompaction(ctx context.Context, id firn.ID, target firn.EntryID) (*foundCompaction, error) {
	hidden := make(map[firn.EntryID]bool)
	for rec, err := range v.Store.ReadBack(ctx, id, store.End) {
		if err != nil {
			return nil, fmt.Errorf("find compaction of session %s: %w", id, err)
		}
		if rec.Gap != nil {
			continue
		}
		if rec.Glance.Kind == firn.KindTombstone && !hidden[rec.Glance.ID] {
			hidden[rec.Glance.Target] = true
		}
		if rec.Glance.ID != target {
			continue
		}
		e, err := rec.Entry()
		if err != nil {
			return nil, err
		}
		body, ok := e.Body.(*firn.Compaction)
		if !ok {
			break
		}
		m := &foundCompaction{entry: e, body: body, at: rec.At, next: rec.Next, parent: rec.Glance.Parent, undone: hidden[target]}
		path, err := v.Path(ctx, id)
		m.current = err == nil && path.Compaction != nil && path.Compaction.ID == target
		return m, err
	}
	return nil, NoEntry(id, string(target), "it is not a compaction")
}

// describe fills in the fields of the compaction itself.
func (m *foundCompaction) describe(out *wire.CompactionDetail) {
	d := compact.DetailsOf(m.body)
	out.Compaction = wire.Compaction{
		ID: m.entry.ID, Summary: m.body.Summary, Before: m.body.TokensBefore, After: d.TokensAfter, Strategy: string(d.Strategy), Reason: string(d.Reason),
		Model: d.Model, Undone: m.undone, Current: m.current, At: m.entry.Time.UTC().Format(time.RFC3339Nano),
	}
	out.Head = m.parent
	if m.body.FirstKept != m.entry.ID {
		out.FirstKept = m.body.FirstKept
	}
}

// pastWindow is the live part of a session as of an entry.
type pastWindow struct {
	path window.Path
	// at maps entries to positions.
	at map[firn.EntryID]firn.Pos
	// shown is the built window; nil if there is none.
	shown *window.Window
}

// windowAt returns the live part that ended with an entry, read back from a position.
func (v *View) windowAt(ctx context.Context, id firn.ID, before firn.Pos, head firn.EntryID) (pastWindow, error) {
	w := pastWindow{at: make(map[firn.EntryID]firn.Pos)}
	if head == "" {
		return w, firn.ErrNotFound
	}
	var err error
	w.path, err = window.CollectFrom(tap(v.Store.ReadBack(ctx, id, before), func(rec *firn.Record) {
		if _, met := w.at[rec.Glance.ID]; IsNode(rec) && !met {
			w.at[rec.Glance.ID] = rec.At
		}
	}), head)
	if err != nil {
		return w, fmt.Errorf("read session %s before the compaction: %w", id, err)
	}
	var o window.Options
	if a, err := v.Agent(ctx, id); err == nil {
		o.System, o.Counter = a.System, a.Counter
	}
	built := window.Build(w.path, o)
	w.shown = &built
	return w, nil
}

// totals sums up the window by kind.
func (w *pastWindow) totals() wire.WindowTotals {
	if w.shown == nil {
		return wire.WindowTotals{}
	}
	l := live{prospect: &prospect{path: w.path}}
	l.Request.Window = *w.shown
	return l.totals(nil)
}

// entryRuns returns the runs of the picked entries of a window, with their numbers if
// known.
func (v *View) entryRuns(ctx context.Context, id firn.ID, w pastWindow, pick func(firn.EntryID) bool, why window.Reason) []wire.Run {
	number := func(id2 firn.EntryID) int {
		at, ok := w.at[id2]
		if !ok {
			return 0
		}
		n, known, err := v.numbers.before(ctx, v.Store, id, at)
		if err != nil || !known {
			return 0
		}
		return n + 1
	}
	runs, open := []wire.Run{}, false
	for i := range w.path.Entries {
		entry := w.path.Entries[i].ID
		if !pick(entry) {
			open = false
			continue
		}
		if !open {
			open = true
			runs = append(runs, wire.Run{First: entry, Why: string(why)})
		}
		run := &runs[len(runs)-1]
		run.Last = entry
		run.Count++
	}
	for i := range runs {
		runs[i].From, runs[i].To = number(runs[i].First), number(runs[i].Last)
	}
	return runs
}
