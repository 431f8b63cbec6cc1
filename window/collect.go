package window

import (
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"firn.dev"
)

// Collect reads a session newest first and returns its live part: the path to the head (the
// last entry), starting at the kept-from mark of the latest compaction on it. It stops
// reading as soon as older records cannot change the result, so its cost is proportional to
// the live part, not to the session.
//
// Collect returns a path for every log, however damaged. An entry's parent is the nearest
// earlier entry with the parent's ID. If there is none, the entry follows its predecessor
// in the file, as in [firn.Tree], and a gap is recorded. Only in that case is back ranged
// over a second time. It must yield the same records; records appended since are ignored.
//
// A tombstone hides the entries before it on any branch. The error is that of the sequence.
func Collect(back iter.Seq2[firn.Record, error]) (Path, error) {
	return collect(back, &walk{loose: true})
}

// CollectFrom is like Collect for the path that ends at the given entry instead of the last
// one. It fails with ErrNotFound if there is no such entry.
func CollectFrom(back iter.Seq2[firn.Record, error], head firn.EntryID) (Path, error) {
	w := &walk{want: head}
	path, err := collect(back, w)
	if err == nil && !w.begun {
		return Path{}, fmt.Errorf("collecting the path to entry %s: %w", head, firn.ErrNotFound)
	}
	return path, err
}

func collect(back iter.Seq2[firn.Record, error], w *walk) (Path, error) {
	if err := w.read(back); err != nil {
		return Path{}, err
	}
	if w.lost() {
		if err := w.retrace(back); err != nil {
			return Path{}, err
		}
	}
	return w.finish(), nil
}

// walk is a walk from the head toward the root, along records read newest first. Its
// results are in that order until finish reverses them.
type walk struct {
	path Path
	// want is the ID of the next entry of the path. If loose is set, any entry matches: the
	// head, or the predecessor of an entry without a parent.
	want  firn.EntryID
	loose bool
	// begun is set once the head was found. rooted is set at the end of the path, when only
	// the header is left to read. stopped ends the reading.
	begun, rooted, stopped bool

	// keep is the kept-from mark of the compaction, and kept reports whether it was found.
	// later counts the entries up to and including the compaction, the only ones left if
	// the mark is never found.
	keep  firn.EntryID
	kept  bool
	later int
	// split is the position before the compaction.
	split firn.Pos

	hides map[firn.EntryID]mark
	// touched maps each ID that a tombstone targets, directly or through other tombstones,
	// to the number of entries that had been collected when the newest of these tombstones
	// was read. Tombstones without effect are included: an entry that is visible again was
	// hidden once.
	touched map[firn.EntryID]int
	// changed is set if an entry of the path was touched. fresh is the number of collected
	// entries newer than every such tombstone.
	changed bool
	fresh   int
	// run reports whether the last omission is still growing.
	run bool
	// seen counts the tree entries read so far, which numbers them from the end. end is the
	// position after the newest record.
	seen int
	end  firn.Pos
	// last is the latest step along the path, for a retrace.
	last step
	// route is the rest of the path if it had to be computed from a tree.
	route  []leg
	routed bool
}

// mark is the position of a tombstone, counted from the end.
type mark int

// step is an entry of the path with the state of the walk when it was read.
type step struct {
	at, next   firn.Pos
	glance     firn.Glance
	number     int
	outs, gaps int
	run        bool
}

// read reads records until older ones cannot change the result.
func (w *walk) read(back iter.Seq2[firn.Record, error]) error {
	first := true
	for rec, err := range back {
		if err != nil {
			return fmt.Errorf("collecting the live part of a session: %w", err)
		}
		if first {
			first, w.end = false, rec.Next
		}
		if w.takeRecord(&rec); w.stopped {
			break
		}
	}
	return nil
}

// takeRecord processes the next older record.
func (w *walk) takeRecord(rec *firn.Record) {
	if w.rooted && nodes(rec) > 0 {
		w.stopped = true
		w.omitUnread(OtherBranch)
		return
	}
	w.path.Start = rec.At
	switch {
	case rec.Gap != nil:
		w.path.Gaps = append(w.path.Gaps, *rec.Gap)
	case rec.Glance.Kind == firn.KindHeader:
		w.header(rec)
		w.stopped = w.rooted
	case rec.Glance.ID != "": // records without an ID are not part of the tree
		w.node(rec)
	}
}

// header stores the session's header.
func (w *walk) header(rec *firn.Record) {
	entry, err := rec.Entry()
	if err != nil {
		w.addGap(firn.GapDamaged, rec, err.Error())
		return
	}
	if h, ok := entry.Body.(*firn.Header); ok {
		w.path.Header = h
	}
}

// node processes a record that is an entry of the tree.
func (w *walk) node(rec *firn.Record) {
	g, number := &rec.Glance, w.seen
	w.seen++
	if g.Kind == firn.KindTombstone {
		w.touch(g)
		if !w.hidden(g.ID, number) {
			w.hide(g.Target, number)
		}
	}
	if !w.wanted(g.ID, number) {
		if g.Kind != firn.KindTombstone {
			w.omit(OtherBranch, rec)
		}
		return
	}
	if !w.begun {
		w.begun = true
		w.path.Head = g.ID
	}
	w.visit(rec, number)
	if w.path.Compaction != nil && (w.keep == "" || w.keep == g.ID) {
		w.kept = true
		w.stopAtMark(rec)
		return
	}
	w.proceed(rec)
	w.last = step{rec.At, rec.Next, *g, number, len(w.path.Out), len(w.path.Gaps), w.run}
}

