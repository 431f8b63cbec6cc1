package view

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/store"
)

// mostShaped is how many bytes of a session are read for its shape. Of a longer
// one it is the end, where that will do; who needs all of it reads all of it.
const mostShaped = 256 << 20

// Shape is what is known of all entries of a session, but for what they say:
// where they stand, which follows which, and what each weighs. It is read once;
// what is added to the session is read when the shape is asked for again. It can
// be thrown away at any time.
type Shape struct {
	id firn.ID
	// mu is held for reading by whom it is lent to.
	mu sync.RWMutex
	reading

	// deduced guards what follows from the reading, which is found when somebody
	// asks for it.
	deduced sync.Mutex
	drawn   *Outline
	seen    Glimpse
}

// reading is how far a session was read.
type reading struct {
	// from is where reading began, end where it got to, with the entry last;
	// base is how many entries stand before from, -1 if that is not known.
	from, End firn.Pos
	last      firn.EntryID
	base      int
	Tree      firn.Tree
	// entries has one for each node of the tree.
	entries []weighed
	labels  []labelled
	// gaps are the places that could not be read, oldest first.
	gaps []firn.Gap
	// used is what the session used in all.
	used agent.Counters
	// compactions are the numbers of those that there are, stones those of the
	// tombstones. choosing is how many entries choose something for all that
	// comes, oddities how many say something else about others far from them:
	// system prompts, and marks of what is shortened.
	compactions, stones []int
	choosing, oddities  int
	// size is about how many bytes all this takes up.
	size int64
	// complete is set if the session was read to its end, even if nothing in it
	// could be read.
	complete bool
}

// labelled is what an entry calls another.
type labelled struct {
	id, target firn.EntryID
	name       string
}

// Shape lends the shape of a whole session, as it is now, until done is called.
// Until then nothing that may ask for it again is to be called. What its entries
// weigh need not be known. One that is too long to be kept in memory is read anew
// each time.
func (v *View) Shape(ctx context.Context, id firn.ID) (s *Shape, done func(), err error) {
	return v.wholeShape(ctx, id, false)
}

// weighedShape is shape that also tells what the entries weigh, unless the session
// is very long.
func (v *View) weighedShape(ctx context.Context, id firn.ID) (s *Shape, done func(), err error) {
	return v.wholeShape(ctx, id, true)
}

func (v *View) wholeShape(ctx context.Context, id firn.ID, weights bool) (s *Shape, done func(), err error) {
	s, done, err = v.acquireShape(ctx, v.cache.shape(id, true), weights)
	if err != nil || s.from == store.Start {
		return s, done, err
	}
	done()
	s = &Shape{id: id}
	if err = s.read(ctx, v, false); err != nil {
		return nil, nil, fmt.Errorf("read the shape of session %s: %w", id, err)
	}
	return s, func() {}, nil
}

// shapeOfEnd is weighedShape that of a very long session tells only the end.
func (v *View) shapeOfEnd(ctx context.Context, id firn.ID) (s *Shape, done func(), err error) {
	return v.acquireShape(ctx, v.cache.shape(id, true), true)
}

// knownShape lends the shape of a session if that is in memory; else it is nil.
func (v *View) knownShape(ctx context.Context, id firn.ID) (s *Shape, done func(), err error) {
	if s = v.cache.shape(id, false); s == nil {
		return nil, nil, nil
	}
	if s, done, err = v.acquireShape(ctx, s, false); err == nil && s.from > store.Start {
		done()
		return nil, nil, nil
	}
	return s, done, err
}

// knownLong reports whether a session is known to have more entries than are read
// to see how it stands.
func (v *View) knownLong(id firn.ID) bool {
	s := v.cache.shape(id, false)
	if s == nil {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.Tree.Len() > mostAtOnce
}

// weighed reports whether it is known what the entries weigh.
func (r *reading) weighed() bool { return len(r.entries) == r.Tree.Len() }

// lend brings a shape up to date and lends it.
func (v *View) acquireShape(ctx context.Context, s *Shape, weights bool) (*Shape, func(), error) {
	for {
		s.mu.RLock()
		if (s.weighed() || !weights) && s.upToDate(ctx, v) {
			return s, s.mu.RUnlock, nil
		}
		s.mu.RUnlock()
		if err := s.catchUp(ctx, v, weights); err != nil {
			v.cache.grown(s, v.cache.limit+1) // it is not to be kept
			return nil, nil, fmt.Errorf("read the shape of session %s: %w", s.id, err)
		}
		s.mu.RLock()
		v.cache.grown(s, s.size)
		if s.complete {
			return s, s.mu.RUnlock, nil
		}
		s.mu.RUnlock() // somebody else began to read it again, and failed
	}
}

// current reports whether the session still ends where reading did, with the
// same entry.
func (s *Shape) upToDate(ctx context.Context, v *View) bool {
	if s.last == "" {
		return false
	}
	for rec, err := range v.Store.ReadBack(ctx, s.id, store.End) {
		return err == nil && rec.Next == s.End && (!IsNode(&rec) || rec.Glance.ID == s.last)
	}
	return false
}

// catchUp reads what was added since the last time; all of it if the session is
// not the one that was read.
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

// holds reports whether what was read last is still there.
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

// begin finds where to begin: of a very long session only the end is read.
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

// read reads on to the end of the session. Without weights hardly anything is
// decoded.
func (s *Shape) read(ctx context.Context, v *View, weights bool) error {
	for rec, err := range v.Store.Read(ctx, s.id, s.End) {
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

// weighAll weighs what was read without.
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
	return fmt.Errorf("the session became shorter underneath: %w", firn.ErrReplaced)
}

const (
	// inTree is about how many bytes an entry takes up in a tree besides its
	// texts, inScales what it weighs.
	inTree    = 88 + 48
	perWeight = 64
)

// add takes in the next entry.
func (s *Shape) add(rec *firn.Record) {
	glance := rec.Glance
	if up := s.Tree.Find(glance.Parent); up >= 0 {
		glance.Parent = s.Tree.Node(up).ID // one string for both
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
			s.labels = append(s.labels, labelled{entry.ID, l.Target, l.Name})
			s.size += int64(len(l.Name))
		}
	}
}

// weigh tells what counts of the next entry, and notes what it says of others. One
// that cannot be read weighs nothing.
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

// pruneType is the type of entries in which package agent keeps up to where
// results are shortened.
const pruneType = "firn.prune"

// note notes what an entry says about others.
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

// hidden are the ids that tombstones hide, as [firn.Tree.Hidden] has them.
func (r *reading) hidden() map[firn.EntryID]bool {
	hidden := make(map[firn.EntryID]bool)
	for i := len(r.stones) - 1; i >= 0; i-- {
		if node := r.Tree.Node(r.stones[i]); !hidden[node.ID] {
			hidden[node.Target] = true
		}
	}
	return hidden
}

// at is the number of the entry at a position; -1 if none begins there.
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

// outline is what follows from the shape for each of its entries.
func (s *Shape) outline() *Outline {
	s.deduced.Lock()
	defer s.deduced.Unlock()
	if s.drawn == nil {
		s.drawn = s.draw()
	}
	return s.drawn
}

// OwnOutline reads the outline of a session for somebody who needs it for long.
func (v *View) OwnOutline(ctx context.Context, id firn.ID) (*Outline, error) {
	s := &Shape{id: id}
	if err := s.read(ctx, v, false); err != nil {
		return nil, fmt.Errorf("read the shape of session %s: %w", id, err)
	}
	return s.draw(), nil
}

// Hiders are the tombstones that hide an entry: those that are not hidden
// themselves.
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
