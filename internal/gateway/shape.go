package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"firn"
	"firn/agent"
	"firn/store"
)

// mostShaped is how many bytes of a session are read for its shape. Of a longer
// one it is the end, where that will do; who needs all of it reads all of it.
const mostShaped = 256 << 20

// shape is what is known of all entries of a session, but for what they say:
// where they stand, which follows which, and what each weighs. It is read once;
// what is added to the session is read when the shape is asked for again. It can
// be thrown away at any time.
type shape struct {
	id firn.ID
	// mu is held for reading by whom it is lent to.
	mu sync.RWMutex
	reading

	// deduced guards what follows from the reading, which is found when somebody
	// asks for it.
	deduced sync.Mutex
	drawn   *outline
	seen    glimpse
}

// reading is how far a session was read.
type reading struct {
	// from is where reading began, end where it got to, with the entry last;
	// base is how many entries stand before from, -1 if that is not known.
	from, end firn.Pos
	last      firn.EntryID
	base      int
	tree      firn.Tree
	// entries has one for each node of the tree.
	entries []weighed
	labels  []labelled
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
}

// labelled is what an entry calls another.
type labelled struct {
	id, target firn.EntryID
	name       string
}

// shape lends the shape of a whole session, as it is now, until done is called.
// Until then nothing that may ask for it again is to be called. What its entries
// weigh need not be known. One that is too long to be kept in memory is read anew
// each time.
func (g *Gateway) shape(ctx context.Context, id firn.ID) (s *shape, done func(), err error) {
	return g.wholeShape(ctx, id, false)
}

// weighedShape is shape that also tells what the entries weigh, unless the session
// is very long.
func (g *Gateway) weighedShape(ctx context.Context, id firn.ID) (s *shape, done func(), err error) {
	return g.wholeShape(ctx, id, true)
}

func (g *Gateway) wholeShape(ctx context.Context, id firn.ID, weights bool) (s *shape, done func(), err error) {
	s, done, err = g.lend(ctx, g.tails.shape(id, true), weights)
	if err != nil || s.from == store.Start {
		return s, done, err
	}
	done()
	s = &shape{id: id}
	if err = s.read(ctx, g, false); err != nil {
		return nil, nil, fmt.Errorf("read the shape of session %s: %w", id, err)
	}
	return s, func() {}, nil
}

// shapeOfEnd is weighedShape that of a very long session tells only the end.
func (g *Gateway) shapeOfEnd(ctx context.Context, id firn.ID) (s *shape, done func(), err error) {
	return g.lend(ctx, g.tails.shape(id, true), true)
}

// knownShape lends the shape of a session if that is in memory; else it is nil.
func (g *Gateway) knownShape(ctx context.Context, id firn.ID) (s *shape, done func(), err error) {
	if s = g.tails.shape(id, false); s == nil {
		return nil, nil, nil
	}
	if s, done, err = g.lend(ctx, s, false); err == nil && s.from > store.Start {
		done()
		return nil, nil, nil
	}
	return s, done, err
}

