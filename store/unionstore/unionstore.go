// Package unionstore shows the sessions of several stores as those of one: our
// own, which is written to, and sources, which are only read. A session that is
// in both is ours.
//
// A session of a source goes on here once somebody adds to it: it is taken into
// our own store first, under the same id, and shadows the other from then on.
package unionstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"firn"
	"firn/store"
)

// Source is a store that is only read.
type Source interface {
	store.Store
	// Stand tells of a session without opening it.
	Stand(ctx context.Context, id firn.ID) (store.Standing, error)
	// Census tells of all sessions without opening them.
	Census(ctx context.Context) ([]store.Standing, error)
	// Inspect tells of one session what a list would.
	Inspect(ctx context.Context, id firn.ID) (store.Info, error)
}

// Own is the store that is written to.
type Own interface {
	Source
	store.Deferred
	store.Remover
}

// Taker takes a session of a source into our own store. It is called once at a
// time; what it leaves half-done it must find again and finish.
type Taker func(ctx context.Context, id firn.ID, from Source) error

// Store is a union of stores.
type Store struct {
	own     Own
	sources []Source
	take    Taker

	mu   sync.Mutex
	ours map[firn.ID]bool
}

// New makes a union. Closing it closes all of them.
func New(own Own, sources []Source, take Taker) *Store {
	return &Store{own: own, sources: sources, take: take, ours: make(map[firn.ID]bool)}
}

// Unwrap returns our own store, for what only that one can do.
func (u *Store) Unwrap() store.Store { return u.own }

// SourceOf returns the source that a session is in, if it is not our own.
func (u *Store) SourceOf(ctx context.Context, id firn.ID) (Source, bool) {
	if u.isOurs(ctx, id) {
		return nil, false
	}
	for _, s := range u.sources {
		if _, err := s.Stand(ctx, id); err == nil {
			return s, true
		}
	}
	return nil, false
}

// isOurs reports whether a session is in our own store. Sessions do not leave
// it but through the union.
func (u *Store) isOurs(ctx context.Context, id firn.ID) bool {
	u.mu.Lock()
	known := u.ours[id]
	u.mu.Unlock()
	if known {
		return true
	}
	if _, err := u.own.Stand(ctx, id); err != nil {
		return false
	}
	u.mu.Lock()
	u.ours[id] = true
	u.mu.Unlock()
	return true
}

// in returns the store that a session is in; our own if it is nowhere.
func (u *Store) in(ctx context.Context, id firn.ID) store.Store {
	if s, ok := u.SourceOf(ctx, id); ok {
		return s
	}
	return u.own
}

// Append adds to a session, which is taken into our own store first if need be.
func (u *Store) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	return u.append(ctx, id, expect, entries, u.own.Append)
}

// AppendDeferred is Append without waiting for the disk.
func (u *Store) AppendDeferred(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	return u.append(ctx, id, expect, entries, u.own.AppendDeferred)
}

// appender is how entries are added to our own store.
type appender func(context.Context, firn.ID, store.Pos, ...firn.Entry) (store.Pos, error)

func (u *Store) append(ctx context.Context, id firn.ID, expect store.Pos, entries []firn.Entry, add appender) (store.Pos, error) {
	source, found := u.SourceOf(ctx, id)
	if !found {
		return add(ctx, id, expect, entries...)
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
	if err := u.take(ctx, id, source); err != nil {
		return 0, fmt.Errorf("take session %s over to go on with it: %w", id, err)
	}
	return add(ctx, id, store.Any, entries...)
}

// Sync makes durable what was appended to a session so far.
func (u *Store) Sync(ctx context.Context, id firn.ID) error { return u.own.Sync(ctx, id) }

// Read yields the records after a position, oldest first.
func (u *Store) Read(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return u.in(ctx, id).Read(ctx, id, after)
}

// ReadBack yields the records before a position, newest first.
func (u *Store) ReadBack(ctx context.Context, id firn.ID, before store.Pos) iter.Seq2[store.Record, error] {
	return u.in(ctx, id).ReadBack(ctx, id, before)
}

// Follow yields the records after a position and then those that are added. It
// does not follow a session from a source into our own store.
func (u *Store) Follow(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return u.in(ctx, id).Follow(ctx, id, after)
}

// List yields the sessions of all stores that match, the latest first.
func (u *Store) List(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		all := q
		all.Limit = 0
		var infos []store.Info
		for i, s := range u.stores() {
			for info, err := range s.List(ctx, all) {
				if err != nil {
					yield(store.Info{}, err)
					return
				}
				if i == 0 || !u.isOurs(ctx, info.ID) {
					infos = append(infos, info)
				}
			}
		}
		store.SortByUpdate(infos)
		for i, info := range infos {
			if q.Limit > 0 && i >= q.Limit || !yield(info, nil) {
				return
			}
		}
	}
}

func (u *Store) stores() []Source {
	return append([]Source{u.own}, u.sources...)
}

// Inspect tells of one session without listing the others.
func (u *Store) Inspect(ctx context.Context, id firn.ID) (store.Info, error) {
	if s, ok := u.SourceOf(ctx, id); ok {
		return s.Inspect(ctx, id)
	}
	return u.own.Inspect(ctx, id)
}

// Stand tells of one session without opening it.
func (u *Store) Stand(ctx context.Context, id firn.ID) (store.Standing, error) {
	if s, ok := u.SourceOf(ctx, id); ok {
		return s.Stand(ctx, id)
	}
	return u.own.Stand(ctx, id)
}

// Census tells of all sessions there are, each once. It opens none.
func (u *Store) Census(ctx context.Context) ([]store.Standing, error) {
	var list []store.Standing
	seen := make(map[firn.ID]bool)
	for _, s := range u.stores() {
		census, err := s.Census(ctx)
		if err != nil {
			return nil, err
		}
		for _, standing := range census {
			if !seen[standing.ID] {
				seen[standing.ID] = true
				list = append(list, standing)
			}
		}
	}
	return list, nil
}

// Close closes all stores.
func (u *Store) Close() error {
	var errs []error
	for _, s := range u.stores() {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
