package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// live is the live part of a session with the places of its entries, and what
// its model would be sent of it.
type live struct {
	*prospect
	// nodes are the entries that were read, in the order of the file; base is
	// how many stand before them, -1 if that is not known.
	nodes []node
	base  int
	// branch are the numbers in nodes of those that lead to the head, oldest
	// first, and why what says of each why it is not sent: empty if it is.
	branch []int
	why    []window.Why
}

// node is an entry that was read.
type node struct {
	at     firn.Pos
	glance firn.Glance
}

// live reads the live part of a session with all that can be told of it.
func (v *View) live(ctx context.Context, id firn.ID) (*live, error) {
	p, err := v.prospect(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", id, err)
	}
	l := &live{prospect: p, nodes: slices.Clone(p.read)}
	slices.Reverse(l.nodes)
	n, known, err := v.numbers.before(ctx, v.Store, id, p.path.Start)
	if err != nil {
		return nil, fmt.Errorf("count the entries of session %s: %w", id, err)
	}
	if l.base = n; !known {
		l.base = -1
	}
	l.walk()
	l.explain()
	return l, nil
}

// tap shows records to look as they pass.
func tap(records iter.Seq2[firn.Record, error], look func(*firn.Record)) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		for rec, err := range records {
			if err == nil {
				look(&rec)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// outlook is what the model of a session would be asked next. Where there is no
// such agent, or it has no model, it is an estimate for a model that nobody
// knows: a session must be seen whoever it belonged to.
func (v *View) nextRequest(ctx context.Context, id firn.ID, path window.Path) (agent.Preview, error) {
	var system string
	a, err := v.Agent(ctx, id)
	if err == nil {
		system = a.System
		var p agent.Preview
		if p, err = a.PreviewWith(ctx, id, path, agent.PreviewOptions{Turns: v.Turns(ctx, id)}); err == nil {
			return p, nil
		}
	}
	if !errors.Is(err, firn.ErrNotFound) && !errors.Is(err, firn.ErrInvalid) {
		return agent.Preview{}, err
	}
	w := window.Build(path, window.Options{System: system})
	return agent.Preview{
		Info:   provider.Info{Spec: provider.Spec{Window: provider.AssumedWindow, Assumed: true}},
		Fitted: path, Request: provider.Request{Window: w, Session: id}, Tokens: w.Tokens.Total,
		Thinking: provider.Thinking(path.State.ThinkingLevel), Verbose: path.State.Verbose == "on",
	}, nil
}

// usage is how full the window is.
func (l *live) usage() wire.Usage { return usageOf(&l.Preview) }

func usageOf(p *agent.Preview) wire.Usage {
	return wire.Usage{
		Tokens: p.Tokens, Window: p.Info.Window, Assumed: p.Info.Assumed, Level: string(agent.LevelOf(p.Tokens, p.Info.Window)),
		Estimated: p.Request.Window.Tokens.Estimated,
	}
}

// number is the number of a node in the order of the file; zero if not known.
func (l *live) number(i int) int {
	if l.base < 0 {
		return 0
	}
	return l.base + i + 1
}

// walk finds the branch among the nodes: from the last one, each time to the
// nearest before it with the id of its parent.
func (l *live) walk() {
	places := make(map[firn.EntryID][]int, len(l.nodes))
	for i, n := range l.nodes {
		places[n.glance.ID] = append(places[n.glance.ID], i)
	}
	for i := len(l.nodes) - 1; i >= 0; {
		l.branch = append(l.branch, i)
		glance := &l.nodes[i].glance
		switch {
		case glance.NoParent:
			i--
		case glance.Parent == "":
			i = -1
		default:
			i = parentBefore(places[glance.Parent], i, l.path.Start == store.Start)
		}
	}
	slices.Reverse(l.branch)
}

// parentBefore is the last of some places before a child. If there is none, it
// is the place before the child, as a tree has it, or if not all was read -1.
func parentBefore(places []int, child int, all bool) int {
	n, _ := slices.BinarySearch(places, child)
	if n > 0 {
		return places[n-1]
	}
	if all {
		return child - 1
	}
	return -1
}

// explain finds out why entries of the branch are not sent.
func (l *live) explain() {
	e := explanation{path: &l.path, sent: make(map[firn.EntryID]bool)}
	for _, it := range l.Request.Window.Items {
		for _, id := range it.From {
			e.sent[id] = true
		}
	}
	e.kept, e.fitted = entriesByID(l.path.Entries), entriesByID(l.Fitted.Entries)
	e.runs, e.unread = make(map[firn.EntryID]window.Why), make(map[firn.EntryID]bool)
	for i := range l.path.Gaps {
		g := &l.path.Gaps[i]
		e.unread[g.Entry] = g.Entry != "" && g.Lost() && g.Kind != firn.GapBadText
	}
	order := make(map[firn.EntryID]int, len(l.path.Entries))
	for i := range l.path.Entries {
		order[l.path.Entries[i].ID] = i
	}
	for _, out := range l.Fitted.Out {
		first, ok1 := order[out.First]
		last, ok2 := order[out.Last]
		for i := first; ok1 && ok2 && i <= last; i++ {
			e.runs[l.path.Entries[i].ID] = out.Why
		}
	}
	l.why = make([]window.Why, len(l.branch))
	for i, n := range l.branch {
		l.why[i] = e.why(&l.nodes[n].glance)
	}
}

func entriesByID(entries []firn.Entry) map[firn.EntryID]*firn.Entry {
	m := make(map[firn.EntryID]*firn.Entry, len(entries))
	for i := range entries {
		m[entries[i].ID] = &entries[i]
	}
	return m
}

// explanation is what decides why an entry of a branch is not sent.
type explanation struct {
	path *window.Path
	// sent are the entries in the window, kept those of the live part, fitted
	// those that are left when it was made to fit.
	sent         map[firn.EntryID]bool
	kept, fitted map[firn.EntryID]*firn.Entry
	// runs are the entries that were left out or shortened to make it fit.
	runs map[firn.EntryID]window.Why
	// unread are the entries whose line could not be read.
	unread map[firn.EntryID]bool
}

func (e *explanation) why(glance *firn.Glance) window.Why {
	entry := e.kept[glance.ID]
	switch {
	case e.path.Hides(glance.ID):
		if glance.Kind == firn.KindTombstone { // it was taken back, and was never sent
			return ""
		}
		return window.Tombstoned
	case glance.Kind == firn.KindErased:
		return window.Erased
	case e.sent[glance.ID]:
		if e.runs[glance.ID] == window.Pruned {
			return window.Pruned
		}
		return ""
	case e.unread[glance.ID]:
		return window.Unreadable
	case entry == nil:
		return window.Compacted
	case e.fitted[glance.ID] == nil:
		return cmp.Or(e.runs[glance.ID], window.OverBudget)
	}
	if m, ok := entry.Body.(*firn.Message); ok && m.Role != firn.RoleSystem {
		return window.Hidden
	}
	return "" // nothing of it would ever be sent
}

// outOfReach says why an entry that was not read to build the window is not
// sent.
func reasonUnread(hidden bool, kind firn.Kind) string {
	switch {
	case hidden:
		return string(window.Tombstoned)
	case kind == firn.KindErased:
		return string(window.Erased)
	}
	return string(window.Compacted)
}

// sending lists the places on the branch of what is sent, in that order: the
// summary of the compaction first. What is left out of it has its place too,
// but not what a summary stands for, nor that of which nothing is ever sent.
func (l *live) sending() []int {
	sent := make(map[firn.EntryID]bool)
	for _, it := range l.Request.Window.Items {
		for _, id := range it.From {
			sent[id] = true
		}
	}
	var first, rest []int
	for i, n := range l.branch {
		id := l.nodes[n].glance.ID
		switch {
		case l.path.Compaction != nil && l.path.Compaction.ID == id:
			first = append(first, i)
		case l.why[i] == window.Compacted:
		case sent[id] || l.why[i] != "":
			rest = append(rest, i)
		}
	}
	return append(first, rest...)
}
