package view

import (
	"context"
	"iter"

	"firn.dev"
	"firn.dev/store"
)

// start is where the walk along a branch begins.
type walkStart struct {
	// child is the position of the entry that was met last; walking begins with
	// what it follows. Without one it begins with the head.
	child firn.Pos
	known bool
	// want is the id of the entry to be met next; if loose, any will do.
	want  firn.EntryID
	loose bool
	// named says that the branch ends with that entry: gaps behind it are not of
	// the branch.
	named bool
}

// fromHead begins with the head.
func fromHead() walkStart { return walkStart{child: store.End, loose: true} }

// behind begins with what an entry follows.
func fromParent(rec *firn.Record) walkStart {
	return walkStart{child: rec.At, known: true, want: rec.Glance.Parent, loose: rec.Glance.NoParent}
}

// over reports whether there is nothing to be met: the last one was a root.
func (s walkStart) atRoot() bool { return s.known && s.want == "" && !s.loose }

// trail walks along a branch from its end to its root, whatever a compaction
// stands for and a tombstone hides. It reads about as much of the session as is
// asked of it. Where the file is at fault the walk goes on as [firn.Tree] has
// it, after reading the shape of the whole session.
//
// A record is valid until the next one.
func (v *View) trail(ctx context.Context, id firn.ID, from walkStart) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		for rec, err := range v.trailGaps(ctx, id, from) {
			if rec.Gap == nil && !yield(rec, err) {
				return
			}
		}
	}
}

// trailGaps is trail that also yields the gaps among the entries, and those right
// before the root.
func (v *View) trailGaps(ctx context.Context, id firn.ID, from walkStart) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		if from.atRoot() {
			return
		}
		at := from
		var gaps []firn.Record // since the last entry of the branch
		for rec, err := range v.Store.ReadBack(ctx, id, from.child) {
			if err != nil {
				yield(firn.Record{}, err)
				return
			}
			if rec.Gap != nil {
				gaps = append(gaps, firn.GapRecord(clampGap(*rec.Gap, from.child)))
				continue
			}
			if at.atRoot() {
				break
			}
			if !IsNode(&rec) || !at.loose && rec.Glance.ID != at.want {
				continue
			}
			if at.named {
				gaps = nil
			}
			if at = fromParent(&rec); !yieldAll(gaps, yield) || !yield(rec, nil) {
				return
			}
			gaps = nil
		}
		if at.known && !at.loose && !at.atRoot() { // what it follows does not stand before it
			v.followTree(ctx, id, at.child, yield)
			return
		}
		yieldAll(gaps, yield)
	}
}

// yieldAll yields records; false if the reader wants no more.
func yieldAll(records []firn.Record, yield func(firn.Record, error) bool) bool {
	for _, rec := range records {
		if !yield(rec, nil) {
			return false
		}
	}
	return true
}

// guess goes on with the walk behind an entry whose parent does not stand
// before it, along the way that a tree of the whole session tells.
func (v *View) followTree(ctx context.Context, id firn.ID, child firn.Pos, yield func(firn.Record, error) bool) {
	shape, done, err := v.Shape(ctx, id)
	if err != nil {
		yield(firn.Record{}, err)
		return
	}
	want := make(map[firn.Pos]bool)
	n := shape.at(child)
	for up := n; up >= 0; up = shape.Tree.Node(up).Up {
		want[shape.Tree.Node(up).At] = up != n
	}
	done()
	if n < 0 { // a place where no entry stands leads nowhere
		return
	}
	for rec, err := range v.Store.ReadBack(ctx, id, child) {
		if err != nil {
			yield(firn.Record{}, err)
			return
		}
		if rec.Gap != nil {
			rec = firn.GapRecord(clampGap(*rec.Gap, child))
		}
		if (rec.Gap != nil || IsNode(&rec) && want[rec.At]) && !yield(rec, nil) {
			return
		}
	}
}

// endingAt is a gap as it was met when reading back from a place. A line may hold
// more than one record: what stands before that place on its line seems to have no
// end, but it ends there.
func clampGap(g firn.Gap, before firn.Pos) firn.Gap {
	if g.Unfinished() && before < store.End {
		g.Next = before
	}
	return g
}

// Records reads the records at some positions, oldest first. They are valid
// until the next one.
func (v *View) Records(ctx context.Context, id firn.ID, at []firn.Pos) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		if len(at) == 0 {
			return
		}
		want := make(map[firn.Pos]bool, len(at))
		first, last := at[0], at[0]
		for _, pos := range at {
			want[pos] = true
			first, last = min(first, pos), max(last, pos)
		}
		for rec, err := range v.Store.Read(ctx, id, first) {
			if err != nil {
				yield(firn.Record{}, err)
				return
			}
			if rec.At > last {
				return
			}
			if want[rec.At] && rec.Gap == nil && !yield(rec, nil) {
				return
			}
		}
	}
}
