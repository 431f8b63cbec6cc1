package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"firn"
	"firn/client"
	"firn/internal/prose"
	"firn/wire"
)

// treeBound is how many entries a tree shows unless more are asked for.
const treeBound = 200

func (p *program) treeCommand() *cobra.Command {
	all := false
	count := bound(treeBound)
	cmd := &cobra.Command{
		Use:     "tree SESSION",
		GroupID: "sessions",
		Short:   "Draw the branches of a session",
		Long: `Draw the latest entries of a session as a tree: the branch of the head straight down,
others beside it. The head is marked ●, compactions ◆, hidden entries ✗, labels [so].
Entries that say nothing, such as settings, are left out unless --all asks for them.

` + sessionHelp,
		Example: "  firn tree -\n  firn tree 0198c5a2 --all -n all", Args: args(1, 1, "one session"), ValidArgsFunction: p.completeSession(false),
		RunE: p.with(looking, func(ctx context.Context, c *client.Client, args []string) error {
			return p.tree(ctx, c, args[0], int(count), all)
		}),
	}
	cmd.Flags().VarP(&count, "number", "n", "draw the latest `N` entries, or all")
	cmd.Flags().BoolVar(&all, "all", false, "draw settings, labels and the like too")
	return cmd
}

// tree draws a session.
func (p *program) tree(ctx context.Context, c *client.Client, ref string, most int, all bool) error {
	s, err := p.session(ctx, c, ref)
	if err != nil {
		return err
	}
	whole := wire.Tree{Session: s.ID, Nodes: []wire.Node{}}
	for n, err := range nodes(ctx, c, s.ID, func(t wire.Tree) { whole.Head, whole.Total, whole.Branches = t.Head, t.Total, t.Branches }) {
		if err != nil {
			return err
		}
		if most > 0 && len(whole.Nodes) == most {
			break
		}
		whole.Nodes = append(whole.Nodes, n)
	}
	return p.print(whole, func() string { return drawTree(whole, all) })
}

// drawing is a tree on its way to the screen.
type drawing struct {
	nodes    map[firn.EntryID]wire.Node
	children map[firn.EntryID][]firn.EntryID
	head     firn.EntryID
	all      bool
	lines    []string
}

// drawTree draws a tree, the oldest entry first.
func drawTree(t wire.Tree, all bool) string {
	d := &drawing{nodes: make(map[firn.EntryID]wire.Node), children: make(map[firn.EntryID][]firn.EntryID), head: t.Head, all: all}
	for _, n := range t.Nodes {
		d.nodes[n.ID] = n
	}
	var roots []firn.EntryID
	for _, n := range slices.Backward(t.Nodes) {
		if _, known := d.nodes[n.Parent]; known && n.Parent != n.ID {
			d.children[n.Parent] = append(d.children[n.Parent], n.ID)
		} else {
			roots = append(roots, n.ID)
		}
	}
	d.fork(roots, "")
	note := prose.Count(t.Total, "entry", "entries") + ", " + prose.Count(t.Branches, "branch", "branches")
	if t.Total == 0 {
		note = "nothing was said yet"
	}
	if len(t.Nodes) < t.Total {
		note += fmt.Sprintf("; the latest %s shown (-n all)", prose.Grouped(int64(len(t.Nodes))))
	}
	return strings.Join(append(d.lines, note), "\n") + "\n"
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
		if d.all || n.ID == d.head || speaks(n) {
			d.lines = append(d.lines, indent+d.line(n))
		}
		next := d.children[id]
		if len(next) != 1 {
			d.fork(next, indent)
			return
		}
		id = next[0]
	}
}

// speaks reports whether an entry says something.
func speaks(n wire.Node) bool {
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
	words := []string{fmt.Sprintf("%s #%d", mark, n.N), whoOf(n)}
	if n.Label != "" {
		words = append(words, "["+prose.OneLine(n.Label, 30)+"]")
	}
	switch {
	case n.Fault != "":
		words = append(words, prose.OneLine(n.Fault, 72))
	default:
		words = append(words, prose.OneLine(n.Preview, 72))
	}
	if n.Compaction != "" && n.Compaction != wire.NodeCurrent {
		words = append(words, "("+n.Compaction+")")
	}
	return strings.TrimRight(strings.Join(words, "  "), " ")
}

// whoOf says who speaks in an entry, or what it is.
func whoOf(n wire.Node) string {
	switch n.Role {
	case firn.RoleUser:
		return "you"
	case firn.RoleAssistant:
		return "agent"
	case firn.RoleToolResult:
		return "tool"
	case "":
		return kindNames(string(n.Kind))
	}
	return prose.OneLine(string(n.Role), 20)
}
