// Package memstore stores sessions in memory. It is meant for tests and temporary sessions,
// and is the reference that other stores are compared with. It implements every capability
// and is not optimized.
package memstore

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/store"
)

// Options configures a store.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Store stores sessions in memory. A position is the number of entries before it.
type Store struct {
	now func() time.Time

	mu       sync.Mutex
	closed   bool
	sessions map[firn.ID]*session
	keys     map[string]firn.ID
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Deferred = (*Store)(nil)
	_ store.Keyed    = (*Store)(nil)
	_ store.Claimer  = (*Store)(nil)
	_ store.Unbinder = (*Store)(nil)
	_ store.Remover  = (*Store)(nil)
	_ store.Binner   = (*Store)(nil)
)

// New returns an empty store.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{now: o.Now, sessions: make(map[firn.ID]*session), keys: make(map[string]firn.ID)}
}

// session is a transcript and its state.
type session struct {
	// entries is replaced when an entry changes, and otherwise only appended to. A slice
	// taken under the lock can be read without it.
	entries           []firn.Entry
	ids               store.IDs // of all entries
	archived, removed bool
	// removedAt and reason are the time and reason of the removal.
	removedAt time.Time
	reason    string
	// purged is the receipt of a purged session, whose ID stays reserved.
	purged *store.Receipt
	// changed is closed and replaced to wake up followers.
	changed chan struct{}
}

func (s *session) end() store.Pos { return store.Pos(len(s.entries)) }

// gone reports whether the session cannot be read or appended to.
func (s *session) gone() bool { return s.removed || s.purged != nil }

// wake wakes up all followers.
func (s *session) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// find returns the index of an entry, or -1.
func (s *session) find(id firn.EntryID) int {
	return slices.IndexFunc(s.entries, func(e firn.Entry) bool { return e.ID == id })
}

// tail returns the end of the session.
func (s *session) tail(id firn.ID) store.Tail {
	t := store.Tail{Session: id, New: len(s.entries) == 0, Newest: s.ids.Newest()}
	t.Use = func(id firn.EntryID) (store.Use, error) { return s.ids.Use(id, nil) }
	for _, e := range slices.Backward(s.entries) {
		if e.ID != "" {
			t.Head = e.ID
			break
		}
	}
	return t
}

// ready returns an error if the store is closed or the context is done.
func (m *Store) ready(ctx context.Context) error {
	if m.closed {
		return fmt.Errorf("memory store: %w", firn.ErrClosed)
	}
	return ctx.Err()
}

// live returns a session that is neither removed nor purged.
func (m *Store) live(ctx context.Context, id firn.ID) (*session, error) {
	if err := m.ready(ctx); err != nil {
		return nil, err
	}
	s := m.sessions[id]
	if s == nil || s.gone() {
		return nil, fmt.Errorf("session %s: %w", id, firn.ErrNotFound)
	}
	return s, nil
}

// Append adds entries at the end of a session.
func (m *Store) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	if err := id.Check(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ready(ctx); err != nil {
		return 0, err
	}
	s := m.sessions[id]
	if s == nil {
		s = &session{changed: make(chan struct{})}
		s.ids.Reset(store.Start)
	}
	if s.gone() {
		return 0, fmt.Errorf("append to session %s: it was removed: %w", id, firn.ErrNotFound)
	}
	if expect != store.Any && expect != s.end() {
		return 0, &store.Conflict{ID: id, Expect: expect, End: s.end()}
	}
	known := func(id firn.EntryID) (bool, error) { return s.find(id) >= 0, nil }
	ready, err := store.Prepare(s.tail(id), m.now(), entries, known)
	if err != nil || len(ready) == 0 {
		return s.end(), err
	}
	for i := range ready {
		s.entries = append(s.entries, clone(ready[i]))
		s.ids.Add(&ready[i])
	}
	m.sessions[id] = s
	s.wake()
	return s.end(), nil
}

// AppendDeferred is the same as Append.
func (m *Store) AppendDeferred(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	return m.Append(ctx, id, expect, entries...)
}

// Sync only checks that the session exists.
func (m *Store) Sync(ctx context.Context, id firn.ID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.live(ctx, id)
	return err
}

// snapshot returns the entries of a session and a channel that is closed on the next
// change.
func (m *Store) snapshot(ctx context.Context, id firn.ID) ([]firn.Entry, <-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.live(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	return s.entries, s.changed, nil
}

// record returns the record of entry number i. Every call of Entry returns a copy.
func record(i int, e firn.Entry) store.Record {
	decode := func([]byte) (firn.Entry, error) { return clone(e), nil }
	return firn.LazyRecord(store.Pos(i), store.Pos(i+1), firn.GlanceOf(e), nil, decode)
}

// Read yields the records after a position, oldest first.
func (m *Store) Read(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		entries, _, err := m.snapshot(ctx, id)
		for i := int(min(after, store.Pos(len(entries)))); err == nil && i < len(entries); i++ {
			if !yield(record(i, entries[i]), nil) {
				return
			}
			err = ctx.Err()
		}
		if err != nil {
			yield(store.Record{}, err)
		}
	}
}

// ReadBack yields the records before a position, newest first.
func (m *Store) ReadBack(ctx context.Context, id firn.ID, before store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		entries, _, err := m.snapshot(ctx, id)
		for i := int(min(before, store.Pos(len(entries)))); err == nil && i > 0; i-- {
			if !yield(record(i-1, entries[i-1]), nil) {
				return
			}
			err = ctx.Err()
		}
		if err != nil {
			yield(store.Record{}, err)
		}
	}
}

// Follow yields the records after a position and then new ones as they are appended.
func (m *Store) Follow(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		next, begun := after, false
		for ctx.Err() == nil {
			entries, changed, err := m.snapshot(ctx, id)
			if err != nil && ctx.Err() == nil {
				yield(store.Record{}, err)
				return
			}
			if !begun { // End means the current end
				next, begun = min(after, store.Pos(len(entries))), true
			}
			for ; next < store.Pos(len(entries)) && ctx.Err() == nil; next++ {
				if !yield(record(int(next), entries[next]), nil) {
					return
				}
			}
			select {
			case <-ctx.Done():
			case <-changed:
			}
		}
	}
}

// List yields the infos of matching sessions.
func (m *Store) List(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	return store.Infos(func() ([]store.Info, error) { return m.list(ctx, q) })
}

func (m *Store) list(ctx context.Context, q store.Query) ([]store.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ready(ctx); err != nil {
		return nil, err
	}
	var infos []store.Info
	for id, s := range m.sessions {
		if info := s.info(id); !s.gone() && q.Matches(info) {
			infos = append(infos, info)
		}
	}
	store.SortByUpdate(infos)
	if q.Limit > 0 && len(infos) > q.Limit {
		infos = infos[:q.Limit]
	}
	return infos, nil
}

// info returns the info of a session.
func (s *session) info(id firn.ID) store.Info {
	var gist store.Gist
	for _, e := range s.entries {
		gist.Add(e)
	}
	for i := 0; i < len(s.entries) && gist.Prompted(); i++ { // the first prompt was erased
		gist.Prompt(s.entries[i])
	}
	info := gist.Info()
	info.ID, info.End, info.Parts, info.Archived = id, s.end(), 1, s.archived
	return info
}

// Close ends all followers.
func (m *Store) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for _, s := range m.sessions {
		s.wake()
	}
	return nil
}
