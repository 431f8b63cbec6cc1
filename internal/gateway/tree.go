package gateway

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"firn"
	"firn/store"
	"firn/window"
	"firn/wire"
)

// Bounds of a page of a tree.
const (
	standardTree = 2000
	largestTree  = 10_000
)

// Tree tells the shape of a session: the newest entries, at most limit (2,000
// if zero, never more than 10,000), or those before the page that a cursor
// comes from. It reads the shape of the whole session and decodes only what is
// on the page. A page stays as it is while others append: they come behind it.
func (g *Gateway) Tree(ctx context.Context, id firn.ID, limit int, cursor string) (wire.Tree, error) {
	tree := wire.Tree{Session: id, Nodes: []wire.Node{}}
	if err := g.mustBe(ctx, id); err != nil {
		return tree, err
	}
	b, err := g.outline(ctx, id)
	if err != nil {
		return tree, fmt.Errorf("read the tree of session %s: %w", id, err)
	}
	high := b.tree.Len()
	if cursor != "" {
		n, err := strconv.ParseUint(cursor, 10, 31)
		if err != nil || n == 0 {
			return tree, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("%q is not the cursor of a tree", clip(cursor))}
		}
		high = min(high, int(n))
	}
	if limit <= 0 {
		limit = standardTree
	}
	low := max(high-min(limit, largestTree), 0)
	tree.Total, tree.Branches = b.tree.Len(), b.leaves()
	if head := b.tree.Head(); head >= 0 {
		tree.Head = b.tree.Node(head).ID
	}
	if low > 0 {
		tree.Cursor = strconv.Itoa(low)
	}
	if tree.Nodes, err = g.nodes(ctx, id, b, low, high); err != nil {
		return tree, fmt.Errorf("read the tree of session %s: %w", id, err)
	}
	return tree, nil
}

// outline is a tree with what is said about its entries elsewhere.
type outline struct {
	tree   firn.Tree
	end    firn.Pos
	labels map[firn.EntryID]string
	hidden map[firn.EntryID]bool
	onPath map[int]bool
	faults map[firn.Pos]string
	// current is the compaction in force, -1 if there is none; compacted are the
	// entries of the path that it stands for.
	current   int
	compacted map[int]bool
}

// outline reads the shape of a session, and its labels.
func (g *Gateway) outline(ctx context.Context, id firn.ID) (*outline, error) {
	b := &outline{faults: make(map[firn.Pos]string)}
	var labels []firn.Entry
	for rec, err := range g.Store.Read(ctx, id, store.Start) {
		if err != nil {
			return nil, err
		}
		b.end = rec.Next
		if rec.Gap != nil || b.tree.Add(rec.At, rec.Glance) < 0 || rec.Glance.Kind != firn.KindLabel {
			continue
		}
		if e, err := rec.Entry(); err == nil {
			labels = append(labels, e)
		}
	}
	b.hidden = b.tree.Hidden()
	b.labels = labelsOf(labels, b.hidden)
	for _, gap := range b.tree.Gaps() {
		b.faults[gap.At] = gap.Error()
	}
	b.settle()
	return b, nil
}

// labelsOf is the last label of each entry that no tombstone hides.
func labelsOf(entries []firn.Entry, hidden map[firn.EntryID]bool) map[firn.EntryID]string {
	labels := make(map[firn.EntryID]string)
	for _, e := range entries {
		l, ok := e.Body.(*firn.Label)
		switch {
		case !ok || hidden[e.ID]:
		case l.Name == "":
			delete(labels, l.Target)
		default:
			labels[l.Target] = l.Name
		}
	}
	return labels
}

// settle finds the path, the compaction in force and what it stands for.
func (b *outline) settle() {
	path := b.tree.Path(b.tree.Head())
	b.onPath, b.compacted, b.current = make(map[int]bool, len(path)), make(map[int]bool), -1
	at := -1
	for i, n := range path {
		b.onPath[n] = true
		if node := b.tree.Node(n); node.Kind == firn.KindCompaction && !b.hidden[node.ID] {
			b.current, at = n, i
		}
	}
	if b.current < 0 {
		return
	}
	kept, first := b.tree.Node(b.current).Target, at
	for i := at; i >= 0; i-- {
		if b.tree.Node(path[i]).ID == kept {
			first = i
			break
		}
	}
	for _, n := range path[:first] {
		b.compacted[n] = true
	}
}

// leaves counts the ends of branches. What only says something about another
// entry, or moves the head, ends none.
func (b *outline) leaves() int {
	followed := make([]bool, b.tree.Len())
	for n := b.tree.Len() - 1; n >= 0; n-- {
		node := b.tree.Node(n)
		// A head entry at the end of a branch does not make its parent a leaf
		// less: it is there to go on from.
		if node.Up >= 0 && (node.Kind != firn.KindHead || followed[n]) {
			followed[node.Up] = true
		}
	}
	leaves := 0
	for n, is := range followed {
		if !is && b.tree.Node(n).Kind != firn.KindHead {
			leaves++
		}
	}
	return leaves
}

// nodes decodes the entries from low to high, newest first.
func (g *Gateway) nodes(ctx context.Context, id firn.ID, b *outline, low, high int) ([]wire.Node, error) {
	nodes := make([]wire.Node, high-low)
	if low >= high {
		return nodes, nil
	}
	for n := low; n < high; n++ {
		nodes[high-1-n] = b.node(n)
	}
	n := low
	for rec, err := range g.Store.Read(ctx, id, b.tree.Node(low).At) {
		if err != nil {
			return nil, err
		}
		if !isNode(&rec) {
			continue
		}
		if rec.At != b.tree.Node(n).At {
			return nil, fmt.Errorf("the session was changed underneath: %w", firn.ErrReplaced)
		}
		fill(&nodes[high-1-n], &rec)
		if n++; n == high {
			return nodes, nil
		}
	}
	return nil, errors.Join(ctx.Err(), fmt.Errorf("the session became shorter underneath: %w", firn.ErrReplaced))
}

// node is what the shape of a session tells of an entry.
func (b *outline) node(n int) wire.Node {
	from := b.tree.Node(n)
	node := wire.Node{
		ID: from.ID, N: n + 1, At: from.At, Kind: from.Kind, Label: b.labels[from.ID],
		OnPath: b.onPath[n], Compacted: b.compacted[n], Hidden: b.hidden[from.ID], Fault: b.faults[from.At],
	}
	if from.Up >= 0 {
		node.Parent = b.tree.Node(from.Up).ID
	}
	if from.Kind == firn.KindCompaction {
		switch {
		case n == b.current:
			node.Compaction = wire.NodeCurrent
		case node.Hidden:
			node.Compaction = wire.NodeUndone
		default:
			node.Compaction = wire.NodePast
		}
	}
	return node
}

// fill adds what only the entry itself tells.
func fill(node *wire.Node, rec *firn.Record) {
	e, err := rec.Entry()
	if err != nil {
		node.Fault = err.Error()
		return
	}
	node.Time, node.Preview = e.Time, previewOf(&e)
	switch b := e.Body.(type) {
	case *firn.Message:
		node.Role, node.Tokens = b.Role, window.Chars{}.CountMessage(b)
	case *firn.CustomMessage:
		node.Tokens = window.Chars{}.CountMessage(&firn.Message{Parts: b.Parts})
	case *firn.Compaction:
		node.Tokens = window.Chars{}.CountText(b.Summary)
	case *firn.BranchSummary:
		node.Tokens = window.Chars{}.CountText(b.Summary)
	}
}
