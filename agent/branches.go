package agent

import (
	"slices"

	"firn.dev"
)

// branches counts the ends of a session's branches while its entries go by, in
// the order of the file. It remembers only the ends that were left: in a session
// that never went back there are none.
//
// It agrees with the tree of the session but for one thing: a head that was
// moved, and moved again before anything was said, is not followed when somebody
// goes back to it by its id.
type branches struct {
	left []firn.EntryID
	last firn.EntryID
	// moved says that last only moves the head. It is the end of no branch, and
	// target, which it points at, may still be one.
	moved  bool
	target firn.EntryID
}

// maxLeft bounds how many ends are remembered. Those of a session with more are
// not counted.
const maxLeft = 100

// see takes the next entry.
func (b *branches) see(g firn.Glance) {
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
		target = b.target // it goes on from where the head was moved to
	}
	if b.last != "" && !b.moved && (head || parent != b.last) {
		b.leave(b.last)
	}
	if !head {
		b.follow(target)
	}
	b.last, b.moved, b.target = g.ID, head, target
}

// leave notices that an end was left.
func (b *branches) leave(id firn.EntryID) {
	if len(b.left) < maxLeft && !slices.Contains(b.left, id) {
		b.left = append(b.left, id)
	}
}

// follow notices that an entry is followed by another: it is no end any more.
func (b *branches) follow(id firn.EntryID) {
	if i := slices.Index(b.left, id); i >= 0 {
		b.left = slices.Delete(b.left, i, i+1)
	}
}

// count is how many ends there are.
func (b *branches) count() int {
	n := len(b.left)
	if b.last != "" && !b.moved {
		n++
	}
	return n
}
