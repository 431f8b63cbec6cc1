package cli

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// treePage is the number of nodes per request.
const treePage = 1000

// nodes yields the entries of a session's tree, newest first. If onPage is not nil, it
// receives each page of the tree.
func nodes(ctx context.Context, c *client.Client, id firn.ID, onPage func(wire.Tree)) iter.Seq2[wire.Node, error] {
	return func(yield func(wire.Node, error) bool) {
		for cursor := ""; ; {
			t, err := c.Tree(ctx, id, treePage, cursor)
			if err != nil {
				yield(wire.Node{}, err)
				return
			}
			if onPage != nil {
				onPage(t)
			}
			for _, n := range t.Nodes {
				if !yield(n, nil) {
					return
				}
			}
			if t.Cursor == "" || t.Cursor == cursor {
				return
			}
			cursor = t.Cursor
		}
	}
}

// entryRef is a parsed reference to an entry.
type entryRef struct {
	ref string
	// number is the n of #n and turns the n of HEAD~n; negative if the reference has
	// another form.
	number, turns int
}

func parseEntryRef(ref string) (entryRef, error) {
	w := entryRef{ref: ref, number: -1, turns: -1}
	var err error
	if n, ok := strings.CutPrefix(ref, "#"); ok {
		w.number, err = strconv.Atoi(n)
	} else if n, ok := strings.CutPrefix(ref, "HEAD~"); ok && n != "" {
		w.turns, err = strconv.Atoi(n)
	} else if ref == "HEAD" || ref == "HEAD~" {
		w.turns = len(ref) - len("HEAD")
	}
	if err != nil || w.number < -1 || w.turns < -1 {
		return w, &hinted{fmt.Errorf("%w entry %q", firn.ErrInvalid, ref), "refer to an entry by its id or the start of it, a label, HEAD, HEAD~n or #n"}
	}
	return w, nil
}

// shortestEntry is the minimum length of an entry ID prefix.
const shortestEntry = 4

// node finds an entry of a session.
func (p *program) node(ctx context.Context, c *client.Client, id firn.ID, ref string) (wire.Node, error) {
	return nodeIf(ctx, c, id, ref, func(wire.Node) bool { return true })
}

// visibleNode is like node, but HEAD and HEAD~n are the last message there that is not hidden, and
// not a record such as a title or a tombstone.
func visibleNode(ctx context.Context, c *client.Client, id firn.ID, ref string) (wire.Node, error) {
	n, err := nodeIf(ctx, c, id, ref, func(n wire.Node) bool { return n.Role != "" && !n.Hidden })
	if isHead := strings.HasPrefix(ref, "HEAD"); isHead && wire.KindOf(err) == wire.NotFound {
		return n, &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("session %s has no visible message at %s", id, ref), Hint: "to list the entries: firn tree " + string(id)}
	}
	return n, err
}

// nodeIf finds an entry of a session. HEAD and HEAD~n are the last entry there that fits.
func nodeIf(ctx context.Context, c *client.Client, id firn.ID, ref string, fits func(wire.Node) bool) (wire.Node, error) {
	w, err := parseEntryRef(ref)
	if err != nil {
		return wire.Node{}, err
	}
	var begun []wire.Node
	left := w.turns
	for n, err := range nodes(ctx, c, id, nil) {
		switch {
		case err != nil:
			return n, err
		case w.number >= 0:
			if n.N == w.number {
				return n, nil
			}
		case w.turns >= 0:
			if n.OnPath && left <= 0 && fits(n) {
				return n, nil
			}
			if n.OnPath && n.Role == firn.RoleUser {
				left--
			}
		case string(n.ID) == ref || n.Label == ref:
			return n, nil
		case len(ref) >= shortestEntry && strings.HasPrefix(string(n.ID), ref):
			begun = append(begun, n)
		}
	}
	return onlyNode(id, ref, begun)
}

// onlyNode returns the only node in begun. It fails if there are none or several.
func onlyNode(id firn.ID, ref string, begun []wire.Node) (wire.Node, error) {
	switch len(begun) {
	case 0:
		return wire.Node{}, &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("session %s has no entry %q", id, ref), Hint: "to list the entries: firn tree SESSION"}
	case 1:
		return begun[0], nil
	}
	return wire.Node{}, &wire.Problem{Kind: wire.Ambiguous, Message: fmt.Sprintf("%q matches %d entries", ref, len(begun)), Hint: "give more characters of the id"}
}
