package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/compact"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/wire"
)

// Rewind moves the head of a session to another entry: To, given as a reference (- is before
// the first entry), or the position Back turns ago. Later entries stay in the log on their own branch. It is
// rejected while a turn is running. Moving to the current head does nothing.
func (g *sessionEditor) Rewind(ctx context.Context, id firn.ID, m wire.Move) (wire.Moved, error) {
	ref := string(m.To)
	if (m.To == "") == (m.Back <= 0) {
		return wire.Moved{}, &wire.Problem{Kind: wire.Invalid, Message: "give either an entry or a number of turns, not both"}
	}
	if m.Back > 0 {
		ref = view.TurnsBack(m.Back)
	}
	if err := g.CheckExists(ctx, id); err != nil {
		return wire.Moved{}, err
	}
	leave, err := g.lanes.hold(ctx, id, "rewind")
	if err != nil {
		return wire.Moved{}, err
	}
	defer leave()
	to := firn.Root
	if m.To != firn.Root {
		if to, err = g.FindEntry(ctx, id, ref); err != nil {
			return wire.Moved{}, err
		}
	}
	out, err := g.describeMove(ctx, id, to)
	if err != nil || out.From == to {
		return out, err
	}
	head := firn.Entry{Parent: to, Body: &firn.Head{Reason: "rewind"}}
	if m.Summary {
		head, out.End, err = g.moveWithSummary(ctx, id, to)
	} else {
		var added wire.Appended
		added, err = g.append(ctx, id, out.End, head)
		if out.End = added.End; err == nil {
			head.ID = added.IDs[0]
		}
	}
	if err != nil {
		return wire.Moved{}, err
	}
	if b, ok := head.Body.(*firn.BranchSummary); ok {
		out.Summary = b.Summary
	}
	out.Entry = head.ID
	return out, nil
}

// describeMove describes the entries that a move of the head leaves behind. It reads back to
// where the two branches meet, and the whole session only if a parent is missing.
func (g *sessionEditor) describeMove(ctx context.Context, id firn.ID, to firn.EntryID) (wire.Moved, error) {
	out, first, found, err := g.branchLeft(ctx, id, to)
	if err == nil && !found {
		out, first, err = g.branchLeftInTree(ctx, id, to)
	}
	if to != firn.Root {
		out.To = to
	}
	if m, ok := first.Body.(*firn.Message); ok {
		out.Text = m.Text()
	}
	return out, err
}

// branchWalk follows a branch from an entry to the root, newest entry first.
type branchWalk struct {
	want firn.EntryID
	// any accepts the next entry whatever its ID; done is set when the root was reached.
	any, done bool
}

// next reports whether an entry is the next one of the branch, and moves on to its parent.
func (c *branchWalk) next(g firn.Glance) bool {
	if c.done || !c.any && g.ID != c.want {
		return false
	}
	c.want, c.any, c.done = g.Parent, g.NoParent, !g.NoParent && g.Parent == ""
	return true
}

// branchLeft reads back from the end of a session to the common ancestor of the head and
// another entry. first is the oldest user message that only the head's branch has. found is
// false if the parent of an entry is missing.
func (g *sessionEditor) branchLeft(ctx context.Context, id firn.ID, to firn.EntryID) (out wire.Moved, first firn.Entry, found bool, err error) {
	out.Session = id
	head, target := branchWalk{any: true}, branchWalk{want: to, done: to == firn.Root}
	for rec, err := range g.Store.ReadBack(ctx, id, store.End) {
		if err != nil {
			return out, first, false, err
		}
		out.End = max(out.End, rec.Next)
		if !view.IsNode(&rec) {
			continue
		}
		if out.From == "" {
			out.From = rec.Glance.ID
		}
		onTarget := target.next(rec.Glance)
		if !head.next(rec.Glance) {
			continue
		}
		if onTarget {
			return out, first, true, nil
		}
		out.Left++
		if view.StartsTurn(&rec) {
			if e, err := rec.Entry(); err == nil {
				first = e
			}
		}
		if head.done {
			return out, first, true, nil
		}
	}
	return out, first, false, nil
}

