package firn

import "fmt"

// Tree is the shape of a session: which entry follows which. It is built from
// glances in file order and is total: whatever the file says, every entry has
// its place and no walk goes round in circles, because a parent counts only if
// it stands before its child. Where the file is at fault the tree falls back
// to file order and names a gap.
type Tree struct {
	nodes []Node
	// last maps an id to the latest node that has it.
	last map[EntryID]int
	gaps []Gap
}

// Node is an entry's place in a tree.
type Node struct {
	Glance
	At Pos
	// Up is the number of the parent node, -1 for a root.
	Up int
}

// Add puts the next entry of the file into the tree and returns its number,
// or -1 if the entry is not part of the tree (a header, or no id).
func (t *Tree) Add(at Pos, g Glance) int {
	if g.Kind == KindHeader || g.ID == "" {
		return -1
	}
	if t.last == nil {
		t.last = make(map[EntryID]int)
	}
	n := len(t.nodes)
	t.nodes = append(t.nodes, Node{Glance: g, At: at, Up: t.up(at, g)})
	if _, twice := t.last[g.ID]; twice {
		t.fault(GapDuplicate, at, g.ID, "an earlier entry has the same id; later ones follow this one")
	}
	t.last[g.ID] = n
	return n
}

// up finds the parent of a new entry.
func (t *Tree) up(at Pos, g Glance) int {
	before := len(t.nodes) - 1
	if g.NoParent {
		t.fault(GapNoParent, at, g.ID, "the entry tells no parent; taken to follow the one before it")
		return before
	}
	if g.Parent == "" {
		return -1
	}
	if up, ok := t.last[g.Parent]; ok {
		return up
	}
	t.fault(GapDangling, at, g.ID, fmt.Sprintf("its parent %s does not stand before it; taken to follow the entry before it", g.Parent))
	return before
}

func (t *Tree) fault(kind GapKind, at Pos, id EntryID, detail string) {
	t.gaps = append(t.gaps, Gap{Kind: kind, At: at, Entry: id, Detail: detail})
}

// Len is the number of entries in the tree.
func (t *Tree) Len() int { return len(t.nodes) }

// Node returns the node with that number.
func (t *Tree) Node(n int) Node { return t.nodes[n] }

// Find returns the number of the latest entry with that id, or -1.
func (t *Tree) Find(id EntryID) int {
	if n, ok := t.last[id]; ok {
		return n
	}
	return -1
}

// Head is the number of the entry that the next one follows: the last of the
// file. It is -1 in an empty tree.
func (t *Tree) Head() int { return len(t.nodes) - 1 }

// Path returns the numbers of the entries from the root to n.
func (t *Tree) Path(n int) []int {
	length := 0
	for i := n; i >= 0; i = t.nodes[i].Up {
		length++
	}
	path := make([]int, length)
	for i := n; i >= 0; i = t.nodes[i].Up {
		length--
		path[length] = i
	}
	return path
}

// Children returns, for each entry, the numbers of those that follow it, in
// file order. The roots are under -1.
func (t *Tree) Children() map[int][]int {
	children := make(map[int][]int)
	for i, node := range t.nodes {
		children[node.Up] = append(children[node.Up], i)
	}
	return children
}

// Hidden returns the ids that tombstones hide. Tombstones count wherever they
// stand in the tree; one that is itself hidden does not count.
func (t *Tree) Hidden() map[EntryID]bool {
	hidden := make(map[EntryID]bool)
	for i := len(t.nodes) - 1; i >= 0; i-- { // what hides a tombstone stands after it
		if node := t.nodes[i]; node.Kind == KindTombstone && !hidden[node.ID] {
			hidden[node.Target] = true
		}
	}
	return hidden
}

// Gaps returns the faults that were met, in file order.
func (t *Tree) Gaps() []Gap { return t.gaps }
