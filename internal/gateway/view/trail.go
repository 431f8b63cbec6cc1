package view

import (
	"context"
	"iter"

	"firn.dev"
	"firn.dev/store"
)

// walkStart is the start of a walk along a branch.
type walkStart struct {
	// child is the position of the last entry visited; the walk continues with its parent.
	// If known is not set, it starts with the head.
	child firn.Pos
	known bool
	// want is the ID of the next entry; if loose, any entry is accepted.
	want  firn.EntryID
	loose bool
	// named is set if the branch ends with that entry: gaps after it are not part of the
	// branch.
	named bool
}

// fromHead starts with the head.
func fromHead() walkStart { return walkStart{child: store.End, loose: true} }

// fromParent starts with the parent of an entry.
func fromParent(rec *firn.Record) walkStart {
	return walkStart{child: rec.At, known: true, want: rec.Glance.Parent, loose: rec.Glance.NoParent}
}

// atRoot reports whether the last entry was a root, which ends the walk.
func (s walkStart) atRoot() bool { return s.known && s.want == "" && !s.loose }

// trail walks along a branch from its end to its root, including compacted and hidden
// entries. It reads only as much of the session as is consumed. If a parent is missing, it
// continues like [firn.Tree], which requires the shape of the whole session.
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

// trailGaps is like trail but also yields the gaps between the entries and directly before
// the root.
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
		if at.known && !at.loose && !at.atRoot() { // its parent is not before it
			v.followTree(ctx, id, at.child, yield)
			return
		}
		yieldAll(gaps, yield)
	}
}

// yieldAll yields records. It returns false if the consumer stopped.
func yieldAll(records []firn.Record, yield func(firn.Record, error) bool) bool {
	for _, rec := range records {
		if !yield(rec, nil) {
			return false
		}
	}
	return true
}

// followTree continues the walk at an entry whose parent is not before it, along the tree
// of the whole session.
func (v *View) followTree(ctx context.Context, id firn.ID, child firn.Pos, yield func(firn.Record, error) bool) {
	shape, done, err := v.Shape(ctx, id)
	if err != nil {
		yield(firn.Record{}, err)
		return
	}
	want := make(map[firn.Pos]bool)
	n := shape.at(child)
	for up := n; up >= 0; up = shape.Tree.Node(up).ParentIndex {
		want[shape.Tree.Node(up).At] = up != n
	}
	done()
	if n < 0 { // no entry at this position
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

// clampGap corrects a gap that was met when reading back from a position. A line may
// contain more than one record: the part before the position seems to be unfinished but
// ends there.
func clampGap(g firn.Gap, before firn.Pos) firn.Gap {
	if g.Unfinished() && before < store.End {
		g.Next = before
	}
	return g
}

// Records reads the records at the given positions, oldest first. A record is valid until
// the next one.
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
