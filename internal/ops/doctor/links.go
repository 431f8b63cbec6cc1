package doctor

import "firn.dev"

// links is the structure of a session as seen by programs, such as pi, that follow parent
// IDs regardless of file order and use the later of two entries with the same ID. Our own
// tree has no cycles and handles missing parents; theirs may not.
type links struct {
	// up holds the parent of each node: root for none, lost if the parent is not in the
	// file.
	up []int
	// fate holds the end of each node's chain of parents.
	fate []fate
}

const (
	root = -1
	lost = -2
)

// fate is the result of following parents.
type fate byte

const (
	unknown fate = iota
	onTheWay
	// rooted ends at an entry without a parent.
	rooted
	// broken ends at an entry whose parent is lost.
	broken
	// circling ends in a cycle; inCircle is part of one.
	circling
	inCircle
)

// newLinks follows all parents. Each node is visited at most twice.
func newLinks(tree *firn.Tree) *links {
	l := &links{up: make([]int, tree.Len()), fate: make([]fate, tree.Len())}
	for n := range l.up {
		l.up[n] = strictParent(tree, n)
	}
	l.judge()
	return l
}

func strictParent(tree *firn.Tree, n int) int {
	node := tree.Node(n)
	if node.NoParent || node.Parent == "" {
		return root
	}
	if up := tree.Find(node.Parent); up >= 0 {
		return up
	}
	return lost
}

// judge computes the fate of every node.
func (l *links) judge() {
	clear(l.fate)
	var path []int
	for start := range l.up {
		path = path[:0]
		n := start
		for n >= 0 && l.fate[n] == unknown {
			l.fate[n] = onTheWay
			path = append(path, n)
			n = l.up[n]
		}
		l.assignFate(path, n)
	}
}

// assignFate assigns the nodes of a path the fate of the node where it ended.
func (l *links) assignFate(path []int, end int) {
	verdict := rooted
	switch {
	case end == lost:
		verdict = broken
	case end >= 0 && l.fate[end] == onTheWay: // the path met itself
		for i := len(path) - 1; i >= 0; i-- {
			n := path[i]
			l.fate[n] = inCircle
			if n == end {
				path = path[:i]
				break
			}
		}
		verdict = circling
	case end >= 0:
		if verdict = l.fate[end]; verdict == inCircle {
			verdict = circling
		}
	}
	for _, n := range path {
		l.fate[n] = verdict
	}
}

// circle returns the nodes of the cycle that contains n, smallest first.
func (l *links) circle(n int) []int {
	least := n
	for m := l.up[n]; m != n; m = l.up[m] {
		least = min(least, m)
	}
	nodes := []int{least}
	for m := l.up[least]; m != least; m = l.up[m] {
		nodes = append(nodes, m)
	}
	return nodes
}

// reaches returns the set of nodes on the chain of parents from a node.
func (l *links) reaches(from int) map[int]bool {
	seen := make(map[int]bool)
	for n := from; n >= 0 && !seen[n]; n = l.up[n] {
		seen[n] = true
	}
	return seen
}
