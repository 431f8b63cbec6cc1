package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// treeBound is the default maximum number of entries in a tree.
const treeBound = 200

func (p overviewCommands) treeCommand() *cobra.Command {
	all := false
	count := bound(treeBound)
	cmd := &cobra.Command{
		Use:     "tree SESSION",
		GroupID: "look",
		Short:   "Draw the tree of a session's branches",
		Long: `Draw the latest entries of a session as a tree: the branch of the head
straight down, others beside it. ● marks the head, ◆ compactions, ✗ hidden
entries, and [name] labels. Entries without content, such as settings, are left
out unless --all is given.

` + damageHelp + "\n\n" + sessionHelp,
		Example: "  firn tree -\n  firn tree 0198c5a2 --all -n all", Args: args(1, 1, "one session"), ValidArgsFunction: p.completeSession(false),
		RunE: p.with(readOnly, func(ctx context.Context, c *client.Client, args []string) error {
			return p.tree(ctx, c, args[0], int(count), all)
		}),
	}
	cmd.Flags().VarP(&count, "number", "n", "draw the latest `N` entries, or all")
	cmd.Flags().BoolVar(&all, "all", false, "include settings, labels and similar entries")
	return cmd
}

// tree prints the tree of a session.
func (p overviewCommands) tree(ctx context.Context, c *client.Client, ref string, most int, all bool) error {
	s, err := p.session(ctx, c, ref)
	if err != nil {
		return err
	}
	whole := wire.Tree{Session: s.ID, Nodes: []wire.Node{}}
	page := func(t wire.Tree) {
		whole.Head, whole.Total, whole.Branches = t.Head, t.Total, t.Branches
		whole.Damage = slices.Concat(t.Damage, whole.Damage) // pages are in reverse order
	}
	var damage damaged
	for n, err := range nodes(ctx, c, s.ID, page) {
		if err != nil {
			return err
		}
		if most > 0 && len(whole.Nodes) == most {
			oldest := whole.Nodes[most-1].At
			whole.Damage = slices.DeleteFunc(whole.Damage, func(d wire.Damage) bool { return d.At < oldest })
			break
		}
		if n.Fault != "" {
			damage.add(wire.Damage{Lost: n.Lost})
		}
		whole.Nodes = append(whole.Nodes, n)
	}
	if err := p.print(whole, func() string { return strings.Join(prose.Tree(whole, all), "\n") + "\n" }); err != nil {
		return err
	}
	damage.add(whole.Damage...)
	return p.reportDamage(s, damage)
}
