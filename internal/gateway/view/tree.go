package view

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// Limits of a page of a tree.
const (
	standardTree = 2000
	largestTree  = 10_000
)

// Tree returns the tree of a session: the newest entries, at most limit (2,000 if zero,
// never more than 10,000), or those before the page of a cursor. It reads the shape of the
// whole session if that is not known, and decodes only the entries of the page. Pages are
// stable while entries are appended.
func (v *View) Tree(ctx context.Context, id firn.ID, limit int, cursor string) (wire.Tree, error) {
	tree := wire.Tree{Session: id, Nodes: []wire.Node{}}
	if err := v.CheckExists(ctx, id); err != nil {
		return tree, err
	}
	high := math.MaxInt
	if cursor != "" {
		n, err := strconv.ParseUint(cursor, 10, 31)
		if err != nil || n == 0 {
			return tree, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("%q is not a cursor of a tree", Clip(cursor))}
		}
		high = int(n)
	}
	if limit <= 0 {
		limit = standardTree
	}
	s, done, err := v.Shape(ctx, id)
	if err != nil {
		return tree, err
	}
	outline := s.outline()
	outline.page(&tree, min(limit, largestTree), high)
	tree.Damage = s.pageDamage(ctx, v, &tree, high)
	done()
	if err := v.fillNodes(ctx, id, tree.Nodes); err != nil {
		return tree, fmt.Errorf("read tree of session %s: %w", id, err)
	}
	for i := range tree.Nodes {
		if gap, ok := outline.faults[tree.Nodes[i].At]; ok && tree.Nodes[i].Fault == "" {
			v.setFault(ctx, id, &tree.Nodes[i], &gap)
		}
	}
	return tree, nil
}

// setFault sets the fault of a node.
func (v *View) setFault(ctx context.Context, id firn.ID, node *wire.Node, gap *firn.Gap) {
	d := v.damage(ctx, id, gap)
	d.N = node.N
	node.Fault, node.Lost = d.String(), d.Lost
}

// page adds at most limit entries before number high.
func (b *Outline) page(tree *wire.Tree, limit, high int) {
	high = min(high, b.Tree.Len())
	low := max(high-limit, 0)
	tree.Total, tree.Branches = b.Tree.Len(), b.leaves
	if head := b.Tree.Head(); head >= 0 {
		tree.Head = b.Tree.Node(head).ID
	}
	if low > 0 {
		tree.Cursor = strconv.Itoa(low)
	}
	for n := high - 1; n >= low; n-- {
		tree.Nodes = append(tree.Nodes, b.node(n))
	}
}

// pageDamage lists the unreadable places among the entries of a page, which are those
// before number high.
func (s *Shape) pageDamage(ctx context.Context, v *View, tree *wire.Tree, high int) []wire.Damage {
	from, to := store.Start, store.End
	if n := len(tree.Nodes); n > 0 && tree.Cursor != "" {
		from = tree.Nodes[n-1].At
	}
	if high < s.Tree.Len() {
		to = s.Tree.Node(high).At
	}
	return s.between(ctx, v, from, to)
}

// Outline is a tree with labels, tombstones and the path to the head.
type Outline struct {
	Tree   *firn.Tree
	end    firn.Pos
	Labels map[firn.EntryID]string
	Hidden map[firn.EntryID]bool
	faults map[firn.Pos]firn.Gap
	// path are the indexes of the entries on the path to the head, onPath reports it for
	// each entry.
	path   []int
	onPath []bool
	// current is the compaction in force, -1 if there is none; compacted is the number of
	// path entries that it replaces.
	current   int
	compacted int
	// leaves is the number of branch ends.
	leaves int
}

// draw computes the outline of a shape.
func (r *reading) draw() *Outline {
	b := &Outline{Tree: &r.Tree, end: r.End, Hidden: r.hidden(), faults: r.misplaced()}
	b.Labels = labelsOf(r.labels, b.Hidden)
	b.findPath()
	b.leaves = countLeaves(b.Tree)
	return b
}

// labelsOf returns the latest visible label of each entry.
func labelsOf(given []labeled, hidden map[firn.EntryID]bool) map[firn.EntryID]string {
	labels := make(map[firn.EntryID]string)
	for _, l := range given {
		switch {
		case hidden[l.id]:
		case l.name == "":
			delete(labels, l.target)
		default:
			labels[l.target] = l.name
		}
	}
	return labels
}

// findPath finds the path, the compaction in force and the entries that it replaces.
func (b *Outline) findPath() {
	b.path = b.Tree.Path(b.Tree.Head())
	b.onPath, b.current = make([]bool, b.Tree.Len()), -1
	at := -1
	for i, n := range b.path {
		b.onPath[n] = true
		if node := b.Tree.Node(n); node.Kind == firn.KindCompaction && !b.Hidden[node.ID] {
			b.current, at = n, i
		}
	}
	if b.current < 0 {
		return
	}
	kept := b.Tree.Node(b.current).Target
	b.compacted = at
	for i := at; i >= 0; i-- {
		if b.Tree.Node(b.path[i]).ID == kept {
			b.compacted = i
			break
		}
	}
}

// isCompacted reports whether an entry of the path is replaced by a summary.
func (b *Outline) isCompacted(n int) bool {
	return b.onPath[n] && b.compacted > 0 && n < b.path[b.compacted]
}

// countLeaves counts the branch ends. Head entries are not branch ends.
func countLeaves(tree *firn.Tree) int {
	followed := make([]bool, tree.Len())
	for n := tree.Len() - 1; n >= 0; n-- {
		node := tree.Node(n)
		// A head entry at the end of a branch does not prevent its parent from being a
		// leaf: it only marks where to continue.
		if node.ParentIndex >= 0 && (node.Kind != firn.KindHead || followed[n]) {
			followed[node.ParentIndex] = true
		}
	}
	leaves := 0
	for n, is := range followed {
		if !is && tree.Node(n).Kind != firn.KindHead {
			leaves++
		}
	}
	return leaves
}

// fillNodes decodes the entries of a page, which is newest first.
func (v *View) fillNodes(ctx context.Context, id firn.ID, nodes []wire.Node) error {
	n := len(nodes) - 1
	if n < 0 {
		return nil
	}
	for rec, err := range v.Store.Read(ctx, id, nodes[n].At) {
		if err != nil {
			return err
		}
		if !IsNode(&rec) {
			continue
		}
		if rec.At != nodes[n].At {
			return fmt.Errorf("the session changed while it was read: %w", firn.ErrReplaced)
		}
		fill(&nodes[n], &rec)
		if gap := faultOf(&rec); gap != nil && isReported(gap) {
			v.setFault(ctx, id, &nodes[n], gap)
		}
		if n--; n < 0 {
			return nil
		}
	}
	return errors.Join(ctx.Err(), fmt.Errorf("the session shrank while it was read: %w", firn.ErrReplaced))
}

// node returns the node of an entry, as far as the shape has it.
func (b *Outline) node(n int) wire.Node {
	from := b.Tree.Node(n)
	node := wire.Node{
		ID: from.ID, N: n + 1, At: from.At, Kind: from.Kind, Label: b.Labels[from.ID],
		OnPath: b.onPath[n], Compacted: b.isCompacted(n), Hidden: b.Hidden[from.ID],
	}
	if from.ParentIndex >= 0 {
		node.Parent, node.ParentN = b.Tree.Node(from.ParentIndex).ID, from.ParentIndex+1
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

// fill adds the fields that require decoding.
func fill(node *wire.Node, rec *firn.Record) {
	e, err := rec.Entry()
	if err != nil {
		return // reported as damage
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
