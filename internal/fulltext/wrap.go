package fulltext

import (
	"context"
	"errors"
	"fmt"

	"firn"
	"firn/internal/witness"
	"firn/store"
)

// Wrap returns the store with an index that is kept up to date: changes that go
// through it are noted, which costs next to nothing. What else the store can do
// is found with [store.As] as before. Closing the wrapper closes both.
func Wrap(s store.Store, x *Index) store.Store {
	return &wrapper{Store: witness.Wrap(s, watcher{x}), index: x}
}

// wrapper is a store that is closed with its index.
type wrapper struct {
	store.Store
	index *Index
}

// Unwrap returns the store that tells the index.
func (w *wrapper) Unwrap() store.Store { return w.Store }

// Close closes the index, while it can still read the store, and the store.
func (w *wrapper) Close() error { return errors.Join(w.index.Close(), w.Store.Close()) }

// watcher notes changes.
type watcher struct{ index *Index }

// Before marks a session that something is purged from.
func (w watcher) Before(id firn.ID, purge bool) error {
	if !purge {
		return nil
	}
	return w.index.mark(id)
}

// After notes the session. After a purge it sees to it that the index does not
// tell any longer what was erased; if that fails, who uses the index next tries
// again.
func (w watcher) After(ctx context.Context, id firn.ID, purge bool) error {
	if !purge {
		w.index.Touch(id)
		return nil
	}
	if err := w.index.Erase(ctx, id); err != nil {
		return fmt.Errorf("purge session %s: the index of words may still tell what was erased: %w", id, err)
	}
	return nil
}
