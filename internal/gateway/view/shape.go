package view

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/store"
)

// mostShaped is the maximum number of bytes read for a shape. Of a longer session only the
// end is read where that is sufficient.
const mostShaped = 256 << 20

// Shape is the structure of a session without content: the positions of the entries, their
// parents and their weights. A session is read once; later calls read only new entries. A
// shape can be discarded at any time.
type Shape struct {
	id firn.ID
	// mu is held for reading while the shape is in use.
	mu sync.RWMutex
	reading

	// deduced guards data derived from the reading, which is computed on demand.
	deduced sync.Mutex
	drawn   *Outline
	seen    Glimpse
}

// reading is the part of a session read so far.
type reading struct {
	// from is where reading began, End where it stopped, last the entry there. base is the
	// number of entries before from, -1 if unknown.
	from, End firn.Pos
	last      firn.EntryID
	base      int
	Tree      firn.Tree
	// entries has one element per node of the tree.
	entries []weighed
	labels  []labeled
	// gaps are the unreadable places, oldest first.
	gaps []firn.Gap
	// used is the total usage of the session.
	used agent.Counters
	// compactions and stones are the indexes of compactions and tombstones. choosing is the
	// number of entries that change settings, oddities that of entries with other distant
	// effects: system prompts and pruning marks.
	compactions, stones []int
	choosing, oddities  int
	// size is the approximate memory in bytes.
	size int64
	// complete is set if the session was read to its end, even if nothing in it was
	// readable.
	complete bool
}

// labeled is a label of an entry.
type labeled struct {
	id, target firn.EntryID
	name       string
}

// Shape returns the current shape of a whole session. It is valid until done is called;
// before that, no function that uses the shape may be called. Weights may be missing. A
// shape that is too large for the cache is read each time.
func (v *View) Shape(ctx context.Context, id firn.ID) (s *Shape, done func(), err error) {
	return (shaper{v}).wholeShape(ctx, id, false)
}

// shaper reads shapes of sessions, and keeps those that are used.
type shaper struct{ *View }

// weighedShape is like Shape but includes weights, unless the session is very long.
func (v shaper) weighedShape(ctx context.Context, id firn.ID) (s *Shape, done func(), err error) {
	return v.wholeShape(ctx, id, true)
}

func (v shaper) wholeShape(ctx context.Context, id firn.ID, weights bool) (s *Shape, done func(), err error) {
	s, done, err = v.acquireShape(ctx, v.cache.shape(id, true), weights)
	if err != nil || s.from == store.Start {
		return s, done, err
	}
	done()
	s = &Shape{id: id}
	if err = s.read(ctx, v.View, false); err != nil {
		return nil, nil, fmt.Errorf("read structure of session %s: %w", id, err)
	}
	return s, func() {}, nil
}

// shapeOfEnd is like weighedShape, but of a very long session it has only the end.
func (v shaper) shapeOfEnd(ctx context.Context, id firn.ID) (s *Shape, done func(), err error) {
	return v.acquireShape(ctx, v.cache.shape(id, true), true)
}

// knownShape returns the shape of a session if it is cached, else nil.
func (v shaper) knownShape(ctx context.Context, id firn.ID) (s *Shape, done func(), err error) {
	if s = v.cache.shape(id, false); s == nil {
		return nil, nil, nil
	}
	if s, done, err = v.acquireShape(ctx, s, false); err == nil && s.from > store.Start {
		done()
		return nil, nil, nil
	}
	return s, done, err
}