// branchLeftInTree is like branchLeft but reads the whole session.
func (g *sessionEditor) branchLeftInTree(ctx context.Context, id firn.ID, to firn.EntryID) (out wire.Moved, first firn.Entry, err error) {
	shape, done, err := g.Shape(ctx, id)
	if err != nil {
		return out, first, err
	}
	out = wire.Moved{Session: id, End: shape.End}
	tree, target := &shape.Tree, -1
	if to != firn.Root {
		target = tree.Find(to)
	}
	if head := tree.Head(); head >= 0 {
		out.From = tree.Node(head).ID
	}
	kept := make(map[int]bool)
	for _, n := range tree.Path(target) {
		kept[n] = true
	}
	var at []firn.Pos
	for _, n := range tree.Path(tree.Head()) {
		if !kept[n] {
			at = append(at, tree.Node(n).At)
		}
	}
	out.Left = len(at)
	done()
	for rec, err := range g.Records(ctx, id, at) {
		if err != nil {
			return out, first, err
		}
		if view.StartsTurn(&rec) {
			if e, err := rec.Entry(); err == nil {
				first = e
			}
			break
		}
	}
	return out, first, nil
}

// moveWithSummary moves the head and appends a summary of the branch that is left.
func (g *sessionEditor) moveWithSummary(ctx context.Context, id firn.ID, to firn.EntryID) (firn.Entry, firn.Pos, error) {
	a, err := g.agentOf(ctx, id)
	if err != nil {
		return firn.Entry{}, 0, err
	}
	head, err := a.Move(ctx, id, to, true)
	if errors.Is(err, compact.ErrMoved) {
		err = &wire.Problem{Kind: wire.Conflict, Message: err.Error(), Hint: "the session has new entries; try again"}
	}
	if err != nil {
		return firn.Entry{}, 0, err
	}
	for rec, err := range g.Store.ReadBack(ctx, id, store.End) {
		return head, rec.Next, err
	}
	return head, 0, nil
}

// maxLabel is the maximum length of a label, in characters.
const maxLabel = 100

// Label labels an entry; an empty name removes the label. It is allowed during a turn.
func (g *sessionEditor) Label(ctx context.Context, id firn.ID, l wire.Label) (wire.Appended, error) {
	name := strings.Join(strings.Fields(l.Name), " ")
	if n := utf8.RuneCountInString(name); n > maxLabel {
		return wire.Appended{}, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("a label of %d characters is too long; the limit is %d", n, maxLabel)}
	}
	if name != "" {
		if !view.IsFree(name) {
			return wire.Appended{}, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("%q cannot be a label: it already names an entry", view.Clip(name))}
		}
	}
	target, err := g.EntryAt(ctx, id, l.Entry)
	if err != nil {
		return wire.Appended{}, err
	}
	return g.append(ctx, id, store.Any, firn.Entry{Body: &firn.Label{Target: target, Name: name}})
}

// Hide hides an entry from the model. Hiding a compaction undoes it. It is allowed during a
// turn and takes effect with the next request to the model. If the entry is already hidden,
// nothing is written.
func (g *sessionEditor) Hide(ctx context.Context, id firn.ID, h wire.Hide) (wire.Appended, error) {
	target, err := g.EntryAt(ctx, id, h.Entry)
	if err != nil {
		return wire.Appended{}, err
	}
	return g.setHidden(ctx, id, target, true, h.Reason)
}

// Show undoes Hide. If the entry is not hidden, nothing is written.
func (g *sessionEditor) Show(ctx context.Context, id firn.ID, h wire.Hide) (wire.Appended, error) {
	target, err := g.EntryAt(ctx, id, h.Entry)
	if err != nil {
		return wire.Appended{}, err
	}
	return g.setHidden(ctx, id, target, false, h.Reason)
}

// maxTries is the number of attempts to append while others write.
const maxTries = 16

// setHidden hides or shows an entry or the whole session. On a conflict it decides again.
func (g *sessionEditor) setHidden(ctx context.Context, id firn.ID, target firn.EntryID, hide bool, reason string) (wire.Appended, error) {
	for try := 1; ; try++ {
		shape, done, err := g.Shape(ctx, id)
		if err != nil {
			return wire.Appended{}, err
		}
		stones, end := shape.Hiders(target), shape.End
		done()
		var entries []firn.Entry
		switch {
		case hide && len(stones) == 0:
			entries = append(entries, firn.Entry{Body: &firn.Tombstone{Target: target, Reason: reason}})
		case !hide:
			for _, stone := range stones {
				entries = append(entries, firn.Entry{Body: &firn.Tombstone{Target: stone, Reason: reason}})
			}
		}
		if len(entries) == 0 {
			return wire.Appended{IDs: []firn.EntryID{}, End: end}, nil
		}
		out, err := g.append(ctx, id, end, entries...)
		if !errors.Is(err, firn.ErrConflict) || try == maxTries {
			return out, err
		}
	}
}
