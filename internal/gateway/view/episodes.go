package view

import (
	"slices"

	"firn.dev/wire"
)

// turns returns the turns of the branch that ends at a node, oldest first. fixed is the constant part of
// every window. A turn begins with a user message; entries before the first one belong to
// the first turn.
func (r *reading) turns(fixed wire.WindowTotals, end int) []wire.Episode {
	hidden := r.hidden()
	path := r.Tree.Path(end)
	t := &turnBuilder{reading: r, window: fixed, path: path, kept: make([]weight, 0, len(path))}
	for i, n := range path {
		t.kept = append(t.kept, t.total)
		if !hidden[r.Tree.Node(n).ID] {
			t.entry(i, n)
		}
	}
	if k := len(t.turns); k > 0 && t.current != nil {
		t.current.Current = true
	}
	return t.turns
}

// turnBuilder builds the turns of a branch.
type turnBuilder struct {
	*reading
	path  []int
	turns []wire.Episode
	// window is the current size of the window.
	window wire.WindowTotals
	// total is the number of tokens so far. kept has the totals before each entry of the
	// path, from which the remainder after a compaction is computed.
	total weight
	kept  []weight
	// current is the latest compaction; lead is the first entry before any turn.
	current *wire.Compaction
	lead    int
	led     bool
}

// weight is a number of tokens by kind.
type weight struct{ talk, tools int64 }

// entry adds the next entry of the branch, which is at index place of the path.
func (t *turnBuilder) entry(place, n int) {
	w := &t.entries[n]
	if !t.led {
		t.lead, t.led = n, true
	}
	if w.part == partUser || len(t.turns) == 0 && w.sent {
		t.startTurn(n, w)
	}
	switch {
	case w.compaction != nil:
		t.compacted(place, n)
	case w.part == partTool:
		t.total.tools += w.tokens
		t.window.Tools += w.tokens
	case w.sent:
		t.total.talk += w.tokens
		t.window.Kept += w.tokens
	}
	if k := len(t.turns); k > 0 {
		t.add(&t.turns[k-1], n, w)
	}
}

// startTurn starts a turn.
func (t *turnBuilder) startTurn(n int, w *weighed) {
	first := n
	if len(t.turns) == 0 {
		first = t.lead
	}
	e := wire.Episode{Turn: len(t.turns) + 1, First: t.Tree.Node(first).ID, Time: w.at(), Preview: w.preview}
	if t.base >= 0 {
		e.N = t.base + first + 1
	}
	t.turns = append(t.turns, e)
}

// add adds an entry to its turn.
func (t *turnBuilder) add(e *wire.Episode, n int, w *weighed) {
	e.Last, e.Window = t.Tree.Node(n).ID, t.window
	e.Calls += int(w.calls)
	if w.used != nil {
		addCounters(&e.Usage, *w.used)
	}
	if w.sent {
		e.Own += w.tokens
	}
	if w.compaction != nil {
		e.Compactions = append(e.Compactions, *w.compaction)
		t.current = &e.Compactions[len(e.Compactions)-1]
	}
}

// compacted sets the window after a compaction: the summary and the entries from the first
// kept one.
func (t *turnBuilder) compacted(place, n int) {
	before, kept := t.total, t.Tree.Node(n).Target
	if up := t.Tree.Find(kept); up >= 0 && kept != t.Tree.Node(n).ID {
		if i, ok := slices.BinarySearch(t.path[:place], up); ok {
			before = t.kept[i]
		}
	}
	t.window.Summary = t.entries[n].tokens
	t.window.Kept, t.window.Tools = t.total.talk-before.talk, t.total.tools-before.tools
}

// merge combines adjacent turns so that there are at most most.
func merge(turns []wire.Episode, most int) (step int, merged []wire.Episode) {
	if len(turns) <= most {
		return 1, append([]wire.Episode{}, turns...)
	}
	step = (len(turns) + most - 1) / most
	merged = make([]wire.Episode, 0, most)
	for i, e := range turns {
		if i%step == 0 {
			merged = append(merged, e)
			continue
		}
		into := &merged[len(merged)-1]
		into.Last, into.Window = e.Last, e.Window
		into.Own += e.Own
		into.Calls += e.Calls
		addCounters(&into.Usage, e.Usage)
		into.Compactions = append(into.Compactions, e.Compactions...)
	}
	return step, merged
}
