package view

import (
	"context"
	"sync"

	"firn"
	"firn/store"
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
	// mostCounted and mostCountedBytes bound what is read to answer one
	// question. Milestones are set on the way, so that the next one comes further.
	mostCounted      = 200_000
	mostCountedBytes = 128 << 20
)

// IsNode reports whether a record is an entry of the tree, and so has a number.
func IsNode(rec *firn.Record) bool {
	return rec.Gap == nil && rec.Glance.Kind != firn.KindHeader && rec.Glance.ID != ""
}

// before counts the entries before a position. It is false if they are too many
// to be counted at once.
func (c *numbers) before(ctx context.Context, st store.Store, id firn.ID, pos firn.Pos) (int, bool, error) {
	from := c.nearest(id, pos)
	n, read, size := from.n, 0, 0
	var set []milestone
	defer func() { c.remember(id, set) }()
	for rec, err := range st.Read(ctx, id, from.at) {
		if err != nil {
			return 0, false, err
		}
		if rec.At >= pos {
			break
		}
		read, size = read+1, size+len(rec.Line())
		if read > mostCounted || size > mostCountedBytes {
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

// entry returns entry number n and n; if there are not so many, nothing and how
// many there are.
func (c *numbers) entry(ctx context.Context, st store.Store, id firn.ID, n int) (firn.EntryID, int, error) {
	from := c.nearestNumber(id, n)
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

// remember adds milestones behind those that are known.
func (c *numbers) remember(id firn.ID, set []milestone) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.sessions[id]
	for _, m := range set {
		if len(known) == 0 || m.at > known[len(known)-1].at {
			known = append(known, m)
		}
	}
	if len(known) == 0 {
		return
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
