package view

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"firn.dev"
	"firn.dev/store"
)

// numbers counts the entries of sessions, so that each can be named by its
// number in the order of the file: the n of #n. It remembers how many there are
// before some places of a session, and so counts each entry once and not with
// every question. It can be thrown away at any time.
type numbers struct {
	mu       sync.Mutex
	sessions map[firn.ID][]milestone
}

// milestone is a place of a session, and how many entries stand before it.
type milestone struct {
	at firn.Pos
	n  int
}

const (
	// milestoneEvery is how many entries there are from one milestone to the next.
	milestoneEvery = 1024
	// mostNumbered bounds of how many sessions milestones are kept.
	mostNumbered = 256
	// mostCountedBytes bounds what is read to answer one question. Milestones are
	// set on the way, so that the next one comes further.
	mostCountedBytes = 8 << 20
	// mostSearched bounds how many bytes are read backwards to find counters that
	// tell how many entries stand before them.
	mostSearched = 4 << 20
)

// IsNode reports whether a record is an entry of the tree, and so has a number.
func IsNode(rec *firn.Record) bool {
	return rec.Gap == nil && rec.Glance.Kind != firn.KindHeader && rec.Glance.ID != ""
}

// before counts the entries before a position. It is false if they are too many
// to be counted at once.
func (c *numbers) before(ctx context.Context, st store.Store, id firn.ID, pos firn.Pos) (int, bool, error) {
	if err := c.seek(ctx, st, id, c.nearest(id, pos).at, pos); err != nil {
		return 0, false, err
	}
	from := c.nearest(id, pos)
	n, size := from.n, 0
	var set []milestone
	defer func() { c.remember(id, set) }()
	for rec, err := range st.Read(ctx, id, from.at) {
		if err != nil {
			return 0, false, err
		}
		if rec.At >= pos {
			break
		}
		if size += len(rec.Line()); size > mostCountedBytes {
			return 0, false, nil
		}
		if !IsNode(&rec) {
			continue
		}
		if n++; n%milestoneEvery == 0 {
			set = append(set, milestone{rec.Next, n})
		}
	}
	return n, true, nil
}

// seek reads back from a position to the nearest counters that tell how many entries
// stand before them, and remembers that, unless a milestone is near already.
func (c *numbers) seek(ctx context.Context, st store.Store, id firn.ID, known, pos firn.Pos) error {
	if pos != store.End && pos-known <= smallSession {
		return nil
	}
	size := 0
	for rec, err := range st.ReadBack(ctx, id, pos) {
		if err != nil {
			return err
		}
		if size += len(rec.Line()); size > mostSearched || rec.At <= known {
			return nil
		}
		if rec.Gap != nil || rec.Glance.Kind != firn.KindCustom {
			continue
		}
		entry, err := rec.Entry()
		if err != nil {
			continue
		}
		if b, ok := entry.Body.(*firn.Custom); ok {
			if n, ok := store.EntriesBefore(b); ok {
				c.remember(id, []milestone{{rec.At, n}})
				return nil
			}
		}
	}
	return nil
}

// entry returns entry number n and n; if there are not so many, nothing and how
// many there are.
func (c *numbers) entry(ctx context.Context, st store.Store, id firn.ID, n int) (firn.EntryID, int, error) {
	from := c.nearestNumber(id, n)
	if n-from.n > milestoneEvery { // it may be near the end
		if err := c.seek(ctx, st, id, from.at, store.End); err != nil {
			return "", 0, err
		}
		from = c.nearestNumber(id, n)
	}
	count := from.n
	var set []milestone
	defer func() { c.remember(id, set) }()
	for rec, err := range st.Read(ctx, id, from.at) {
		if err != nil {
			return "", count, err
		}
		if !IsNode(&rec) {
			continue
		}
		if count++; count == n {
			return rec.Glance.ID, count, nil
		}
		if count%milestoneEvery == 0 {
			set = append(set, milestone{rec.Next, count})
		}
	}
	return "", count, nil
}

// nearest returns the last milestone that is not behind a position.
func (c *numbers) nearest(id firn.ID, pos firn.Pos) milestone {
	return c.last(id, func(m milestone) bool { return m.at <= pos })
}

// nearestNumber returns the last milestone before entry number n.
func (c *numbers) nearestNumber(id firn.ID, n int) milestone {
	return c.last(id, func(m milestone) bool { return m.n < n })
}

func (c *numbers) last(id firn.ID, ok func(milestone) bool) milestone {
	c.mu.Lock()
	defer c.mu.Unlock()
	best := milestone{}
	for _, m := range c.sessions[id] {
		if !ok(m) {
			break
		}
		best = m
	}
	return best
}

// remember adds milestones to those that are known, in the order of the session.
func (c *numbers) remember(id firn.ID, set []milestone) {
	if len(set) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.sessions[id]
	for _, m := range set {
		at, found := slices.BinarySearchFunc(known, m, func(a, b milestone) int { return cmp.Compare(a.at, b.at) })
		if !found {
			known = slices.Insert(known, at, m)
		}
	}
	if c.sessions == nil || len(c.sessions) >= mostNumbered && c.sessions[id] == nil {
		c.sessions = make(map[firn.ID][]milestone)
	}
	c.sessions[id] = known
}

// forget drops what is known of a session.
func (c *numbers) forget(id firn.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, id)
}
