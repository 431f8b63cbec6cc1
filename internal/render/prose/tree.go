package prose

import (
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/wire"
)

// drawing is the state of drawing a tree. Entries are identified by their numbers: a file
// may use an ID twice, and a number is always greater than its parent's.
type drawing struct {
	nodes    map[int]wire.Node
	children map[int][]int
	// head is the number of the entry drawn as the head.
	head int
	all  bool
	// damage holds the unreadable places by the number of the preceding entry.
	damage map[int][]wire.Damage
	lines  []string
}

// Tree draws a tree, oldest entry first: the branch of the head straight down, other
// branches next to it. Entries without content are left out unless all is true.
func Tree(t wire.Tree, all bool) []string {
	d := &drawing{nodes: make(map[int]wire.Node), children: make(map[int][]int), all: all, damage: make(map[int][]wire.Damage)}
	for _, n := range t.Nodes {
		d.nodes[n.N] = n
		if n.ID == t.Head {
			d.head = max(d.head, n.N)
		}
	}
	var roots []int
	for _, n := range slices.Backward(t.Nodes) {
		if _, known := d.nodes[n.ParentN]; known && n.ParentN < n.N {
			d.children[n.ParentN] = append(d.children[n.ParentN], n.N)
		} else {
			roots = append(roots, n.N)
		}
	}
	for _, one := range t.Damage {
		if _, known := d.nodes[one.After]; !known {
			one.After = 0
		}
		d.damage[one.After] = append(d.damage[one.After], one)
	}
	d.damaged(0, "")
	d.head = d.visible(d.head)
	d.fork(roots, "")
	note := Count(t.Total, "entry", "entries") + ", " + Count(t.Branches, "branch", "branches")
	if t.Total == 0 {
		note = "no messages yet"
	}
	if len(t.Nodes) < t.Total {
		note += fmt.Sprintf("; the latest %s shown (-n all)", Grouped(int64(len(t.Nodes))))
	}
	return append(d.lines, note)
}

// visible returns the entry drawn as the head: head itself, or the last drawn entry before
// it.
func (d *drawing) visible(head int) int {
	for number := head; !d.all; {
		n, ok := d.nodes[number]
		if !ok || n.ParentN >= number {
			break
		}
		if Speaks(n) {
			return number
		}
		number = n.ParentN
	}
	return head
}

// fork draws entries with the same parent: the branches that do not lead to the head first,
// then the last one straight on.
func (d *drawing) fork(numbers []int, indent string) {
	numbers = slices.Clone(numbers)
	slices.SortStableFunc(numbers, func(a, b int) int { return d.rank(a) - d.rank(b) })
	for i, number := range numbers {
		if i < len(numbers)-1 {
			d.run(number, indent+"│ ")
			continue
		}
		d.run(number, indent)
	}
}

// rank sorts the branch of the head last.
func (d *drawing) rank(number int) int {
	if d.nodes[number].OnPath {
		return 1
	}
	return 0
}

// run draws an entry and its descendants up to the next fork.
func (d *drawing) run(number int, indent string) {
	for {
		n := d.nodes[number]
		if d.all || n.N == d.head || Speaks(n) {
			d.lines = append(d.lines, indent+d.line(n))
		}
		d.damaged(n.N, indent)
		next := d.children[number]
		if len(next) != 1 {
			d.fork(next, indent)
			return
		}
		number = next[0]
	}
}

// damaged draws the unreadable places after an entry.
func (d *drawing) damaged(number int, indent string) {
	for _, one := range d.damage[number] {
		d.lines = append(d.lines, indent+Damage(one))
	}
	delete(d.damage, number)
}

// Speaks reports whether an entry has content to show.
func Speaks(n wire.Node) bool {
	switch n.Kind {
	case firn.KindMessage, firn.KindCompaction, firn.KindBranchSummary, firn.KindCustomMessage:
		return true
	}
	return n.Fault != "" || n.Label != ""
}

// line returns one line of the drawing.
func (d *drawing) line(n wire.Node) string {
	mark := "·"
	switch {
	case n.N == d.head:
		mark = "●"
	case n.Hidden:
		mark = "✗"
	case n.Kind == firn.KindCompaction:
		mark = "◆"
	}
	words := []string{fmt.Sprintf("%s #%d", mark, n.N), AuthorOf(n)}
	if n.Label != "" {
		words = append(words, "["+OneLine(n.Label, 30)+"]")
	}
	words = append(words, OneLine(n.Preview, 72))
	if n.Fault != "" {
		words = append(words, "⚠ "+OneLine(n.Fault, 160))
	}
	if n.Compaction != "" && n.Compaction != wire.NodeCurrent {
		words = append(words, "("+n.Compaction+")")
	}
	return strings.TrimRight(strings.Join(words, "  "), " ")
}

// AuthorOf returns the author of an entry, or its kind.
func AuthorOf(n wire.Node) string {
	switch n.Role {
	case firn.RoleUser:
		return "you"
	case firn.RoleAssistant:
		return "agent"
	case firn.RoleToolResult:
		return "tool"
	case "":
		return KindName(string(n.Kind))
	}
	return OneLine(string(n.Role), 20)
}
