package prose

import (
	"fmt"
	"slices"
	"strings"

	"firn"
	"firn/wire"
)

// drawing is a tree on its way to the screen.
type drawing struct {
	nodes    map[firn.EntryID]wire.Node
	children map[firn.EntryID][]firn.EntryID
	head     firn.EntryID
	all      bool
	// damage is what could not be read, by the number of the entry before it.
	damage map[int][]wire.Damage
	lines  []string
}

// Tree draws a tree, the oldest entry first: the branch of the head straight
// down, others beside it. Entries that say nothing are left out unless all are
// asked for.
func Tree(t wire.Tree, all bool) []string {
	d := &drawing{nodes: make(map[firn.EntryID]wire.Node), children: make(map[firn.EntryID][]firn.EntryID), head: t.Head, all: all, damage: make(map[int][]wire.Damage)}
	numbers := make(map[int]bool)
	for _, n := range t.Nodes {
		d.nodes[n.ID], numbers[n.N] = n, true
	}
	for _, one := range t.Damage {
		if !numbers[one.After] {
			one.After = 0
		}
		d.damage[one.After] = append(d.damage[one.After], one)
	}
	d.damaged(0, "")
	var roots []firn.EntryID
	for _, n := range slices.Backward(t.Nodes) {
		if _, known := d.nodes[n.Parent]; known && n.Parent != n.ID {
			d.children[n.Parent] = append(d.children[n.Parent], n.ID)
		} else {
			roots = append(roots, n.ID)
		}
	}
	d.head = d.visible(t.Head)
	d.fork(roots, "")
	note := Count(t.Total, "entry", "entries") + ", " + Count(t.Branches, "branch", "branches")
	if t.Total == 0 {
		note = "nothing was said yet"
	}
	if len(t.Nodes) < t.Total {
		note += fmt.Sprintf("; the latest %s shown (-n all)", Grouped(int64(len(t.Nodes))))
	}
	return append(d.lines, note)
}

// visible is the entry that is drawn as the head: itself, or the last one before
// it that is drawn.
func (d *drawing) visible(head firn.EntryID) firn.EntryID {
	for id := head; !d.all; {
		n, ok := d.nodes[id]
		if !ok || n.Parent == id {
			break
		}
		if Speaks(n) {
			return id
		}
		id = n.Parent
	}
	return head
}

// fork draws entries that follow the same one: those that do not lead to the
// head beside, the last one straight on.
func (d *drawing) fork(ids []firn.EntryID, indent string) {
	ids = slices.Clone(ids)
	slices.SortStableFunc(ids, func(a, b firn.EntryID) int { return d.rank(a) - d.rank(b) })
	for i, id := range ids {
		if i < len(ids)-1 {
			d.run(id, indent+"│ ")
			continue
		}
		d.run(id, indent)
	}
}

// rank puts the branch of the head last.
func (d *drawing) rank(id firn.EntryID) int {
	if d.nodes[id].OnPath {
		return 1
	}
	return 0
}

// run draws an entry and those after it, as long as there is one way to go.
func (d *drawing) run(id firn.EntryID, indent string) {
	for {
		n := d.nodes[id]
		if d.all || n.ID == d.head || Speaks(n) {
			d.lines = append(d.lines, indent+d.line(n))
		}
		d.damaged(n.N, indent)
		next := d.children[id]
		if len(next) != 1 {
			d.fork(next, indent)
			return
		}
		id = next[0]
	}
}

// damaged draws what could not be read behind an entry.
func (d *drawing) damaged(number int, indent string) {
	for _, one := range d.damage[number] {
		d.lines = append(d.lines, indent+Damage(one))
	}
	delete(d.damage, number)
}

// Speaks reports whether an entry says something.
func Speaks(n wire.Node) bool {
	switch n.Kind {
	case firn.KindMessage, firn.KindCompaction, firn.KindBranchSummary, firn.KindCustomMessage:
		return true
	}
	return n.Fault != "" || n.Label != ""
}

// line is one line of the drawing.
func (d *drawing) line(n wire.Node) string {
	mark := "·"
	switch {
	case n.ID == d.head:
		mark = "●"
	case n.Hidden:
		mark = "✗"
	case n.Kind == firn.KindCompaction:
		mark = "◆"
	}
	words := []string{fmt.Sprintf("%s #%d", mark, n.N), WhoOf(n)}
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

// WhoOf says who speaks in an entry, or what it is.
func WhoOf(n wire.Node) string {
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
