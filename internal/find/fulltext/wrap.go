package fulltext

import (
	"context"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/internal/find/witness"
	"firn.dev/store"
)

// Wrap returns a store that records its changes in the index, at little cost. Other
// capabilities of the store remain available through [store.As]. Closing the wrapper closes
// the index and the store.
func Wrap(s store.Store, x *Index) store.Store {
	return &wrapper{Store: witness.Wrap(s, watcher{x}), index: x}
}

// wrapper is a store that is closed together with its index.
type wrapper struct {
	store.Store
	index *Index
}

// Unwrap returns the store that notifies the index.
func (w *wrapper) Unwrap() store.Store { return w.Store }

// Close closes the index, while it can still read the store, and then the store.
func (w *wrapper) Close() error { return errors.Join(w.index.Close(), w.Store.Close()) }

// watcher notifies the index of changes.
type watcher struct{ index *Index }

// Before marks a session that is about to be purged.
func (w watcher) Before(id firn.ID, purge bool) error {
	if !purge {
		return nil
	}
	return w.index.mark(id)
}

// After records a change of the session. After a purge it removes the purged text from the
// index; if that fails, the next process that uses the index retries.
func (w watcher) After(ctx context.Context, id firn.ID, purge bool) error {
	if !purge {
		w.index.MarkChanged(id)
		return nil
	}
	erase := func() error {
		if err := w.index.Erase(ctx, id); err != nil {
			return fmt.Errorf("purge session %s: the word index may still contain erased text: %w", id, err)
		}
		return nil
	}
	if witness.Later(ctx, erase) { // erasing writes the whole index
		return nil
	}
	return erase()
}
