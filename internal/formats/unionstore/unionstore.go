// Package unionstore presents several stores as one: an own store, which is writable, and
// sources, which are read-only. The own store takes precedence for a session that is in
// both.
//
// Appending to a session of a source takes it over: the session is first copied to the own
// store under the same ID and from then on shadows the source. A file marks it during the
// copy. Until the copy is complete, the session is read from the source.
package unionstore

import (
	"context"
	"errors"
	"iter"
	"sync"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// Source is a read-only store.
type Source interface {
	store.Store
	// Status describes a session without opening it.
	Status(ctx context.Context, id firn.ID) (store.Status, error)
	// Census describes all sessions without opening them.
	Census(ctx context.Context) ([]store.Status, error)
	// Inspect returns the list information of one session.
	Inspect(ctx context.Context, id firn.ID) (store.Info, error)
}

// Own is the writable store.
type Own interface {
	Source
	store.Deferred
	store.Remover
	// IsReserved reports whether an ID belongs to a session in the trash bin or a purged one;
	// ReservedIDs returns all such IDs.
	IsReserved(ctx context.Context, id firn.ID) (bool, error)
	ReservedIDs(ctx context.Context) (map[firn.ID]bool, error)
}

// Taker copies a session of a source to the own store. It is called for one session at a
// time, and must be able to continue an interrupted copy.
type Taker func(ctx context.Context, id firn.ID, from Source) error

// Eraser permanently erases a source's copy of a session and prevents it from being
// mirrored again. It returns the files and their total size.
type Eraser func(ctx context.Context, id firn.ID, from Source) (files []string, bytes int64, err error)

// Options configure a union.
type Options struct {
	// Sources returns the sources in order of precedence. If fresh is false, it may return
	// a recently cached result.
	Sources func(fresh bool) []Source
	// Stamp returns a value that changes when sources, their sessions or the contents of
	// these change. It is nil if they never do.
	Stamp func() (string, error)
	Take  Taker
	// Erase is nil if sources cannot be erased. Weigh returns the result of Erase without
	// changing anything; it may be nil.
	Erase, Weigh Eraser
	// Dir is the directory for the marks of takeovers. It is created with the first one.
	Dir string
	// FS is the file system of Dir; nil means that of the operating system.
	FS vfs.FS
}

// Store is a union of stores.
type Store struct {
	own   Own
	opts  Options
	marks marks
	locks locks

	mu   sync.Mutex
	ours map[firn.ID]bool
	// taken holds the sessions that this union took over; watchers are those waiting for a
	// takeover.
	taken    map[firn.ID]takeoverPos
	watchers map[firn.ID]map[chan struct{}]bool
}

// New returns a union. Closing it closes all stores.
func New(own Own, opts Options) *Store {
	if opts.FS == nil {
		opts.FS = vfs.OS{}
	}
	return &Store{
		own: own, opts: opts, marks: marks{opts.FS, opts.Dir},
		ours: make(map[firn.ID]bool), taken: make(map[firn.ID]takeoverPos), watchers: make(map[firn.ID]map[chan struct{}]bool),
	}
}

// Unwrap returns the own store, for operations that only it supports.
func (u *Store) Unwrap() store.Store { return u.own }

// SourceOf returns the source of a session that is not in the own store. A session in the
// trash bin or a purged one has no source: its ID remains in use.
func (u *Store) SourceOf(ctx context.Context, id firn.ID) (Source, bool) {
	if u.isOurs(ctx, id) {
		return nil, false
	}
	s, ok := u.sourceWith(ctx, id)
	if !ok {
		return nil, false
	}
	if away, err := u.own.IsReserved(ctx, id); away || err != nil {
		return nil, false
	}
	return s, true
}

// sourceWith returns the first source that has a session, even if the own store shadows it.
func (u *Store) sourceWith(ctx context.Context, id firn.ID) (Source, bool) {
	for _, s := range u.opts.Sources(false) {
		if _, err := s.Status(ctx, id); err == nil {
			return s, true
		}
	}
	return nil, false
}

// isOurs reports whether the own store has a complete copy of a session. Sessions leave the
// own store only through the union.
func (u *Store) isOurs(ctx context.Context, id firn.ID) bool {
	u.mu.Lock()
	known := u.ours[id]
	u.mu.Unlock()
	if known {
		return true
	}
	if _, err := u.own.Status(ctx, id); err != nil {
		return false
	}
	// The mark is created before the first byte, so a missing mark means that the copy is
	// complete.
	if marked, err := u.marks.has(id); marked || err != nil {
		return false
	}
	u.mu.Lock()
	u.ours[id] = true
	u.mu.Unlock()
	return true
}

func (u *Store) forget(id firn.ID) {
	u.mu.Lock()
	delete(u.ours, id)
	delete(u.taken, id)
	u.mu.Unlock()
}

// storeOf returns the store of a session, the own store if it does not exist.
func (u *Store) storeOf(ctx context.Context, id firn.ID) Source {
	if s, ok := u.SourceOf(ctx, id); ok {
		return s
	}
	return u.own
}

// Sync makes the entries appended to a session durable.
func (u *Store) Sync(ctx context.Context, id firn.ID) error { return u.own.Sync(ctx, id) }

// Read yields the records after a position, oldest first.
func (u *Store) Read(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return u.storeOf(ctx, id).Read(ctx, id, after)
}

// ReadBack yields the records before a position, newest first.
func (u *Store) ReadBack(ctx context.Context, id firn.ID, before store.Pos) iter.Seq2[store.Record, error] {
	return u.storeOf(ctx, id).ReadBack(ctx, id, before)
}

// List yields the matching sessions of all stores, the latest first.
func (u *Store) List(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		all := q
		all.Limit = 0
		infos, err := gather(ctx, u, func(s Source) ([]store.Info, error) {
			var list []store.Info
			for info, err := range s.List(ctx, all) {
				if err != nil {
					return nil, err
				}
				list = append(list, info)
			}
			return list, nil
		}, func(info store.Info) firn.ID { return info.ID })
		if err != nil {
			yield(store.Info{}, err)
			return
		}
		store.SortByUpdate(infos)
		for i, info := range infos {
			if q.Limit > 0 && i >= q.Limit || !yield(info, nil) {
				return
			}
		}
	}
}

