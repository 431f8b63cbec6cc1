// Package unionstore shows the sessions of several stores as those of one: our
// own, which is written to, and sources, which are only read. A session that is
// in both is ours.
//
// A session of a source goes on here once somebody adds to it: it is taken into
// our own store first, under the same id, and shadows the other from then on.
// While it is being taken a file marks it, so that one that was interrupted is
// not mistaken for all there is: it is read from the source until it is whole.
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
	// Away reports whether an id is that of a session that was put into the bin
	// or purged; AllAway tells all of those.
	Away(ctx context.Context, id firn.ID) (bool, error)
	AllAway(ctx context.Context) (map[firn.ID]bool, error)
}

// Taker takes a session of a source into our own store. It is called for one
// session at a time; what it left half-done it must find again and finish.
type Taker func(ctx context.Context, id firn.ID, from Source) error

// Eraser erases what a source has of a session, for good, and sees to it that
// it does not come again. It tells the files and how many bytes went.
type Eraser func(ctx context.Context, id firn.ID, from Source) (files []string, bytes int64, err error)

// Options says what a union is made of.
type Options struct {
	// Sources tells which sources there are, the first before the others. If
	// fresh, it looks now; otherwise it may tell what it saw a moment ago.
	Sources func(fresh bool) []Source
	// Stamp tells whether sources came, or sessions in them, or more of those: it
	// is another one then. Nil if they never do.
	Stamp func() (string, error)
	Take  Taker
	// Erase is nil if nothing of a source can be erased. Weigh tells what Erase
	// would tell, and changes nothing; nil if that is not known.
	Erase, Weigh Eraser
	// Dir is a directory for the marks of sessions that are being taken. It is
	// made with the first one.
	Dir string
	// FS is where it is; nil is the operating system's files.
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
	// taken are the sessions that were taken by this union, and watchers who
	// waits for one to be.
	taken    map[firn.ID]shift
	watchers map[firn.ID]map[chan struct{}]bool
}

// New makes a union. Closing it closes all of them.
func New(own Own, opts Options) *Store {
	if opts.FS == nil {
		opts.FS = vfs.OS{}
	}
	return &Store{
		own: own, opts: opts, marks: marks{opts.FS, opts.Dir},
		ours: make(map[firn.ID]bool), taken: make(map[firn.ID]shift), watchers: make(map[firn.ID]map[chan struct{}]bool),
	}
}

// Unwrap returns our own store, for what only that one can do.
func (u *Store) Unwrap() store.Store { return u.own }

// SourceOf returns the source that a session is in, if it is not our own. One
// that was put away is in none: its id stays taken.
func (u *Store) SourceOf(ctx context.Context, id firn.ID) (Source, bool) {
	if u.isOurs(ctx, id) {
		return nil, false
	}
	s, ok := u.behind(ctx, id)
	if !ok {
		return nil, false
	}
	if away, err := u.own.Away(ctx, id); away || err != nil {
		return nil, false
	}
	return s, true
}

// behind returns the first source that has a session, whether it is shown or
// ours shadows it.
func (u *Store) behind(ctx context.Context, id firn.ID) (Source, bool) {
	for _, s := range u.opts.Sources(false) {
		if _, err := s.Stand(ctx, id); err == nil {
			return s, true
		}
	}
	return nil, false
}

// isOurs reports whether a session is in our own store, and whole. Sessions do
// not leave it but through the union.
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
	// The mark is there before the first byte is, so if it is not it went.
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

// in returns the store that a session is in; our own if it is nowhere.
func (u *Store) in(ctx context.Context, id firn.ID) Source {
	if s, ok := u.SourceOf(ctx, id); ok {
		return s
	}
	return u.own
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

// List yields the sessions of all stores that match, the latest first.
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

// Census tells of all sessions there are, each once. It opens none.
func (u *Store) Census(ctx context.Context) ([]store.Standing, error) {
	return gather(ctx, u, func(s Source) ([]store.Standing, error) { return s.Census(ctx) },
		func(s store.Standing) firn.ID { return s.ID })
}

// gather asks all stores, and keeps of each session what the one tells that it
// is read from. A query may leave out a session of ours that it does not match:
// then the one that it shadows is left out too.
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
	away, err := u.own.AllAway(ctx)
	if err != nil {
		return nil, err
	}
	var kept []T
	for _, one := range all {
		if marked[id(one)] {
			if _, foreign := u.SourceOf(ctx, id(one)); foreign {
				continue // it is not whole yet
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

// Stamp is another one when sessions of sources may have changed, or ours in
// another process, if our own store tells of that.
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

// Inspect tells of one session without listing the others.
func (u *Store) Inspect(ctx context.Context, id firn.ID) (store.Info, error) {
	return u.in(ctx, id).Inspect(ctx, id)
}

// Stand tells of one session without opening it.
func (u *Store) Stand(ctx context.Context, id firn.ID) (store.Standing, error) {
	return u.in(ctx, id).Stand(ctx, id)
}

// Close closes all stores.
func (u *Store) Close() error {
	errs := []error{u.own.Close()}
	for _, s := range u.opts.Sources(false) {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
