package view

import (
	"slices"

	"firn.dev/wire"
)

// turns tells the turns of the branch of the head, oldest first. Fixed is what
// every window has. A turn begins where the user speaks; what stands before the
// first one belongs to it.
func (r *reading) turns(fixed wire.WindowTotals) []wire.Episode {
	hidden := r.hidden()
	path := r.Tree.Path(r.Tree.Head())
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

// telling tells the turns of a branch.
type turnBuilder struct {
	*reading
	path  []int
	turns []wire.Episode
	// window is how full it is by now.
	window wire.WindowTotals
	// total is what of each kind was said so far, and kept what of each kind was
	// said before each entry of the path: so a compaction tells what is left.
	total weight
	kept  []weight
	// current is the latest compaction; lead is the first entry before any turn.
	current *wire.Compaction
	lead    int
	led     bool
}

// weight is how much was said, by kind.
type weight struct{ talk, tools int64 }

// entry takes the next entry of the branch, which is at a place on the path.
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

// begin begins a turn.
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

// add adds an entry to the turn that it is of.
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

// compacted makes the window what a compaction left of it: the summary, and what
// was said from the first entry on that it kept.
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

// merge tells several turns as one, so that there are not more than most.
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
