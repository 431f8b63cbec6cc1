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

// prospect is the live part of a session, as far as its model can be sent
// anything of it, and what it would be sent.
type prospect struct {
	agent.Preview
	path window.Path
	// read are the entries that were read for it, newest first.
	read []node
	// cut says that the live part is much longer: what is older than the path has
	// no room in any window of the model. It is left out for the reason beyond.
	cut    bool
	beyond window.Why
	// hidden says that the session as a whole is hidden, if the path does not know.
	hidden bool
}

const (
	// mostAtOnce and mostAtOnceBytes bound a live part that is simply read. Of a
	// longer one only the end is, if that is known to do.
	mostAtOnce      = 8192
	mostAtOnceBytes = 8 << 20
	// firstReach is how many tokens from the end of a long session are looked at
	// first, to learn which model it has.
	firstReach = 16_000
)

// errLong is why reading a live part was given up.
var errLong = errors.New("the live part is long")

// prospect finds out what the model of a session would be sent next. It costs
// about as much as that, not as the session is long, once the shape of a session
// that was not compacted for long is known.
func (v *View) prospect(ctx context.Context, id firn.ID) (*prospect, error) {
	if !v.knownLong(id) {
		p := &prospect{}
		err := p.collect(v.readBackBounded(ctx, id))
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

// collect collects the live part of a session, and the places of its entries.
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

// settle sorts what was read, which was read twice where the file is at fault. The
// record behind which reading stopped was looked at too.
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

// upTo reads a session back, and gives up when that is too much.
func (v *View) readBackBounded(ctx context.Context, id firn.ID) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		read, size := 0, 0
		for rec, err := range v.Store.ReadBack(ctx, id, store.End) {
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

// reaching collects the live part of a session, so many tokens from its end if it
// is longer and nothing older matters for what is sent.
func (v *View) collectTail(ctx context.Context, id firn.ID, reach int64) (*prospect, error) {
	plain := true
	if a, err := v.Agent(ctx, id); err == nil {
		plain = a.ResultBudget <= 0
	}
	s, done, err := v.weighedShape(ctx, id)
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
	if err := p.collect(v.readFromRoots(ctx, id, from)); err != nil {
		return nil, err
	}
	p.path.Start = from.at
	p.path.Out = slices.Insert(p.path.Out, 0, window.Omission{Why: window.OverBudget, Count: -1, Before: from.at})
	p.sortRead()
	return p, nil
}

// roots are where a session is taken to begin.
type roots struct {
	// at is the place of the first entry: something that the user said.
	at firn.Pos
	// marks are the places of older entries that choose something for all that
	// comes, newest first.
	marks []firn.Pos
}

// reach finds an entry so many tokens from the end with which a turn begins. It is
// false if all of the live part is needed: it is not that long, there is a
// compaction, or something old says how what is new is sent.
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
	for n := r.Tree.Head(); n >= 0; n = r.Tree.Node(n).Up {
		w := &r.entries[n]
		if !w.sent || hidden[r.Tree.Node(n).ID] {
			continue
		}
		tokens -= w.tokens
		answered = answered || w.part == partAnswer
		if tokens <= 0 && w.opens && answered && r.Tree.Node(n).Up >= 0 {
			return roots{at: r.Tree.Node(n).At, marks: r.chosen(n, hidden)}, true
		}
	}
	return roots{}, false
}

// chosen are the latest entries of each kind before an entry of the path that
// choose something for what comes, newest first.
func (r *reading) chosen(before int, hidden map[firn.EntryID]bool) []firn.Pos {
	if r.choosing == 0 {
		return nil
	}
	var at []firn.Pos
	var seen [choices]bool
	for n := r.Tree.Node(before).Up; n >= 0; n = r.Tree.Node(n).Up {
		c := r.entries[n].chooses
		if c == choosesNothing || seen[c] || hidden[r.Tree.Node(n).ID] {
			continue
		}
		seen[c] = true
		at = append(at, r.Tree.Node(n).At)
	}
	return at
}

// rooted reads a session back to where it is taken to begin.
func (v *View) readFromRoots(ctx context.Context, id firn.ID, from roots) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		older := make([]firn.Record, 0, len(from.marks))
		for _, at := range from.marks {
			rec, err := v.recordAt(ctx, id, at)
			if err != nil {
				yield(firn.Record{}, err)
				return
			}
			older = append(older, rec)
		}
		for rec, err := range v.Store.ReadBack(ctx, id, store.End) {
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

// recordAt reads the record at a place. It stays valid.
func (v *View) recordAt(ctx context.Context, id firn.ID, at firn.Pos) (firn.Record, error) {
	for rec, err := range v.Store.Read(ctx, id, at) {
		if err != nil {
			return firn.Record{}, err
		}
		if rec.At == at {
			return cloneRecord(&rec), nil
		}
		break
	}
	return firn.Record{}, fmt.Errorf("the session was changed underneath: %w", firn.ErrReplaced)
}

// suffices reports whether more of the session would change nothing of what is
// sent: its model has no room for the first turn that was read, so none for those
// before it.
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

// Glimpse is what is told of a session wherever it is shown.
type Glimpse struct {
	head       firn.EntryID
	End        firn.Pos
	state      firn.State
	chosen     firn.State
	provider   string
	model      string
	thinking   provider.Thinking
	usage      wire.Usage
	fixed      wire.WindowTotals
	unfinished bool
	// damage lists the faults of the live part.
	damage  []wire.Damage
	breaker compact.Breaker
	// Hidden says that the session is hidden; it is sure of that only if whole.
	Hidden, Whole bool
	// setup is what it was told by.
	setup *Setup
}

// Glimpse tells how a session stands. As long as nothing is added to a long one it
// is told from memory.
func (v *View) Glimpse(ctx context.Context, id firn.ID) (Glimpse, error) {
	setup := v.setup.Load()
	if s, done, err := v.knownShape(ctx, id); err == nil && s != nil {
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

// glimpsed is the last glimpse of a session, if it is still what one would see.
func (s *Shape) glimpsed(setup *Setup) (Glimpse, bool) {
	s.deduced.Lock()
	defer s.deduced.Unlock()
	return s.seen, s.seen.setup == setup && s.seen.End == s.End
}
