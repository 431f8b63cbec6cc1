package unionstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"firn.dev"
	"firn.dev/store"
)

// takeoverPos holds the end positions of a session in its source and in our copy at the
// time of the takeover.
type takeoverPos struct{ from, to store.Pos }

// appender appends entries to the own store.
type appender func(context.Context, firn.ID, store.Pos, ...firn.Entry) (store.Pos, error)

// Append appends to a session. A session of a source is taken over first.
func (u *Store) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	return u.append(ctx, id, expect, entries, u.own.Append)
}

// AppendDeferred is like Append, but does not wait for the disk.
func (u *Store) AppendDeferred(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	return u.append(ctx, id, expect, entries, u.own.AppendDeferred)
}

func (u *Store) append(ctx context.Context, id firn.ID, expect store.Pos, entries []firn.Entry, add appender) (store.Pos, error) {
	if _, foreign := u.SourceOf(ctx, id); !foreign {
		return u.add(ctx, id, expect, entries, add)
	}
	unlock, err := u.locks.lock(ctx, id)
	if err != nil {
		return 0, err
	}
	defer unlock()
	source, foreign := u.SourceOf(ctx, id) // it may have been taken over meanwhile
	if !foreign {
		return u.add(ctx, id, expect, entries, add)
	}
	info, err := source.Inspect(ctx, id)
	if err != nil {
		return 0, err
	}
	if expect != store.Any && expect != info.End {
		return 0, &store.Conflict{ID: id, Expect: expect, End: info.End}
	}
	if len(entries) == 0 {
		return info.End, nil
	}
	if err := u.takeOver(ctx, id, source, info.End); err != nil {
		return 0, err
	}
	return u.add(ctx, id, expect, entries, add)
}

// add appends to the own store. A caller that expects the end position of the source means
// the end of our copy, as long as nothing was appended to that.
func (u *Store) add(ctx context.Context, id firn.ID, expect store.Pos, entries []firn.Entry, add appender) (store.Pos, error) {
	end, err := add(ctx, id, expect, entries...)
	var conflict *store.Conflict
	if !errors.As(err, &conflict) {
		return end, err
	}
	u.mu.Lock()
	moved, ok := u.taken[id]
	u.mu.Unlock()
	if ok && expect == moved.from && conflict.End == moved.to {
		return add(ctx, id, moved.to, entries...)
	}
	return end, err
}

// takeOver copies a session, which ends at position from in its source, to the own store.
// The lock of the session must be held.
func (u *Store) takeOver(ctx context.Context, id firn.ID, source Source, from store.Pos) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("adopt session %s to continue it: %w", id, err)
		}
	}()
	unlock, err := u.marks.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if u.isOurs(ctx, id) { // another process was faster
		u.notifyTaken(id)
		return nil
	}
	if err := u.marks.set(id); err != nil {
		return err
	}
	if err := u.opts.Take(ctx, id, source); err != nil {
		return err
	}
	if err := u.own.Sync(ctx, id); err != nil {
		return err
	}
	info, err := u.own.Inspect(ctx, id)
	if err != nil {
		return err
	}
	if err := u.marks.clear(id); err != nil {
		return err
	}
	u.mu.Lock()
	u.ours[id], u.taken[id] = true, takeoverPos{from, info.End}
	u.mu.Unlock()
	u.notifyTaken(id)
	return nil
}

// locks holds one lock for each session that is locked or waited for.
type locks struct {
	mu   sync.Mutex
	held map[firn.ID]*waiting
}

// waiting is a lock that holds one token, with the number of users.
type waiting struct {
	token chan struct{}
	n     int
}

// lock acquires the lock of a session. It waits until ctx ends.
func (l *locks) lock(ctx context.Context, id firn.ID) (unlock func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = make(map[firn.ID]*waiting)
	}
	w := l.held[id]
	if w == nil {
		w = &waiting{token: make(chan struct{}, 1)}
		l.held[id] = w
	}
	w.n++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if w.n--; w.n == 0 {
			delete(l.held, id)
		}
	}
	select {
	case w.token <- struct{}{}:
		return func() { <-w.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
