package view

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"firn.dev"
	"firn.dev/store"
)

// numbers counts the entries of sessions, so that each has a number in file order: the n of
// #n. It remembers the counts at some positions, so that each entry is counted once and not
// with every query. It can be discarded at any time.
type numbers struct {
	mu       sync.Mutex
	sessions map[firn.ID][]milestone
}

// milestone is a position of a session and the number of entries before it.
type milestone struct {
	at firn.Pos
	n  int
}

const (
	// milestoneEvery is the number of entries between two milestones.
	milestoneEvery = 1024
	// mostNumbered is the maximum number of sessions with milestones.
	mostNumbered = 256
	// mostCountedBytes limits the bytes read per query. Milestones set on the way let the
	// next query get further.
	mostCountedBytes = 8 << 20
	// mostSearched limits the bytes read backward to find counters that contain the number
	// of entries.
	mostSearched = 4 << 20
)

// IsNode reports whether a record is an entry of the tree, and so has a number.
func IsNode(rec *firn.Record) bool {
	return rec.Gap == nil && rec.Glance.Kind != firn.KindHeader && rec.Glance.ID != ""
}

// before returns the number of entries before a position. It returns false if there are too
// many to count.
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

// seek reads back from a position to the nearest counters that contain the number of
// entries, and adds a milestone there. It does nothing if a milestone is near.
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
			if n, ok := entriesBefore(b); ok {
				c.remember(id, []milestone{{rec.At, n}})
				return nil
			}
		}
	}
	return nil
}

// entry returns entry number n and n. If there are fewer, it returns "" and their number.
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

// nearest returns the last milestone at or before a position.
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

// remember adds milestones, ordered by position.
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

// forget drops the milestones of a session.
func (c *numbers) forget(id firn.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, id)
}

// entriesBefore returns the number of entries before an entry with counts, in file order.
// It returns false if the entry does not record it.
func entriesBefore(c *firn.Custom) (int, bool) {
	if c.Type != firn.CountersType {
		return 0, false
	}
	var data struct{ Entries int64 }
	if json.Unmarshal(c.Data, &data) != nil || data.Entries <= 0 || !store.ValidCounts(data.Entries) {
		return 0, false
	}
	return int(data.Entries), true
}
