package doctor

import "firn.dev"

// links is the shape of a session as programs see it that follow parents by id
// wherever they stand, and of two entries with one id take the later, as pi
// does. Our own tree never goes round in circles and has an answer for a lost
// parent; theirs may not.
type links struct {
	// up has the number of the parent of each node: root for none, lost if the
	// parent is not in the file.
	up []int
	// fate says where each node's parents lead.
	fate []fate
}

const (
	root = -1
	lost = -2
)

// fate is where following parents leads.
type fate byte

const (
	unknown fate = iota
	onTheWay
	// rooted: to an entry without a parent.
	rooted
	// broken: to an entry whose parent is lost.
	broken
	// circling: into a circle. inCircle: the entry itself is on it.
	circling
	inCircle
)

// newLinks follows all parents. Each node is walked over at most twice.
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

// judge finds the fate of every node.
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
		l.settle(path, n)
	}
}

// settle gives the nodes of a path their fate, which is that of where it ended.
func (l *links) settle(path []int, end int) {
	verdict := rooted
	switch {
	case end == lost:
		verdict = broken
	case end >= 0 && l.fate[end] == onTheWay: // it met itself
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

// circle returns the nodes of the circle that n is on, the smallest first.
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

// reaches reports, for each node, whether following parents from the given one
// passes it.
func (l *links) reaches(from int) map[int]bool {
	seen := make(map[int]bool)
	for n := from; n >= 0 && !seen[n]; n = l.up[n] {
		seen[n] = true
	}
	return seen
}
