package index

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"firn.dev"
	"firn.dev/internal/find/witness"
	"firn.dev/store"
)

// Wrap returns the store with a catalogue that is kept up to date: changes
// that go through it are noted, which costs no I/O, and are written down with
// the next list or on Close. List answers from the catalogue. What else the
// store can do is found with [store.As] as before.
//
// The catalogue's source must be the store. Closing the wrapper closes both.
func Wrap(s store.Store, c *Catalogue) store.Store {
	return &wrapper{Store: witness.Wrap(s, watcher{c}), catalogue: c}
}

// wrapper is a store that lists from its catalogue.
type wrapper struct {
	store.Store
	catalogue *Catalogue
}

// Unwrap returns the store that tells the catalogue.
func (w *wrapper) Unwrap() store.Store { return w.Store }

// List lists from the catalogue.
func (w *wrapper) List(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	return w.catalogue.List(ctx, q)
}

// Page lists a part of the sessions from the catalogue.
func (w *wrapper) Page(ctx context.Context, q store.Query, after Cursor) (Page, error) {
	return w.catalogue.Page(ctx, q, after)
}

// Count tells from the catalogue how many sessions match.
func (w *wrapper) Count(ctx context.Context, q store.Query) (int, error) {
	return w.catalogue.Count(ctx, q)
}

// Close closes the catalogue, while it can still ask the store, and the store.
func (w *wrapper) Close() error {
	return errors.Join(w.catalogue.Close(), w.Store.Close())
}

// watcher notes changes.
type watcher struct{ catalogue *Catalogue }

// Before notes that something is about to be changed.
func (w watcher) Before(firn.ID, bool) error { return w.catalogue.begin() }

// After notes the session. After a purge it sees to it that the catalogue does
// not tell any longer what was erased; if that fails, purging again tries again.
func (w watcher) After(ctx context.Context, id firn.ID, purge bool) error {
	w.catalogue.done(id, purge)
	if !purge {
		return nil
	}
	if err := w.catalogue.flush(ctx); err != nil {
		return fmt.Errorf("purge session %s: the catalogue may still tell what was erased: %w", id, err)
	}
	return nil
}