// knownLong reports whether a session is known to have more than mostAtOnce entries.
func (v shaper) knownLong(id firn.ID) bool {
	s := v.cache.shape(id, false)
	if s == nil {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.Tree.Len() > mostAtOnce
}

// weighed reports whether the weights are known.
func (r *reading) weighed() bool { return len(r.entries) == r.Tree.Len() }

// acquireShape brings a shape up to date and locks it for reading.
func (v shaper) acquireShape(ctx context.Context, s *Shape, weights bool) (*Shape, func(), error) {
	for {
		s.mu.RLock()
		if (s.weighed() || !weights) && s.upToDate(ctx, v.View) {
			return s, s.mu.RUnlock, nil
		}
		s.mu.RUnlock()
		if err := s.catchUp(ctx, v.View, weights); err != nil {
			v.cache.grown(s, v.cache.limit+1) // do not cache it
			return nil, nil, fmt.Errorf("read structure of session %s: %w", s.id, err)
		}
		s.mu.RLock()
		v.cache.grown(s, s.size)
		if s.complete {
			return s, s.mu.RUnlock, nil
		}
		s.mu.RUnlock() // another goroutine started to read it again and failed
	}
}

// upToDate reports whether the session still ends at the same position with the same entry.
func (s *Shape) upToDate(ctx context.Context, v *View) bool {
	if s.last == "" {
		return false
	}
	for rec, err := range v.Store.ReadBack(ctx, s.id, store.End) {
		return err == nil && rec.Next == s.End && (!IsNode(&rec) || rec.Glance.ID == s.last)
	}
	return false
}

// catchUp reads the entries appended since the last time, or all if the session was
// replaced.
func (s *Shape) catchUp(ctx context.Context, v *View, weights bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawn = nil
	if !s.unchanged(ctx, v) {
		s.reading = reading{}
		if err := s.findStart(ctx, v); err != nil {
			return err
		}
	}
	if weights && !s.weighed() {
		if err := s.weighAll(ctx, v); err != nil {
			return err
		}
	}
	s.complete = false
	if err := s.read(ctx, v, weights); err != nil {
		return err
	}
	s.complete = true
	return nil
}

// unchanged reports whether the last entry read is still there.
func (s *Shape) unchanged(ctx context.Context, v *View) bool {
	if s.last == "" {
		return false
	}
	for rec, err := range v.Store.ReadBack(ctx, s.id, s.End) {
		if err == nil && rec.Gap == nil && IsNode(&rec) {
			return rec.Glance.ID == s.last
		}
		if err != nil || rec.Gap == nil {
			break
		}
	}
	return false
}

// findStart finds where to start reading: near the end for a very long session.
func (s *Shape) findStart(ctx context.Context, v *View) error {
	size := int64(0)
	if info, err := v.Info(ctx, s.id); err == nil && info.Bytes <= mostShaped {
		return nil
	}
	for rec, err := range v.Store.ReadBack(ctx, s.id, store.End) {
		if err != nil {
			return err
		}
		if size += int64(len(rec.Line())); size > mostShaped {
			s.from, s.End = rec.Next, rec.Next
			break
		}
	}
	n, known, err := v.numbers.before(ctx, v.Store, s.id, s.from)
	if s.base = n; !known {
		s.base = -1
	}
	return err
}

// read reads to the end of the session. Without weights it decodes almost nothing.
func (s *Shape) read(ctx context.Context, v *View, weights bool) error {
	return s.readFrom(v.Store.Read(ctx, s.id, s.End), weights)
}

// readFrom reads all records.
func (s *Shape) readFrom(records iter.Seq2[firn.Record, error], weights bool) error {
	for rec, err := range records {
		if err != nil {
			return err
		}
		s.End = rec.Next
		if rec.Gap != nil {
			s.addGap(rec.Gap)
		}
		if !IsNode(&rec) {
			continue
		}
		if s.add(&rec); weights {
			s.weigh(&rec)
		}
	}
	return nil
}

// weighAll computes missing weights.
func (s *Shape) weighAll(ctx context.Context, v *View) error {
	for rec, err := range v.Store.Read(ctx, s.id, s.Tree.Node(len(s.entries)).At) {
		if err != nil {
			return err
		}
		if IsNode(&rec) {
			s.weigh(&rec)
		}
		if s.weighed() {
			return nil
		}
	}
	return fmt.Errorf("the session shrank while it was read: %w", firn.ErrReplaced)
}

const (
	// inTree is the approximate size of an entry in the tree without its strings, perWeight
	// that of its weight, in bytes.
	inTree    = 88 + 48
	perWeight = 64
)

// add adds the next entry.
func (s *Shape) add(rec *firn.Record) {
	glance := rec.Glance
	if up := s.Tree.Find(glance.Parent); up >= 0 {
		glance.Parent = s.Tree.Node(up).ID // share the string
	}
	n := s.Tree.Add(rec.At, glance)
	s.last = glance.ID
	s.size += inTree + int64(len(glance.ID)+len(glance.Target))
	switch glance.Kind {
	case firn.KindTombstone:
		s.stones = append(s.stones, n)
	case firn.KindCompaction:
		s.compactions = append(s.compactions, n)
	case firn.KindLabel:
		entry, err := rec.Entry()
		if l, ok := entry.Body.(*firn.Label); ok && err == nil {
			s.labels = append(s.labels, labeled{entry.ID, l.Target, l.Name})
			s.size += int64(len(l.Name))
		}
	}
}

// weigh adds the weight of the next entry and records its effects on others. An unreadable
// entry weighs nothing.
func (s *Shape) weigh(rec *firn.Record) {
	var w weighed
	if e, err := rec.Entry(); err == nil {
		w = weigh(&e)
		s.used.Add(e)
		s.note(&e)
	}
	if w.chooses != choosesNothing {
		s.choosing++
	}
	s.entries = append(s.entries, w)
	s.size += perWeight + w.size()
}

// pruneType is the type of the entries in which package agent stores up to where results
// are shortened.
const pruneType = "firn.prune"

// note records the effects of an entry on others.
func (s *Shape) note(e *firn.Entry) {
	switch b := e.Body.(type) {
	case *firn.Message:
		if b.Role == firn.RoleSystem {
			s.oddities++
		}
	case *firn.Custom:
		switch b.Type {
		case pruneType:
			s.oddities++
		case firn.CountersType:
			var c agent.Counters
			if _, believed := store.CountsOf(b); believed && json.Unmarshal(b.Data, &c) == nil {
				s.used = c
			}
		}
	}
}

// hidden returns the IDs hidden by tombstones, like [firn.Tree.Hidden].
func (r *reading) hidden() map[firn.EntryID]bool {
	hidden := make(map[firn.EntryID]bool)
	for i := len(r.stones) - 1; i >= 0; i-- {
		if node := r.Tree.Node(r.stones[i]); !hidden[node.ID] {
			hidden[node.Target] = true
		}
	}
	return hidden
}

// at returns the index of the entry at a position, or -1.
func (r *reading) at(pos firn.Pos) int {
	low, high := 0, r.Tree.Len()
	for low < high {
		if mid := (low + high) / 2; r.Tree.Node(mid).At < pos {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low < r.Tree.Len() && r.Tree.Node(low).At == pos {
		return low
	}
	return -1
}

// outline returns the outline of the shape.
func (s *Shape) outline() *Outline {
	s.deduced.Lock()
	defer s.deduced.Unlock()
	if s.drawn == nil {
		s.drawn = s.draw()
	}
	return s.drawn
}

// OwnOutline reads the outline of a session for a caller that keeps it. It calls see with
// each entry of the tree, in order.
func (v *View) OwnOutline(ctx context.Context, id firn.ID, see func(*firn.Record)) (*Outline, error) {
	s := &Shape{id: id}
	records := tap(v.Store.Read(ctx, id, store.Start), func(rec *firn.Record) {
		if IsNode(rec) {
			see(rec)
		}
	})
	if err := s.readFrom(records, false); err != nil {
		return nil, fmt.Errorf("read structure of session %s: %w", id, err)
	}
	return s.draw(), nil
}

// Hiders returns the tombstones in effect that hide an entry.
func (r *reading) Hiders(target firn.EntryID) []firn.EntryID {
	hidden := r.hidden()
	var stones []firn.EntryID
	for _, n := range r.stones {
		if node := r.Tree.Node(n); node.Target == target && !hidden[node.ID] {
			stones = append(stones, node.ID)
		}
	}
	return stones
}
