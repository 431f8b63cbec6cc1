package window

import (
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"firn.dev"
)

// Collect reads a session newest first and returns its live part: the path to
// the head (the last entry), down to the kept-from mark of the latest
// compaction on it. It stops reading as soon as nothing older can matter, so
// that its cost is that of the live part and not of the session.
//
// Whatever the file says, there is an answer. An entry's parent is the nearest
// entry before it with that id; if there is none, the entry follows the one
// before it in the file, as [firn.Tree] has it, and a gap is named. Only then
// is back ranged over again, which must yield the same records; new ones at
// the end are not looked at.
//
// A tombstone hides what stands before it, on whatever branch either is. The
// error is that of the sequence.
func Collect(back iter.Seq2[firn.Record, error]) (Path, error) {
	return collect(back, &walk{loose: true})
}

// CollectFrom is Collect for the path that ends at the given entry instead of
// the last one. It is an ErrNotFound if there is no such entry.
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

// walk is a walk from the head towards the root, along records that come
// newest first. Everything it collects lies newest first until finish.
type walk struct {
	path Path
	// want is the id of the entry to be met next. If loose, any entry will do:
	// the head, or what stands before an entry that tells no parent.
	want  firn.EntryID
	loose bool
	// begun: the head was met. rooted: the path is at its end, and all that is
	// left is to see whether the header comes next. stopped: no more records.
	begun, rooted, stopped bool

	// keep is the kept-from mark to be met once there is a compaction, kept
	// that it was. later counts the entries collected up to and with the
	// compaction: all that is left if the mark is never met.
	keep  firn.EntryID
	kept  bool
	later int
	// split is the position before the compaction.
	split firn.Pos

	hides map[firn.EntryID]mark
	// touched tells of each id that a tombstone points at, or one that points at
	// such a tombstone, how many entries had been collected when the newest of
	// them was met, and so are newer. Tombstones that do not count are among
	// them: what was shown again was hidden once.
	touched map[firn.EntryID]int
	// changed says that an entry of the path was touched, fresh how many of the
	// collected entries are newer than all that touched it.
	changed bool
	fresh   int
	// run says that the last omission is still growing.
	run bool
	// seen counts the entries of the tree that were read, and so numbers them
	// from the end; end is the position after the newest record.
	seen int
	end  firn.Pos
	// last is the latest step along the path, for a retrace.
	last step
	// route is the rest of the way when a tree had to be asked for it.
	route  []leg
	routed bool
}

// mark is the place of a tombstone, as a number counted from the end.
type mark int

// step is an entry of the path, and what had been collected when it was met.
type step struct {
	at, next   firn.Pos
	glance     firn.Glance
	number     int
	outs, gaps int
	run        bool
}

// read takes records until nothing older can matter.
func (w *walk) read(back iter.Seq2[firn.Record, error]) error {
	first := true
	for rec, err := range back {
		if err != nil {
			return fmt.Errorf("collecting the live part of a session: %w", err)
		}
		if first {
			first, w.end = false, rec.Next
		}
		if w.take(&rec); w.stopped {
			break
		}
	}
	return nil
}

// take looks at the next older record.
func (w *walk) take(rec *firn.Record) {
	if w.rooted && nodes(rec) > 0 {
		w.stopped = true
		w.unread(OtherBranch)
		return
	}
	w.path.Start = rec.At
	switch {
	case rec.Gap != nil:
		w.path.Gaps = append(w.path.Gaps, *rec.Gap)
	case rec.Glance.Kind == firn.KindHeader:
		w.header(rec)
		w.stopped = w.rooted
	case rec.Glance.ID != "": // without an id it is not part of the tree
		w.node(rec)
	}
}

// header keeps the session's header.
func (w *walk) header(rec *firn.Record) {
	entry, err := rec.Entry()
	if err != nil {
		w.fault(firn.GapDamaged, rec, err.Error())
		return
	}
	if h, ok := entry.Body.(*firn.Header); ok {
		w.path.Header = h
	}
}

// node takes a record that is an entry of the tree.
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
		w.leave(rec)
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