// Census describes all sessions, each once, without opening them.
func (u *Store) Census(ctx context.Context) ([]store.Status, error) {
	return gather(ctx, u, func(s Source) ([]store.Status, error) { return s.Census(ctx) },
		func(s store.Status) firn.ID { return s.ID })
}

// gather queries all stores and keeps for each session the result of the store that it is
// read from. If a query does not match a session of the own store, the shadowed one is
// omitted too.
func gather[T any](ctx context.Context, u *Store, ask func(Source) ([]T, error), id func(T) firn.ID) ([]T, error) {
	all, err := ask(u.own)
	sources := u.opts.Sources(true)
	if err != nil || len(sources) == 0 {
		return all, err
	}
	marked, err := u.marks.all()
	if err != nil {
		return nil, err
	}
	away, err := u.own.ReservedIDs(ctx)
	if err != nil {
		return nil, err
	}
	var kept []T
	for _, one := range all {
		if marked[id(one)] {
			if _, foreign := u.SourceOf(ctx, id(one)); foreign {
				continue // the copy is not complete yet
			}
		}
		kept = append(kept, one)
	}
	seen := make(map[firn.ID]bool)
	for _, one := range kept {
		seen[id(one)] = true
	}
	for _, s := range sources {
		list, err := ask(s)
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			if name := id(one); !seen[name] && !away[name] && !u.isOurs(ctx, name) {
				seen[name] = true
				kept = append(kept, one)
			}
		}
	}
	return kept, nil
}

// Stamp returns a value that changes when sessions of sources change, or those of the own
// store in another process, if that store reports such changes.
func (u *Store) Stamp(ctx context.Context) (string, error) {
	theirs := ""
	if u.opts.Stamp != nil {
		var err error
		if theirs, err = u.opts.Stamp(); err != nil {
			return "", err
		}
	}
	own, ok := u.own.(interface {
		Stamp(ctx context.Context) (string, error)
	})
	if !ok {
		return theirs, nil
	}
	ours, err := own.Stamp(ctx)
	return ours + "\n" + theirs, err
}

// Inspect describes one session without listing the others.
func (u *Store) Inspect(ctx context.Context, id firn.ID) (store.Info, error) {
	return u.storeOf(ctx, id).Inspect(ctx, id)
}

// Status describes one session without opening it.
func (u *Store) Status(ctx context.Context, id firn.ID) (store.Status, error) {
	return u.storeOf(ctx, id).Status(ctx, id)
}

// Close closes all stores.
func (u *Store) Close() error {
	errs := []error{u.own.Close()}
	for _, s := range u.opts.Sources(false) {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
