package agent

import (
	"slices"

	"firn.dev"
)

// branches counts the ends of a session's branches from its entries in file order. It
// remembers only the abandoned ends, so a session that never went back needs no memory.
//
// The count agrees with the tree of the session with one exception: if the head was moved
// twice in a row, a later return to the first position by its ID is not tracked.
type branches struct {
	left []firn.EntryID
	last firn.EntryID
	// moved means that last only moves the head. Such an entry is not the end of a branch,
	// and its target may still be one.
	moved  bool
	target firn.EntryID
}

// maxLeft is the maximum number of ends that are remembered. In a session with more, the
// rest are not counted.
const maxLeft = 100

// add processes the next entry.
func (b *branches) add(g firn.Glance) {
	if g.Kind == firn.KindHeader || g.ID == "" {
		return
	}
	parent := g.Parent
	if g.NoParent {
		parent = b.last
	}
	head := g.Kind == firn.KindHead
	target := parent
	if b.moved && parent == b.last {
		target = b.target // it continues from the target of the moved head
	}
	if b.last != "" && !b.moved && (head || parent != b.last) {
		b.addEnd(b.last)
	}
	if !head {
		b.removeEnd(target)
	}
	b.last, b.moved, b.target = g.ID, head, target
}

// addEnd records an abandoned end.
func (b *branches) addEnd(id firn.EntryID) {
	if len(b.left) < maxLeft && !slices.Contains(b.left, id) {
		b.left = append(b.left, id)
	}
}

// removeEnd records that an entry is followed by another and is no longer an end.
func (b *branches) removeEnd(id firn.EntryID) {
	if i := slices.Index(b.left, id); i >= 0 {
		b.left = slices.Delete(b.left, i, i+1)
	}
}

// count returns the number of ends.
func (b *branches) count() int {
	n := len(b.left)
	if b.last != "" && !b.moved {
		n++
	}
	return n
}