// wanted reports whether an entry is the next one of the path.
func (w *walk) wanted(id firn.EntryID, number int) bool {
	if w.routed {
		return len(w.route) > 0 && w.route[0].number == number
	}
	return w.loose || id == w.want
}

// visit collects an entry of the path unless it is hidden or unreadable.
func (w *walk) visit(rec *firn.Record, number int) {
	if newer, ok := w.touched[rec.Glance.ID]; ok && (!w.changed || newer < w.fresh) {
		w.changed, w.fresh = true, newer
	}
	if w.hidden(rec.Glance.ID, number) {
		w.omit(Tombstoned, rec)
		return
	}
	entry, err := rec.Entry()
	if err != nil {
		w.run = false
		w.addGap(firn.GapDamaged, rec, err.Error())
		return
	}
	if !utf8.Valid(rec.Line()) {
		w.addGap(firn.GapBadText, rec, "each is read as U+FFFD")
	}
	if rec.Glance.Kind == firn.KindErased {
		w.omit(Erased, rec)
	} else {
		w.run = false
	}
	w.path.Entries = append(w.path.Entries, entry)
	if c, ok := entry.Body.(*firn.Compaction); ok && w.path.Compaction == nil {
		live := entry // a copy, so that not every entry escapes to the heap
		w.path.Compaction = &live
		w.keep, w.later, w.split = c.FirstKept, len(w.path.Entries), rec.At
	}
}

// stopAtMark ends the walk at the kept-from mark.
func (w *walk) stopAtMark(rec *firn.Record) {
	if rec.Glance.Parent == "" && !rec.Glance.NoParent {
		w.rooted = true // nothing was compacted away; the header may be next
		return
	}
	w.stopped = true
	w.omitUnread(Compacted)
}

// proceed determines the entry that follows rec on the way to the root.
func (w *walk) proceed(rec *firn.Record) {
	if w.routed {
		w.proceedRouted(rec)
		return
	}
	w.want, w.loose = rec.Glance.Parent, rec.Glance.NoParent
	if w.loose {
		w.addGap(firn.GapNoParent, rec, noParent)
	}
	w.rooted = w.want == "" && !w.loose
}

const noParent = "the entry has no parent; the previous entry is assumed"

// hide records a tombstone that is in effect. The newest one for an ID is kept because it
// hides the most.
func (w *walk) hide(id firn.EntryID, number int) {
	if w.hides == nil {
		w.hides = make(map[firn.EntryID]mark)
	}
	if _, ok := w.hides[id]; !ok {
		w.hides[id] = mark(number)
	}
}

// touch records the target of a tombstone, whether or not the tombstone is in effect.
func (w *walk) touch(g *firn.Glance) {
	newer := len(w.path.Entries)
	for _, id := range [...]firn.EntryID{g.ID, g.Target} {
		if n, ok := w.touched[id]; ok {
			newer = min(newer, n)
		}
	}
	if w.touched == nil {
		w.touched = make(map[firn.EntryID]int)
	}
	w.touched[g.Target] = newer
}

// hidden reports whether a later tombstone hides the entry.
func (w *walk) hidden(id firn.EntryID, number int) bool {
	at, ok := w.hides[id]
	return ok && int(at) < number
}

// omit counts a record as left out. It extends the current run if the newer neighbor was
// left out for the same reason.
func (w *walk) omit(why Reason, rec *firn.Record) {
	id, out := rec.Glance.ID, w.path.Out
	if n := len(out); w.run && out[n-1].Why == why {
		out[n-1].First = id
		out[n-1].Count++
		return
	}
	w.run = true
	w.path.Out = append(out, Omission{Why: why, First: id, Last: id, Count: 1, Before: rec.Next})
}

// omitUnread records that there are unread entries before the position where reading stops.
func (w *walk) omitUnread(why Reason) {
	if w.path.Start > 0 {
		w.path.Out = append(w.path.Out, Omission{Why: why, Count: -1, Before: w.path.Start})
	}
}

// addGap records a gap at a record.
func (w *walk) addGap(kind firn.GapKind, rec *firn.Record, detail string) {
	w.path.Gaps = append(w.path.Gaps, firn.Gap{
		Kind: kind, At: rec.At, Next: rec.Next, Entry: rec.Glance.ID, Detail: detail,
	})
}

// finish reverses the collected entries into log order.
func (w *walk) finish() Path {
	p := w.path
	if p.Compaction != nil && !w.kept {
		p.Entries, p.Out = w.keepNothing()
	}
	if w.changed {
		p.stale = max(0, len(p.Entries)-w.fresh)
	}
	slices.Reverse(p.Entries)
	slices.Reverse(p.Out)
	slices.Reverse(p.Gaps)
	p.State, p.Chosen = resolveState(p.Entries, true), resolveState(p.Entries, false)
	p.hides, p.End = w.hides, w.end
	if p.Header != nil {
		p.Hidden = p.Hides(firn.EntryID(p.Header.Session))
	}
	return p
}

// keepNothing drops the entries older than the compaction because its kept-from mark is not
// on the path.
func (w *walk) keepNothing() ([]firn.Entry, []Omission) {
	entries, out := w.path.Entries, w.path.Out
	gone := entries[w.later:]
	if len(gone) > 0 {
		first, last := gone[len(gone)-1].ID, gone[0].ID
		out = append(out, Omission{Why: Compacted, First: first, Last: last, Count: len(gone), Before: w.split})
	}
	return slices.Clip(entries[:w.later]), out
}
