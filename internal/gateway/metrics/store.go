package metrics

import (
	"context"
	"errors"
	"time"

	"firn.dev"
	"firn.dev/store"
)

// Store returns the store with its appends counted and timed, and what of them
// is the end of a turn or a compaction. What else the
// store can do is found with [store.As] as before.
func (s *Set) Store(st store.Store) store.Store {
	if s == nil {
		return st
	}
	c := &counted{Store: st, set: s}
	if d, ok := store.As[store.Deferred](st); ok {
		return struct {
			*counted
			deferring
		}{c, deferring{d, s}}
	}
	return c
}

// counted is a store whose appends are counted.
type counted struct {
	store.Store
	set *Set
}

// Unwrap returns the store itself.
func (c *counted) Unwrap() store.Store { return c.Store }

// Append appends, and counts it.
func (c *counted) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	begun := time.Now()
	end, err := c.Store.Append(ctx, id, expect, entries...)
	took := time.Since(begun)
	c.set.append.Observe(took.Seconds())
	c.set.appendTimes.observe(took)
	c.set.appended(ctx, entries, err)
	return end, err
}

// appended counts an append and what it wrote: turns and compactions too, since
// whoever began them, this is where they end.
func (s *Set) appended(ctx context.Context, entries []firn.Entry, err error) {
	how := outcome(ctx, err)
	if errors.Is(err, firn.ErrConflict) {
		how = "conflict" // somebody was quicker: nothing failed
	}
	s.appends.Add(1, how)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.Body == nil {
			continue
		}
		s.entries.Add(1, string(e.Body.Kind()))
		switch b := e.Body.(type) {
		case *firn.Message:
			if b.Role == firn.RoleAssistant && b.StopReason != firn.StopToolUse {
				s.turns.Add(1, string(b.StopReason))
			}
		case *firn.Compaction:
			s.compactions.Add(1)
		}
	}
}

// deferring is the part of a [store.Deferred].
type deferring struct {
	deferred store.Deferred
	set      *Set
}

// AppendDeferred appends, and counts it; how long it took says nothing of the disk.
func (d deferring) AppendDeferred(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	end, err := d.deferred.AppendDeferred(ctx, id, expect, entries...)
	d.set.appended(ctx, entries, err)
	return end, err
}

// Sync makes durable, and tells how long it took.
func (d deferring) Sync(ctx context.Context, id firn.ID) error {
	begun := time.Now()
	err := d.deferred.Sync(ctx, id)
	d.set.sync.Observe(time.Since(begun).Seconds(), "session")
	return err
}
