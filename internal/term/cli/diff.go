package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// difference describes how two branches differ: the number of common entries, and the
// entries that only one has, oldest first.
type difference struct {
	Left   side `json:"left"`
	Right  side `json:"right"`
	Common int  `json:"common"`
	// Parted is the last common entry; empty if there is none.
	Parted firn.EntryID `json:"parted,omitempty"`
}

// side is one of the two branches.
type side struct {
	Session firn.ID      `json:"session"`
	Entry   firn.EntryID `json:"entry"`
	Only    []wire.Node  `json:"only"`
}

func (p transcriptCommands) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "diff SESSION ENTRY [ENTRY] | SESSION SESSION",
		GroupID: "look",
		Short:   "Compare two branches",
		Long: `Compare two branches of a session: those leading to two entries, or to one
entry and the head. With two sessions, compare their branches, for example a
fork with its origin. Entries only in the first are marked -, entries only in
the second +.

` + sessionHelp + "\n\n" + entryHelp,
		Example: "  firn diff - '#12'\n  firn diff 0198c5a2 before-refactor HEAD\n  firn diff 0198c5a2 0198c5b7", Args: args(2, 3, "a session and two entries, or two sessions"), ValidArgsFunction: p.completeSession(false),
		RunE: p.with(readOnly, func(ctx context.Context, c *client.Client, args []string) error {
			d, err := p.diff(ctx, c, args)
			if err != nil {
				return err
			}
			return p.print(d, func() string { return diffText(d) })
		}),
	}
}

// diff compares the branches named by the arguments.
func (p transcriptCommands) diff(ctx context.Context, c *client.Client, args []string) (difference, error) {
	s, err := p.session(ctx, c, args[0])
	if err != nil {
		return difference{}, err
	}
	tree, err := wholeTree(ctx, c, s.ID)
	if err != nil {
		return difference{}, err
	}
	if len(args) == 2 {
		other, err := p.session(ctx, c, args[1])
		switch {
		case err == nil:
			second, err := wholeTree(ctx, c, other.ID)
			if err != nil {
				return difference{}, err
			}
			return compare(tree.path(tree.head), second.path(second.head), s.ID, other.ID), nil
		case !errors.Is(err, firn.ErrNotFound):
			return difference{}, err
		}
		args = append(args, "HEAD")
	}
	var paths [2][]wire.Node
	for i, ref := range args[1:] {
		n, err := p.node(ctx, c, s.ID, ref)
		if err != nil {
			return difference{}, err
		}
		paths[i] = tree.path(n.ID)
	}
	return compare(paths[0], paths[1], s.ID, s.ID), nil
}

// shape is the tree of a session.
type shape struct {
	nodes map[firn.EntryID]wire.Node
	head  firn.EntryID
}

func wholeTree(ctx context.Context, c *client.Client, id firn.ID) (shape, error) {
	s := shape{nodes: make(map[firn.EntryID]wire.Node)}
	for n, err := range nodes(ctx, c, id, func(t wire.Tree) { s.head = t.Head }) {
		if err != nil {
			return s, err
		}
		s.nodes[n.ID] = n
	}
	return s, nil
}

// path returns the entries on the way to an entry, oldest first.
func (s shape) path(to firn.EntryID) []wire.Node {
	var path []wire.Node
	for len(path) < len(s.nodes) {
		n, ok := s.nodes[to]
		if !ok {
			break
		}
		path = append(path, n)
		to = n.Parent
	}
	slices.Reverse(path)
	return path
}

// compare compares two paths by entry IDs. A fork keeps the IDs of copied entries but omits
// titles and counters, so common entries may have different positions.
func compare(a, b []wire.Node, left, right firn.ID) difference {
	d := difference{Left: sideOf(a, b, left), Right: sideOf(b, a, right)}
	in := idsOf(b)
	for _, n := range a {
		if in[n.ID] {
			d.Parted = n.ID
			d.Common++
		}
	}
	return d
}

// sideOf returns the entries of path that other lacks.
func sideOf(path, other []wire.Node, session firn.ID) side {
	s := side{Session: session, Only: []wire.Node{}}
	in := idsOf(other)
	for _, n := range path {
		s.Entry = n.ID
		if !in[n.ID] {
			s.Only = append(s.Only, n)
		}
	}
	return s
}

func idsOf(path []wire.Node) map[firn.EntryID]bool {
	ids := make(map[firn.EntryID]bool, len(path))
	for _, n := range path {
		ids[n.ID] = true
	}
	return ids
}

// diffText formats a difference. Entries without content are skipped.
func diffText(d difference) string {
	lines := []string{fmt.Sprintf("%s in common", prose.Count(d.Common, "entry", "entries"))}
	for _, s := range []struct {
		mark string
		side side
	}{{"-", d.Left}, {"+", d.Right}} {
		for _, n := range s.side.Only {
			if prose.Speaks(n) {
				lines = append(lines, fmt.Sprintf("%s #%d  %s  %s", s.mark, n.N, prose.AuthorOf(n), prose.OneLine(n.Preview, 90)))
			}
		}
	}
	switch {
	case len(d.Left.Only)+len(d.Right.Only) == 0:
		lines = append(lines, "no difference")
	case len(lines) == 1:
		lines = append(lines, "no difference in the messages")
	}
	return strings.Join(lines, "\n") + "\n"
}
