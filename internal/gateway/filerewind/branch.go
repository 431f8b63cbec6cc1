package filerewind

import (
	"context"
	"fmt"

	"firn.dev"
	"firn.dev/store"
)

// between returns the branches to two entries, without the entries that both have. It reads
// the session backward as far as the entry where they meet.
func (r *Rewinder) between(ctx context.Context, id firn.ID, from, to firn.EntryID) (back, forward *branch, err error) {
	a, b := newBranch(from), newBranch(to)
	for rec, err := range r.Store.ReadBack(ctx, id, store.End) {
		if err != nil {
			return nil, nil, err
		}
		if rec.Gap != nil || rec.Glance.ID == "" || rec.Glance.Kind == firn.KindHeader {
			continue
		}
		onA, onB := a.add(rec.Glance), b.add(rec.Glance)
		if onA != onB {
			if onA {
				a.read(&rec)
			} else {
				b.read(&rec)
			}
		}
		if onA && onB {
			delete(a.entries, rec.Glance.ID)
			delete(b.entries, rec.Glance.ID)
			return a, b, nil
		}
		if a.done && b.done {
			break
		}
	}
	for _, walk := range []*branch{a, b} {
		if !walk.done && !walk.next {
			return nil, nil, fmt.Errorf("session %s: entry %s %w", id, walk.want, firn.ErrNotFound)
		}
	}
	return a, b, nil
}

// branch collects the entries from an entry to the root, newest first.
type branch struct {
	entries map[firn.EntryID]bool
	// end is the entry at the end. If that only moves the head, it is the entry that the
	// head was moved to.
	end  firn.EntryID
	want firn.EntryID
	// next means that the next entry belongs to the branch whatever its ID; done means that
	// the root was reached.
	next, done bool
	// results are the file changes that the entries name, oldest answer last. unanswered
	// are those whose answer was not read yet.
	results, unanswered []namedChange
}

func newBranch(end firn.EntryID) *branch {
	return &branch{entries: make(map[firn.EntryID]bool), end: end, want: end, done: end == firn.Root || end == ""}
}

// add adds an entry if it belongs to the branch, and reports whether it does.
func (b *branch) add(g firn.Glance) bool {
	if b.done || !b.next && g.ID != b.want {
		return false
	}
	if g.ID == b.end && g.Kind == firn.KindHead {
		b.end = g.Parent
	}
	b.entries[g.ID] = true
	b.want, b.next, b.done = g.Parent, g.NoParent, !g.NoParent && g.Parent == ""
	return true
}
