package view

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// prospect is the part of a session's live part that can be sent to its model, with the
// next request.
type prospect struct {
	agent.Preview
	path window.Path
	// read are the entries that were read, newest first.
	read []node
	// cut is set if the live part is much longer than path: older entries exceed any window
	// of the model. They are omitted for the reason beyond.
	cut    bool
	beyond window.Reason
	// hidden is set if the whole session is hidden and the path does not contain that.
	hidden bool
}

const (
	// mostAtOnce and mostAtOnceBytes limit a live part that is read as a whole. Of a longer
	// one only the end is read if that is sufficient.
	mostAtOnce      = 8192
	mostAtOnceBytes = 8 << 20
	// firstReach is the number of tokens from the end of a long session that are read
	// first, to find its model.
	firstReach = 16_000
)

// errLong stops reading a live part that is too long.
var errLong = errors.New("the live part is long")

// prospect returns the next request to the session's model. Its cost is proportional to the
// request, not to the session, once the shape of a long uncompacted session is known.
func (v *View) prospect(ctx context.Context, id firn.ID) (*prospect, error) {
	if !(shaper{v}).knownLong(id) {
		p := &prospect{}
		err := p.collect(useKnown(ctx, id, readBackBounded(ctx, v.Store, id)))
		if err == nil {
			p.Preview, err = v.nextRequest(ctx, id, p.path)
		}
		if !errors.Is(err, errLong) {
			return p, err
		}
	}
	for reach := int64(firstReach); ; {
		p, err := v.collectTail(ctx, id, reach)
		if err != nil {
			return nil, fmt.Errorf("read session %s: %w", id, err)
		}
		if p.Preview, err = v.nextRequest(ctx, id, p.path); err != nil || !p.cut || p.coversWindow() {
			return p, err
		}
		if room := p.Info.Window + p.Info.Window/8; room > reach {
			reach = room
		} else {
			reach *= 4
		}
	}
}

// collect collects the live part of a session and the positions of its entries.
func (p *prospect) collect(back iter.Seq2[firn.Record, error]) error {
	var err error
	p.path, err = window.Collect(tap(back, func(rec *firn.Record) {
		if IsNode(rec) {
			p.read = append(p.read, node{rec.At, rec.Glance})
		}
	}))
	p.sortRead()
	return err
}

// sortRead sorts the entries read and removes duplicates, which occur in damaged files, and
// the record before the start, which was read too.
func (p *prospect) sortRead() {
	slices.SortFunc(p.read, func(a, b node) int { return -comparePos(a.at, b.at) })
	p.read = slices.CompactFunc(p.read, func(a, b node) bool { return a.at == b.at })
	p.read = slices.DeleteFunc(p.read, func(n node) bool { return n.at < p.path.Start })
}

