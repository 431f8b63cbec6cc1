package unionstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"firn.dev"
	"firn.dev/store"
)

// shift is where a session ended in its source and in our copy of it when it
// was taken.
type shift struct{ from, to store.Pos }

// appender is how entries are added to our own store.
type appender func(context.Context, firn.ID, store.Pos, ...firn.Entry) (store.Pos, error)

// Append adds to a session, which is taken into our own store first if need be.
func (u *Store) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	return u.append(ctx, id, expect, entries, u.own.Append)
}

// AppendDeferred is Append without waiting for the disk.
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
	source, foreign := u.SourceOf(ctx, id) // somebody may have taken it meanwhile
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

// add adds to our own store. Who expects the end where it was in the source
// means that of our copy, as long as nothing was added to that.
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

// takeOver takes a session, which ends at a position of its source, into our
// own store. The lock of the session is held.
func (u *Store) takeOver(ctx context.Context, id firn.ID, source Source, from store.Pos) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("take session %s over to go on with it: %w", id, err)
		}
	}()
	unlock, err := u.marks.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if u.isOurs(ctx, id) { // another process was faster
		u.tell(id)
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
	u.ours[id], u.taken[id] = true, shift{from, info.End}
	u.mu.Unlock()
	u.tell(id)
	return nil
}

// locks are one lock for each session that somebody has or waits for.
type locks struct {
	mu   sync.Mutex
	held map[firn.ID]*waiting
}

// waiting is a lock that holds one token, and how many want it.
type waiting struct {
	token chan struct{}
	n     int
}

// lock waits for the lock of a session, until ctx ends.
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
