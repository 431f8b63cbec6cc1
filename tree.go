package firn

import "fmt"

// Tree holds the parent relation of a session's entries. It is built from glances in file
// order. A parent counts only if it precedes its child, so every entry has a place and
// there are no cycles, whatever the file contains. Where the file is damaged, the tree
// falls back to file order and records a gap.
type Tree struct {
	nodes []Node
	// last maps an ID to the latest node that has it.
	last map[EntryID]int
	gaps []Gap
}

// Node is the place of an entry in a tree.
type Node struct {
	Glance
	At Pos
	// ParentIndex is the number of the parent node, -1 for a root.
	ParentIndex int
}

// Add adds the next entry of the file to the tree and returns its number. It returns -1 if
// the entry is not part of the tree (a header, or an entry without ID).
func (t *Tree) Add(at Pos, g Glance) int {
	if g.Kind == KindHeader || g.ID == "" {
		return -1
	}
	if t.last == nil {
		t.last = make(map[EntryID]int)
	}
	n := len(t.nodes)
	t.nodes = append(t.nodes, Node{Glance: g, At: at, ParentIndex: t.findParent(at, g)})
	if _, twice := t.last[g.ID]; twice {
		t.fault(GapDuplicate, at, g.ID, "an earlier entry has the same id; later ones follow this one")
	}
	t.last[g.ID] = n
	return n
}

// findParent returns the number of the parent of a new entry, -1 for a root.
func (t *Tree) findParent(at Pos, g Glance) int {
	before := len(t.nodes) - 1
	if g.NoParent {
		t.fault(GapNoParent, at, g.ID, "the entry has no parent; the previous entry is assumed")
		return before
	}
	if g.Parent == "" {
		return -1
	}
	if up, ok := t.last[g.Parent]; ok {
		return up
	}
	t.fault(GapDangling, at, g.ID, fmt.Sprintf("its parent %s does not precede it; the previous entry is assumed", g.Parent))
	return before
}

func (t *Tree) fault(kind GapKind, at Pos, id EntryID, detail string) {
	t.gaps = append(t.gaps, Gap{Kind: kind, At: at, Entry: id, Detail: detail})
}

// Len returns the number of entries in the tree.
func (t *Tree) Len() int { return len(t.nodes) }

// Node returns the node with number n.
func (t *Tree) Node(n int) Node { return t.nodes[n] }

// Find returns the number of the latest entry with that ID, or -1.
func (t *Tree) Find(id EntryID) int {
	if n, ok := t.last[id]; ok {
		return n
	}
	return -1
}

// Head returns the number of the entry that the next one follows: the last of the file. It
// is -1 in an empty tree.
func (t *Tree) Head() int { return len(t.nodes) - 1 }

// Path returns the numbers of the entries from the root to n.
func (t *Tree) Path(n int) []int {
	length := 0
	for i := n; i >= 0; i = t.nodes[i].ParentIndex {
		length++
	}
	path := make([]int, length)
	for i := n; i >= 0; i = t.nodes[i].ParentIndex {
		length--
		path[length] = i
	}
	return path
}

// Children returns the numbers of the children of each entry, in file order. The roots are
// under -1.
func (t *Tree) Children() map[int][]int {
	children := make(map[int][]int)
	for i, node := range t.nodes {
		children[node.ParentIndex] = append(children[node.ParentIndex], i)
	}
	return children
}

// Hidden returns the IDs that tombstones hide. Tombstones count wherever they are in the
// tree, unless they are hidden themselves.
func (t *Tree) Hidden() map[EntryID]bool {
	hidden := make(map[EntryID]bool)
	for i := len(t.nodes) - 1; i >= 0; i-- { // a tombstone precedes the one that hides it
		if node := t.nodes[i]; node.Kind == KindTombstone && !hidden[node.ID] {
			hidden[node.Target] = true
		}
	}
	return hidden
}

// Gaps returns the faults found so far, in file order.
func (t *Tree) Gaps() []Gap { return t.gaps }
