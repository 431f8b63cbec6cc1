package convert

import (
	"cmp"
	"iter"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// withoutEnd omits entries that are not part of the conversation and mean nothing to the
// target tool: the end of another tool's transcript and firn's counters.
func withoutEnd(reported iter.Seq2[dialect.EntryLines, error], tool dialect.Name) iter.Seq2[dialect.EntryLines, error] {
	return func(yield func(dialect.EntryLines, error) bool) {
		o := omitted{above: make(map[firn.EntryID]firn.EntryID), below: make(map[firn.EntryID]firn.EntryID)}
		for t, err := range reported {
			if err == nil && o.take(&t.Entry, isEnd(t.Entry) && !isOf(t.Entry, tool) || isCount(t.Entry)) {
				continue
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// isCount reports whether an entry only holds counters.
func isCount(e firn.Entry) bool {
	c, ok := e.Body.(*firn.Custom)
	return ok && c.Type == firn.CountersType
}

// omitted tracks omitted entries. above maps them to their replacement in references, below
// to the last entry after them.
type omitted struct {
	above, below map[firn.EntryID]firn.EntryID
}

// take processes the next entry and reports whether it is omitted. Otherwise its references
// to omitted entries are replaced.
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
	case *firn.Tombstone: // a tombstone of an omitted entry hides nothing else
		e.Parent = cmp.Or(o.above[e.Parent], e.Parent)
	default:
		rename(e, o.above)
	}
	return false
}

// next returns the first entry after an omitted one on the branch that was continued last,
// or none if there is no such entry.
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
	return none // duplicate IDs
}
