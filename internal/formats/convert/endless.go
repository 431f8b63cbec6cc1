package convert

import (
	"cmp"
	"iter"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// endless leaves out what is no part of a conversation and says nothing to the tool
// that is written to: how the transcript of another tool ends, and what firn counted.
func endless(told iter.Seq2[Told, error], tool dialect.Name) iter.Seq2[Told, error] {
	return func(yield func(Told, error) bool) {
		o := omitted{above: make(map[firn.EntryID]firn.EntryID), below: make(map[firn.EntryID]firn.EntryID)}
		for t, err := range told {
			if err == nil && o.take(&t.Entry, isEnd(t.Entry) && !isOf(t.Entry, tool) || isCount(t.Entry)) {
				continue
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// isCount reports whether an entry only counts what others say.
func isCount(e firn.Entry) bool {
	c, ok := e.Body.(*firn.Custom)
	return ok && c.Type == firn.CountersType
}

// omitted are entries that are left out. Above tells what stands in their place for
// those who name them, and below what came after them last.
type omitted struct {
	above, below map[firn.EntryID]firn.EntryID
}

// take takes the next entry, and returns whether it is left out. If it is not, it
// names none that is.
func (o omitted) take(e *firn.Entry, leave bool) bool {
	if _, ok := o.above[e.Parent]; ok {
		o.below[e.Parent] = e.ID
	}
	if leave {
		o.above[e.ID] = cmp.Or(o.above[e.Parent], e.Parent, firn.Root)
		return true
	}
	if len(o.above) == 0 {
		return false
	}
	switch b := e.Body.(type) {
	case *firn.Compaction:
		if _, ok := o.above[b.FirstKept]; ok {
			ours := *b
			ours.FirstKept = o.next(b.FirstKept, e.ID)
			e.Body = &ours
		}
		e.Parent = cmp.Or(o.above[e.Parent], e.Parent)
	case *firn.Tombstone: // one that hides what is left out hides nothing else
		e.Parent = cmp.Or(o.above[e.Parent], e.Parent)
	default:
		rename(e, o.above)
	}
	return false
}

// next is the first entry after one that is left out, on the branch that was
// continued last; none if there is no such entry.
func (o omitted) next(id, none firn.EntryID) firn.EntryID {
	for range len(o.above) {
		below, ok := o.below[id]
		if !ok {
			return none
		}
		if _, left := o.above[below]; !left {
			return below
		}
		id = below
	}
	return none // ids that come twice
}
