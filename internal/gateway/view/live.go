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

// live is the live part of a session with the positions of its entries and the next
// request.
type live struct {
	*prospect
	// nodes are the entries read, in file order; base is the number of entries before them,
	// -1 if unknown.
	nodes []node
	base  int
	// branch are the indexes in nodes of the path to the head, oldest first. why has the
	// reason why each is not sent; empty if it is.
	branch []int
	why    []window.Reason
}

// node is an entry that was read.
type node struct {
	at     firn.Pos
	glance firn.Glance
}

// live reads the live part of a session.
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

// tap calls look for each record that passes.
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

// nextRequest returns the next request to the session's model. If the agent or its model
// does not exist, it is an estimate for an unknown model, so that every session can be
// viewed.
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

// usage returns the usage of the window.
func (l *live) usage() wire.Usage { return usageOf(&l.Preview) }

func usageOf(p *agent.Preview) wire.Usage {
	return wire.Usage{
		Tokens: p.Tokens, Window: p.Info.Window, Assumed: p.Info.Assumed, Level: string(agent.LevelOf(p.Tokens, p.Info.Window)),
		Estimated: p.Request.Window.Tokens.Estimated,
	}
}

// number returns the number of a node in file order; zero if unknown.
func (l *live) number(i int) int {
	if l.base < 0 {
		return 0
	}
	return l.base + i + 1
}

// walk finds the branch among the nodes: from the last one, repeatedly the nearest earlier
// node with the parent's ID.
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

// parentBefore returns the last of the places before a child. If there is none, it returns
// the place before the child, as a tree does, or -1 if not all entries were read.
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

// explain determines why entries of the branch are not sent.
func (l *live) explain() {
	e := explanation{path: &l.path, sent: make(map[firn.EntryID]bool)}
	for _, it := range l.Request.Window.Items {
		for _, id := range it.From {
			e.sent[id] = true
		}
	}
	e.kept, e.fitted = entriesByID(l.path.Entries), entriesByID(l.Fitted.Entries)
	e.runs, e.unread = make(map[firn.EntryID]window.Reason), make(map[firn.EntryID]bool)
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
	l.why = make([]window.Reason, len(l.branch))
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

// explanation holds the data for explaining why an entry is not sent.
type explanation struct {
	path *window.Path
	// sent are the entries in the window, kept those of the live part, fitted those left
	// after fitting it to the budget.
	sent         map[firn.EntryID]bool
	kept, fitted map[firn.EntryID]*firn.Entry
	// runs are the entries that were omitted or shortened to fit.
	runs map[firn.EntryID]window.Reason
	// unread are the entries whose line could not be read.
	unread map[firn.EntryID]bool
}

func (e *explanation) why(glance *firn.Glance) window.Reason {
	entry := e.kept[glance.ID]
	switch {
	case e.path.Hides(glance.ID):
		if glance.Kind == firn.KindTombstone { // it was undone, and is never sent
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
	return "" // such entries are never sent
}

// reasonUnread returns why an entry that was not read to build the window is not sent.
func reasonUnread(hidden bool, kind firn.Kind) string {
	switch {
	case hidden:
		return string(window.Tombstoned)
	case kind == firn.KindErased:
		return string(window.Erased)
	}
	return string(window.Compacted)
}

// sending returns the indexes on the branch of the entries in sending order, the compaction
// summary first. Omitted entries are included, but not compacted ones and those that are
// never sent.
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
