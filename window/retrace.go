package window

import (
	"fmt"
	"iter"
	"slices"

	"firn.dev"
)

// leg is one entry of a route computed by a tree.
type leg struct {
	// number counts entries from the end of the file.
	number int
	// dangling reports whether the entry's parent does not precede it.
	dangling bool
}

// lost reports whether the start of the file was reached without finding the next entry of
// the path: the parent is missing or follows its child.
func (w *walk) lost() bool {
	return w.begun && !w.stopped && !w.rooted && !w.kept && !w.loose
}

// retrace finds the rest of the path when the walk is lost. It reads the structure of the
// whole file into a tree and continues from the last entry found, on which the tree agrees,
// along the tree's path. No entry is decoded twice.
func (w *walk) retrace(back iter.Seq2[firn.Record, error]) error {
	if err := w.plan(back); err != nil {
		return err
	}
	seen, last := 0, w.last
	w.path.Out, w.path.Gaps, w.run = w.path.Out[:last.outs], w.path.Gaps[:last.gaps], last.run
	w.seen = last.number + 1
	w.proceed(&firn.Record{At: last.at, Next: last.next, Glance: last.glance})
	for rec, err := range w.rereadRecords(back) {
		if err != nil {
			return err
		}
		if seen <= last.number { // already visited
			seen += nodes(&rec)
			continue
		}
		if w.takeRecord(&rec); w.stopped {
			break
		}
	}
	return nil
}

// plan computes the route from the last entry found with a tree of the whole file.
func (w *walk) plan(back iter.Seq2[firn.Record, error]) error {
	var places []firn.Node
	for rec, err := range w.rereadRecords(back) {
		if err != nil {
			return err
		}
		if nodes(&rec) > 0 {
			places = append(places, firn.Node{Glance: rec.Glance, At: rec.At})
		}
	}
	if len(places) != w.seen {
		return fmt.Errorf("collecting the live part of a session: it had %d entries and %d on second reading: %w", w.seen, len(places), firn.ErrReplaced)
	}
	var tree firn.Tree
	for _, p := range slices.Backward(places) {
		tree.Add(p.At, p.Glance)
	}
	w.routed = true
	for n := tree.Len() - 1 - w.last.number; n >= 0; n = tree.Node(n).ParentIndex {
		node := tree.Node(n)
		dangling := node.Parent != "" && !node.NoParent && (node.ParentIndex < 0 || tree.Node(node.ParentIndex).ID != node.Parent)
		w.route = append(w.route, leg{number: tree.Len() - 1 - n, dangling: dangling})
	}
	return nil
}

// proceedRouted is proceed along the planned route.
func (w *walk) proceedRouted(rec *firn.Record) {
	switch {
	case rec.Glance.NoParent:
		w.addGap(firn.GapNoParent, rec, noParent)
	case w.route[0].dangling:
		w.addGap(firn.GapDangling, rec, fmt.Sprintf("its parent %s does not precede it; the previous entry is assumed", rec.Glance.Parent))
	}
	w.route = w.route[1:]
	w.rooted = len(w.route) == 0
}

// rereadRecords yields the records of the first reading, without those appended since.
func (w *walk) rereadRecords(back iter.Seq2[firn.Record, error]) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		for rec, err := range back {
			if err != nil {
				yield(firn.Record{}, fmt.Errorf("collecting the live part of a session: %w", err))
				return
			}
			if rec.Next <= w.end && !yield(rec, nil) {
				return
			}
		}
	}
}

// nodes returns 1 for a record that is an entry of the tree, else 0.
func nodes(rec *firn.Record) int {
	if rec.Gap != nil || rec.Glance.Kind == firn.KindHeader || rec.Glance.ID == "" {
		return 0
	}
	return 1
}