func comparePos(a, b firn.Pos) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// readBackBounded reads a session backward and fails with errLong if it is too long.
func readBackBounded(ctx context.Context, st store.Store, id firn.ID) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		read, size := 0, 0
		for rec, err := range st.ReadBack(ctx, id, store.End) {
			if read, size = read+1, size+len(rec.Line()); err == nil && (read > mostAtOnce || size > mostAtOnceBytes) {
				yield(firn.Record{}, errLong)
				return
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// collectTail collects the live part of a session: the given number of tokens from its end
// if it is longer and nothing older affects the request.
func (v *View) collectTail(ctx context.Context, id firn.ID, reach int64) (*prospect, error) {
	plain := true
	if a, err := v.Agent(ctx, id); err == nil {
		plain = a.ResultBudget <= 0
	}
	s, done, err := (shaper{v}).weighedShape(ctx, id)
	if err != nil {
		return nil, err
	}
	p := &prospect{hidden: s.hidden()[firn.EntryID(id)]}
	from, ok := s.tailStart(reach)
	done()
	if !ok || !plain {
		return p, p.collect(v.Store.ReadBack(ctx, id, store.End))
	}
	p.cut, p.beyond = true, window.OverBudget
	if err := p.collect(readFromRoots(ctx, v.Store, id, from)); err != nil {
		return nil, err
	}
	p.path.Start = from.at
	p.path.Out = slices.Insert(p.path.Out, 0, window.Omission{Why: window.OverBudget, Count: -1, Before: from.at})
	p.sortRead()
	return p, nil
}

// roots are the first entries of a truncated session.
type roots struct {
	// at is the position of the first entry, a user message.
	at firn.Pos
	// marks are the positions of older entries that change settings, newest first.
	marks []firn.Pos
}

// tailStart finds the start of a turn at the given number of tokens from the end. It
// returns false if the whole live part is needed: it is shorter, it has a compaction, or an
// old entry affects how new ones are sent.
func (r *reading) tailStart(tokens int64) (roots, bool) {
	if r.from > store.Start || !r.weighed() || r.oddities > 0 || len(r.Tree.Gaps()) > 0 {
		return roots{}, false
	}
	hidden := r.hidden()
	for _, n := range r.compactions {
		if !hidden[r.Tree.Node(n).ID] {
			return roots{}, false
		}
	}
	answered := false
	for n := r.Tree.Head(); n >= 0; n = r.Tree.Node(n).ParentIndex {
		w := &r.entries[n]
		if !w.sent || hidden[r.Tree.Node(n).ID] {
			continue
		}
		tokens -= w.tokens
		answered = answered || w.part == partAnswer
		if tokens <= 0 && w.opens && answered && r.Tree.Node(n).ParentIndex >= 0 {
			return roots{at: r.Tree.Node(n).At, marks: r.chosen(n, hidden)}, true
		}
	}
	return roots{}, false
}

// chosen returns the latest entry of each setting before an entry of the path, newest
// first.
func (r *reading) chosen(before int, hidden map[firn.EntryID]bool) []firn.Pos {
	if r.choosing == 0 {
		return nil
	}
	var at []firn.Pos
	var seen [choices]bool
	for n := r.Tree.Node(before).ParentIndex; n >= 0; n = r.Tree.Node(n).ParentIndex {
		c := r.entries[n].chooses
		if c == choosesNothing || seen[c] || hidden[r.Tree.Node(n).ID] {
			continue
		}
		seen[c] = true
		at = append(at, r.Tree.Node(n).At)
	}
	return at
}

// readFromRoots reads a session backward to its roots.
func readFromRoots(ctx context.Context, st store.Store, id firn.ID, from roots) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		older := make([]firn.Record, 0, len(from.marks))
		for _, at := range from.marks {
			rec, err := recordAt(ctx, st, id, at)
			if err != nil {
				yield(firn.Record{}, err)
				return
			}
			older = append(older, rec)
		}
		for rec, err := range st.ReadBack(ctx, id, store.End) {
			if err == nil && rec.At == from.at {
				rec.Glance.Parent, rec.Glance.NoParent = "", false
				if len(older) > 0 {
					rec.Glance.Parent = older[0].Glance.ID
				}
			}
			if !yield(rec, err) {
				return
			}
			if rec.At <= from.at {
				break
			}
		}
		for i := range older {
			rec := older[i]
			rec.Glance.Parent, rec.Glance.NoParent = "", false
			if i+1 < len(older) {
				rec.Glance.Parent = older[i+1].Glance.ID
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// recordAt reads the record at a position. The record stays valid.
func recordAt(ctx context.Context, st store.Store, id firn.ID, at firn.Pos) (firn.Record, error) {
	for rec, err := range st.Read(ctx, id, at) {
		if err != nil {
			return firn.Record{}, err
		}
		if rec.At == at {
			return cloneRecord(&rec), nil
		}
		break
	}
	return firn.Record{}, fmt.Errorf("the session changed while it was read: %w", firn.ErrReplaced)
}

// coversWindow reports whether reading more of the session would not change the request:
// the first turn that was read does not fit, so no earlier one does.
func (p *prospect) coversWindow() bool {
	if p.Model == nil {
		return false
	}
	first := slices.IndexFunc(p.path.Entries, func(e firn.Entry) bool { return e.Body.Kind() == firn.KindMessage })
	if first < 0 {
		return false
	}
	id := p.path.Entries[first].ID
	for i := range p.Fitted.Entries {
		if p.Fitted.Entries[i].ID == id {
			return false
		}
	}
	for _, o := range p.Fitted.Out {
		if o.Why == window.TurnLimit {
			p.beyond = window.TurnLimit
		}
	}
	p.path.Out[0].Why = p.beyond
	return true
}

// Glimpse is the summary of a session's state.
type Glimpse struct {
	head     firn.EntryID
	End      firn.Pos
	state    firn.State
	chosen   firn.State
	provider string
	model    string
	// foreign is set if the model and the usage are those of an answer that another program
	// recorded.
	foreign bool
	// next is the model of the next answer, as provider/model, if foreign is set.
	next       string
	thinking   provider.Thinking
	usage      wire.Usage
	fixed      wire.WindowTotals
	unfinished bool
	// damage lists the faults of the live part.
	damage  []wire.Damage
	breaker compact.Breaker
	// Hidden is set if the session is hidden; it is reliable only if Whole is set.
	Hidden, Whole bool
	// setup is the setup that was used.
	setup *Setup
}

// Glimpse returns the summary of a session's state. For a long session it is cached until
// the session changes.
func (v *View) Glimpse(ctx context.Context, id firn.ID) (Glimpse, error) {
	setup := v.setup.Load()
	if s, done, err := (shaper{v}).knownShape(ctx, id); err == nil && s != nil {
		seen, fresh := s.glimpsed(setup)
		done()
		if fresh {
			return seen, nil
		}
	}
	p, err := v.prospect(ctx, id)
	if err != nil {
		return Glimpse{}, err
	}
	now := Glimpse{
		head: p.path.Head, End: p.path.End, state: p.path.State, chosen: p.path.Chosen, provider: p.Info.Provider, model: p.Info.Name,
		thinking: p.Thinking, usage: usageOf(&p.Preview), fixed: wire.WindowTotals{System: p.Request.Window.Tokens.System, Specs: p.Tools},
		unfinished: agent.Unfinished(p.path), Hidden: p.hidden || p.path.Hides(firn.EntryID(id)), Whole: p.cut || p.path.Start == store.Start, setup: setup,
	}
	now.breaker = compact.BreakerOf(p.path)
	if p.Model == nil {
		now.provider, now.model = p.path.State.Provider, p.path.State.Model
	}
	if m := foreignAnswer(p.path); m != nil && p.Model != nil && (m.Provider != p.Info.Provider || m.Model != p.Info.Name) {
		now.foreign, now.next = true, now.provider+"/"+now.model
		now.provider, now.model, now.usage = m.Provider, m.Model, foreignUsage(setup, m, now.usage)
	}
	if now.damage, err = v.liveDamage(ctx, id, p); err != nil {
		return Glimpse{}, err
	}
	if s := v.cache.shape(id, false); s != nil {
		s.deduced.Lock()
		s.seen = now
		s.deduced.Unlock()
	}
	return now, nil
}

// glimpsed returns the cached summary and whether it is current.
func (s *Shape) glimpsed(setup *Setup) (Glimpse, bool) {
	s.deduced.Lock()
	defer s.deduced.Unlock()
	return s.seen, s.seen.setup == setup && s.seen.End == s.End
}
