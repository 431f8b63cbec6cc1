package metrics

import (
	"context"
	"errors"
	"time"

	"firn.dev"
	"firn.dev/store"
)

// Store returns a store that records its appends and their duration, and the turns and
// compactions that they complete. Other features of the store are available through
// [store.As].
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

// counted is a store that records its appends.
type counted struct {
	store.Store
	set *Set
}

// Unwrap returns the wrapped store.
func (c *counted) Unwrap() store.Store { return c.Store }

// Append appends entries and records the append.
func (c *counted) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	begun := time.Now()
	end, err := c.Store.Append(ctx, id, expect, entries...)
	took := time.Since(begun)
	c.set.append.Observe(took.Seconds())
	c.set.appendTimes.observe(took)
	c.set.appended(ctx, entries, err)
	return end, err
}

// appended records an append and its entries. All turns and compactions end with an append,
// so they are counted here.
func (s *Set) appended(ctx context.Context, entries []firn.Entry, err error) {
	how := outcome(ctx, err)
	if errors.Is(err, firn.ErrConflict) {
		how = "conflict" // another writer was faster: not a failure
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

// Redacted records secrets that were replaced before entries were stored.
func (s *Set) Redacted(n int) {
	if s != nil {
		s.redacted.Add(float64(n))
	}
}

// deferring implements [store.Deferred].
type deferring struct {
	deferred store.Deferred
	set      *Set
}

// AppendDeferred appends entries and records the append, without its duration, which does
// not include the disk.
func (d deferring) AppendDeferred(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	end, err := d.deferred.AppendDeferred(ctx, id, expect, entries...)
	d.set.appended(ctx, entries, err)
	return end, err
}

// Sync syncs the session and records the duration.
func (d deferring) Sync(ctx context.Context, id firn.ID) error {
	begun := time.Now()
	err := d.deferred.Sync(ctx, id)
	d.set.sync.Observe(time.Since(begun).Seconds(), "session")
	return err
}