// visit collects an entry of the path, unless it is hidden or cannot be read.
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
		w.fault(firn.GapDamaged, rec, err.Error())
		return
	}
	if !utf8.Valid(rec.Line()) {
		w.fault(firn.GapBadText, rec, "each is read as U+FFFD")
	}
	if rec.Glance.Kind == firn.KindErased {
		w.omit(Erased, rec)
	} else {
		w.run = false
	}
	w.path.Entries = append(w.path.Entries, entry)
	if c, ok := entry.Body.(*firn.Compaction); ok && w.path.Compaction == nil {
		live := entry // a copy, so that not every entry is put on the heap
		w.path.Compaction = &live
		w.keep, w.later, w.split = c.FirstKept, len(w.path.Entries), rec.At
	}
}

// leave ends the walk at the kept-from mark.
func (w *walk) leave(rec *firn.Record) {
	if rec.Glance.Parent == "" && !rec.Glance.NoParent {
		w.rooted = true // nothing was compacted away; the header may come next
		return
	}
	w.stopped = true
	w.unread(Compacted)
}

// proceed decides which entry is to be met after rec.
func (w *walk) proceed(rec *firn.Record) {
	if w.routed {
		w.proceedRouted(rec)
		return
	}
	w.want, w.loose = rec.Glance.Parent, rec.Glance.NoParent
	if w.loose {
		w.fault(firn.GapNoParent, rec, noParent)
	}
	w.rooted = w.want == "" && !w.loose
}

const noParent = "the entry tells no parent; taken to follow the one before it"

// hide notes a tombstone that counts. The newest for an id stays: it hides the most.
func (w *walk) hide(id firn.EntryID, number int) {
	if w.hides == nil {
		w.hides = make(map[firn.EntryID]mark)
	}
	if _, ok := w.hides[id]; !ok {
		w.hides[id] = mark(number)
	}
}

// touch notes what a tombstone points at, whether it counts or not.
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

// hidden reports whether a tombstone that stands after the entry hides it.
func (w *walk) hidden(id firn.EntryID, number int) bool {
	at, ok := w.hides[id]
	return ok && int(at) < number
}

// omit counts a record as left out, in one run with the record after it if
// that one was left out for the same reason.
func (w *walk) omit(why Why, rec *firn.Record) {
	id, out := rec.Glance.ID, w.path.Out
	if n := len(out); w.run && out[n-1].Why == why {
		out[n-1].First = id
		out[n-1].Count++
		return
	}
	w.run = true
	w.path.Out = append(out, Omission{Why: why, First: id, Last: id, Count: 1, Before: rec.Next})
}

// unread notes that there is more before the place where reading stops.
func (w *walk) unread(why Why) {
	if w.path.Start > 0 {
		w.path.Out = append(w.path.Out, Omission{Why: why, Count: -1, Before: w.path.Start})
	}
}

// fault names a gap at a record.
func (w *walk) fault(kind firn.GapKind, rec *firn.Record, detail string) {
	w.path.Gaps = append(w.path.Gaps, firn.Gap{
		Kind: kind, At: rec.At, Next: rec.Next, Entry: rec.Glance.ID, Detail: detail,
	})
}

// finish turns what was collected the right way round.
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
	p.State, p.Chosen = settle(p.Entries, true), settle(p.Entries, false)
	p.hides, p.End = w.hides, w.end
	if p.Header != nil {
		p.Hidden = p.Hides(firn.EntryID(p.Header.Session))
	}
	return p
}

// keepNothing takes away what is older than the compaction, because its
// kept-from mark is not on the path.
func (w *walk) keepNothing() ([]firn.Entry, []Omission) {
	entries, out := w.path.Entries, w.path.Out
	gone := entries[w.later:]
	if len(gone) > 0 {
		first, last := gone[len(gone)-1].ID, gone[0].ID
		out = append(out, Omission{Why: Compacted, First: first, Last: last, Count: len(gone), Before: w.split})
	}
	return slices.Clip(entries[:w.later]), out
}