// knownLong reports whether a session is known to have more entries than are read
// to see how it stands.
func (g *Gateway) knownLong(id firn.ID) bool {
	s := g.tails.shape(id, false)
	if s == nil {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tree.Len() > mostAtOnce
}

// weighed reports whether it is known what the entries weigh.
func (r *reading) weighed() bool { return len(r.entries) == r.tree.Len() }

// lend brings a shape up to date and lends it.
func (g *Gateway) lend(ctx context.Context, s *shape, weights bool) (*shape, func(), error) {
	for {
		s.mu.RLock()
		if (s.weighed() || !weights) && s.current(ctx, g) {
			return s, s.mu.RUnlock, nil
		}
		s.mu.RUnlock()
		if err := s.catchUp(ctx, g, weights); err != nil {
			g.tails.grown(s, g.tails.limit+1) // it is not to be kept
			return nil, nil, fmt.Errorf("read the shape of session %s: %w", s.id, err)
		}
		s.mu.RLock()
		g.tails.grown(s, s.size)
		if s.whole() {
			return s, s.mu.RUnlock, nil
		}
		s.mu.RUnlock() // it was begun anew between
	}
}

// whole reports whether something was read.
func (s *shape) whole() bool { return s.end > store.Start }

// current reports whether the session still ends where reading did, with the
// same entry.
func (s *shape) current(ctx context.Context, g *Gateway) bool {
	if s.last == "" {
		return false
	}
	for rec, err := range g.Store.ReadBack(ctx, s.id, store.End) {
		return err == nil && rec.Next == s.end && (!isNode(&rec) || rec.Glance.ID == s.last)
	}
	return false
}

// catchUp reads what was added since the last time; all of it if the session is
// not the one that was read.
func (s *shape) catchUp(ctx context.Context, g *Gateway, weights bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawn = nil
	if !s.holds(ctx, g) {
		s.reading = reading{}
		if err := s.begin(ctx, g); err != nil {
			return err
		}
	}
	if weights && !s.weighed() {
		if err := s.weighAll(ctx, g); err != nil {
			return err
		}
	}
	return s.read(ctx, g, weights)
}

// holds reports whether what was read last is still there.
func (s *shape) holds(ctx context.Context, g *Gateway) bool {
	if s.last == "" {
		return false
	}
	for rec, err := range g.Store.ReadBack(ctx, s.id, s.end) {
		if err == nil && rec.Gap == nil && isNode(&rec) {
			return rec.Glance.ID == s.last
		}
		if err != nil || rec.Gap == nil {
			break
		}
	}
	return false
}

// begin finds where to begin: of a very long session only the end is read.
func (s *shape) begin(ctx context.Context, g *Gateway) error {
	size := int64(0)
	if info, err := g.info(ctx, s.id); err == nil && info.Bytes <= mostShaped {
		return nil
	}
	for rec, err := range g.Store.ReadBack(ctx, s.id, store.End) {
		if err != nil {
			return err
		}
		if size += int64(len(rec.Line())); size > mostShaped {
			s.from, s.end = rec.Next, rec.Next
			break
		}
	}
	n, known, err := g.numbers.before(ctx, g.Store, s.id, s.from)
	if s.base = n; !known {
		s.base = -1
	}
	return err
}

// read reads on to the end of the session. Without weights hardly anything is
// decoded.
func (s *shape) read(ctx context.Context, g *Gateway, weights bool) error {
	for rec, err := range g.Store.Read(ctx, s.id, s.end) {
		if err != nil {
			return err
		}
		s.end = rec.Next
		if !isNode(&rec) {
			continue
		}
		if s.add(&rec); weights {
			s.weigh(&rec)
		}
	}
	return nil
}

// weighAll weighs what was read without.
func (s *shape) weighAll(ctx context.Context, g *Gateway) error {
	for rec, err := range g.Store.Read(ctx, s.id, s.tree.Node(len(s.entries)).At) {
		if err != nil {
			return err
		}
		if isNode(&rec) {
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
	inTree   = 88 + 48
	inScales = 64
)

// add takes in the next entry.
func (s *shape) add(rec *firn.Record) {
	glance := rec.Glance
	if up := s.tree.Find(glance.Parent); up >= 0 {
		glance.Parent = s.tree.Node(up).ID // one string for both
	}
	n := s.tree.Add(rec.At, glance)
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
func (s *shape) weigh(rec *firn.Record) {
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
	s.size += inScales + w.size()
}

// pruneType is the type of entries in which package agent keeps up to where
// results are shortened.
const pruneType = "firn.prune"

// note notes what an entry says about others.
func (s *shape) note(e *firn.Entry) {
	switch b := e.Body.(type) {
	case *firn.Message:
		if b.Role == firn.RoleSystem {
			s.oddities++
		}
	case *firn.Custom:
		switch b.Type {
		case pruneType:
			s.oddities++
		case countersType:
			var c agent.Counters
			if json.Unmarshal(b.Data, &c) == nil {
				s.used = c
			}
		}
	}
}

// hidden are the ids that tombstones hide, as [firn.Tree.Hidden] has them.
func (r *reading) hidden() map[firn.EntryID]bool {
	hidden := make(map[firn.EntryID]bool)
	for i := len(r.stones) - 1; i >= 0; i-- {
		if node := r.tree.Node(r.stones[i]); !hidden[node.ID] {
			hidden[node.Target] = true
		}
	}
	return hidden
}

// at is the number of the entry at a position; -1 if none begins there.
func (r *reading) at(pos firn.Pos) int {
	low, high := 0, r.tree.Len()
	for low < high {
		if mid := (low + high) / 2; r.tree.Node(mid).At < pos {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low < r.tree.Len() && r.tree.Node(low).At == pos {
		return low
	}
	return -1
}

// outline is what follows from the shape for each of its entries.
func (s *shape) outline() *outline {
	s.deduced.Lock()
	defer s.deduced.Unlock()
	if s.drawn == nil {
		s.drawn = s.draw()
	}
	return s.drawn
}

// ownOutline reads the outline of a session for somebody who needs it for long.
func (g *Gateway) ownOutline(ctx context.Context, id firn.ID) (*outline, error) {
	s := &shape{id: id}
	if err := s.read(ctx, g, false); err != nil {
		return nil, fmt.Errorf("read the shape of session %s: %w", id, err)
	}
	return s.draw(), nil
}
