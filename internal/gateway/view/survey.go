package view

import (
	"context"
	"maps"
	"slices"
	"sync"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

const (
	// mostSurveyed and mostSurveyedBytes limit how far after a page a survey reads if the
	// shape of the session does not fit into memory.
	mostSurveyed      = 50_000
	mostSurveyedBytes = 64 << 20
	// smallSession is the size up to which a session is read completely for a page.
	smallSession = 1 << 20
)

// survey collects the information about a page that is in later entries: the head's branch,
// the compaction in force, labels and tombstones. It is read from the end down to the page,
// so the cost of the first page does not depend on the length of the session.
type survey struct {
	// branch is the state of the walk along the head's branch.
	branch walkStart
	// hidden and labels are those found so far.
	hidden map[firn.EntryID]bool
	labels map[firn.EntryID]string
	// compacted is set if older entries are compacted; until is the first kept entry.
	compacted bool
	until     firn.EntryID
	// found has the findings by position; nodes are the positions of all entries, newest
	// first.
	found map[firn.Pos]finding
	nodes []firn.Pos
	// end is the end of the session when the survey began, low the position read down to.
	end, low firn.Pos
}

// surveys caches surveys, so that scrolling back continues from the previous one. They can
// be discarded at any time.
type surveys struct {
	mu   sync.Mutex
	kept map[firn.ID]*survey
}

const (
	// mostSurveys is the maximum number of cached surveys, mostFindings that of entries in
	// each.
	mostSurveys  = 64
	mostFindings = 2000
)

// resume returns a survey that continues an earlier one of the same session, if that one
// covers the entries before high; otherwise a new one.
func (c *surveys) resume(id firn.ID, end, high firn.Pos) *survey {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.kept[id]
	if old == nil || old.end != end || !old.covers(high) {
		return &survey{branch: fromHead(), hidden: make(map[firn.EntryID]bool), labels: make(map[firn.EntryID]string), found: make(map[firn.Pos]finding), end: end, low: store.End}
	}
	return old.clone()
}

// covers reports whether the findings before a position are still held, or not yet read.
func (s *survey) covers(high firn.Pos) bool {
	return high <= s.low || len(s.nodes) > 0 && s.nodes[0] >= high
}

// keep caches a survey, limited to the findings that the next pages may need.
func (c *surveys) keep(id firn.ID, s *survey) {
	if more := len(s.nodes) - mostFindings; more > 0 {
		for _, at := range s.nodes[:more] {
			delete(s.found, at)
		}
		s.nodes = slices.Clone(s.nodes[more:])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= mostSurveys && c.kept[id] == nil {
		c.kept = make(map[firn.ID]*survey)
	}
	c.kept[id] = s
}

// forget drops the survey of a session.
func (c *surveys) forget(id firn.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kept, id)
}

// finding is the information about one entry.
type finding struct {
	out    string
	hidden bool
	label  string
	// number is the entry number; zero if unknown.
	number int
}

// survey reads from the end down to low, or until most entries or mostBytes are read,
// continuing the cached survey if the session has not changed. The page has entries between
// low and high.
func (v *View) survey(ctx context.Context, id firn.ID, low, high firn.Pos, most, mostBytes int) (*survey, error) {
	end, _, err := v.Reaches(ctx, id, "", 1)
	if err != nil {
		return nil, err
	}
	s := v.surveys.resume(id, end, high)
	if s.low <= low {
		return s, nil
	}
	read, size := 0, 0
	for rec, err := range v.Store.ReadBack(ctx, id, s.low) {
		if err != nil {
			return nil, err
		}
		if read, size = read+1, size+len(rec.Line()); rec.At < low || read > most || size > mostBytes {
			break
		}
		s.low = rec.At
		if IsNode(&rec) {
			s.visit(&rec)
		}
	}
	v.surveys.keep(id, s.clone())
	return s, nil
}

// clone returns an independent copy.
func (s *survey) clone() *survey {
	c := *s
	c.hidden, c.labels, c.found, c.nodes = maps.Clone(s.hidden), maps.Clone(s.labels), maps.Clone(s.found), slices.Clone(s.nodes)
	return &c
}

// visit adds the next older entry.
func (s *survey) visit(rec *firn.Record) {
	glance := &rec.Glance
	on := !s.branch.atRoot() && (s.branch.loose || glance.ID == s.branch.want)
	f := finding{hidden: s.hidden[glance.ID], label: s.labels[glance.ID]}
	switch {
	case f.hidden:
		f.out = string(window.Tombstoned)
	case glance.Kind == firn.KindErased:
		f.out = string(window.Erased)
	case !on:
		f.out = string(window.OtherBranch)
	case s.compacted:
		f.out = string(window.Compacted)
	}
	s.found[rec.At] = f
	s.nodes = append(s.nodes, rec.At)
	if on {
		s.advance(rec, f.hidden)
	}
	s.mark(rec, f.hidden)
}

// advance continues the walk with the parent of an entry.
func (s *survey) advance(rec *firn.Record, hidden bool) {
	s.branch = fromParent(rec)
	id := rec.Glance.ID
	if s.until != "" && id == s.until {
		s.compacted = true
	}
	if rec.Glance.Kind == firn.KindCompaction && !hidden && s.until == "" && !s.compacted {
		s.until = rec.Glance.Target
		s.compacted = s.until == "" || s.until == id
	}
}

// mark records tombstones and labels.
func (s *survey) mark(rec *firn.Record, hidden bool) {
	target := rec.Glance.Target
	switch {
	case hidden:
	case rec.Glance.Kind == firn.KindTombstone:
		s.hidden[target] = true
	case rec.Glance.Kind == firn.KindLabel:
		if _, later := s.labels[target]; later {
			return
		}
		if e, err := rec.Entry(); err == nil {
			if l, ok := e.Body.(*firn.Label); ok {
				s.labels[target] = l.Name
			}
		}
	}
}

// explain sets the reasons why entries of a page are not in the window, their labels, and
// whether they are hidden. It sets their numbers if that is cheap.
func (r *entryReader) explain(ctx context.Context) error {
	if len(r.page.Items) == 0 || r.q.View == wire.ViewWindow {
		return nil
	}
	low, high := r.page.Items[0].At, r.page.Items[0].At
	for i := range r.page.Items {
		low, high = min(low, r.page.Items[i].At), max(high, r.page.Items[i].At)
	}
	find, err := r.findings(ctx, low, high)
	if err != nil {
		return err
	}
	words, err := r.exact(ctx, low)
	if err != nil {
		return err
	}
	for i := range r.page.Items {
		e := &r.page.Items[i]
		f := find(e.At)
		if word, ok := words[e.At]; ok && f.out == "" {
			f.out = word
		}
		e.Out, e.N = f.out, f.number
		if e.Card == nil {
			continue
		}
		e.Card.Label, e.Card.Hidden = f.label, f.hidden
		if e.Card.Role == "assistant" && e.Out == "" && (e.Card.Stop == string(firn.StopError) || e.Card.Stop == string(firn.StopAborted)) {
			e.Out = string(window.Hidden) // incomplete answers are not sent again
		}
		if c := e.Card.Compaction; c != nil {
			c.Undone = f.hidden
		}
	}
	return nil
}

// findings returns a function with the findings for a page. It uses the shape of the
// session if that is cached, else a survey, unless the page is far from the end.
func (r *entryReader) findings(ctx context.Context, low, high firn.Pos) (func(firn.Pos) finding, error) {
	shape, done, err := (shaper{r.v}).knownShape(ctx, r.id)
	if err != nil {
		return nil, err
	}
	if shape != nil {
		defer done()
		return r.outlined(shape.outline(), shape), nil
	}
	s, err := r.v.survey(ctx, r.id, low, high, mostAtOnce, mostAtOnceBytes)
	if err != nil {
		return nil, err
	}
	if s.low > low { // the page is far from the end
		if info, err := r.v.Info(ctx, r.id); err == nil && info.Bytes <= mostShaped {
			shape, done, err := r.v.Shape(ctx, r.id)
			if err != nil {
				return nil, err
			}
			defer done()
			return r.outlined(shape.outline(), shape), nil
		}
		if s, err = r.v.survey(ctx, r.id, low, high, mostSurveyed, mostSurveyedBytes); err != nil {
			return nil, err
		}
	}
	return r.surveyed(ctx, s, low)
}

// outlined returns the findings of an outline for the entries of a page.
func (r *entryReader) outlined(b *Outline, s *Shape) func(firn.Pos) finding {
	found := make(map[firn.Pos]finding, len(r.page.Items))
	for i := range r.page.Items {
		at := r.page.Items[i].At
		found[at] = b.finding(s.at(at))
	}
	return func(at firn.Pos) finding { return found[at] }
}

// surveyed returns the findings of a survey for the entries of a page.
func (r *entryReader) surveyed(ctx context.Context, s *survey, low firn.Pos) (func(firn.Pos) finding, error) {
	numbers, err := r.numbers(ctx, s, low)
	if err != nil {
		return nil, err
	}
	return func(at firn.Pos) finding {
		f, known := s.found[at]
		if !known && s.compacted && r.q.View == wire.ViewBranch {
			f.out = string(window.Compacted)
		}
		f.number = numbers[at]
		return f
	}, nil
}

// finding returns the information about entry n; empty if n is negative.
func (b *Outline) finding(n int) finding {
	if n < 0 {
		return finding{}
	}
	node := b.Tree.Node(n)
	f := finding{hidden: b.Hidden[node.ID], label: b.Labels[node.ID], number: n + 1}
	switch {
	case f.hidden:
		f.out = string(window.Tombstoned)
	case node.Kind == firn.KindErased:
		f.out = string(window.Erased)
	case !b.onPath[n]:
		f.out = string(window.OtherBranch)
	case b.isCompacted(n):
		f.out = string(window.Compacted)
	}
	return f
}

// exact returns the exact reasons why entries are not sent, for a session small enough to
// build its window.
func (r *entryReader) exact(ctx context.Context, low firn.Pos) (map[firn.Pos]string, error) {
	end := low
	for i := range r.page.Items {
		end = max(end, r.page.Items[i].Next)
	}
	if end > smallSession {
		return nil, nil
	}
	for rec, err := range r.v.Store.ReadBack(ctx, r.id, store.End) {
		if err != nil {
			return nil, err
		}
		if rec.Next > smallSession {
			return nil, nil
		}
		break
	}
	l, err := r.v.live(ctx, r.id)
	if err != nil {
		return nil, err
	}
	if foreignAnswer(l.path) != nil {
		return nil, nil // the next window says nothing about those of another program
	}
	words := make(map[firn.Pos]string, len(l.branch))
	for i, n := range l.branch {
		words[l.nodes[n].at] = string(l.why[i])
	}
	return words, nil
}

// numbers returns the entry numbers from a position on, if a nearby number is known.
func (r *entryReader) numbers(ctx context.Context, s *survey, low firn.Pos) (map[firn.Pos]int, error) {
	if s.low > low || low-r.v.numbers.nearest(r.id, low).at > smallSession {
		return nil, nil
	}
	n, known, err := r.v.numbers.before(ctx, r.v.Store, r.id, low)
	if err != nil || !known {
		return nil, err
	}
	numbers := make(map[firn.Pos]int, len(s.nodes))
	for _, at := range slices.Backward(s.nodes) {
		if at >= low { // an earlier survey may have read further down
			n++
			numbers[at] = n
		}
	}
	return numbers, nil
}
