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

// Wrap returns the store with a catalogue that is kept up to date. Changes made through it
// are recorded without I/O, and written with the next list or on Close. List uses the
// catalogue. Other capabilities of the store are found with [store.As] as before.
//
// The catalogue's source must be the store. Closing the wrapper closes both.
func Wrap(s store.Store, c *Catalogue) store.Store {
	if own, ok := store.As[catalogued](s); ok {
		own.Catalogued(c.knownRows)
	}
	return &wrapper{Store: witness.Wrap(s, watcher{c}), catalogue: c}
}

// catalogued is a store that marks the catalogue as outdated unless it is told that its
// changes are recorded. It calls rows for a lookup of rows that are up to date.
type catalogued interface {
	Catalogued(rows func() func(store.Status) (store.Info, bool))
}

// knownRows reads the file and returns a lookup of its rows, which finds the row of a
// session that has not changed since. It writes nothing.
func (c *Catalogue) knownRows() func(store.Status) (store.Info, bool) {
	changed, s := c.copyPending(), survey{}
	s.load(c)
	s.base.close()
	return func(now store.Status) (store.Info, bool) {
		r := s.rows[now.ID]
		if _, ok := changed[now.ID]; ok || r == nil || !r.matches(now) {
			return store.Info{}, false
		}
		return r.info, true
	}
}

// wrapper is a store that lists from its catalogue.
type wrapper struct {
	store.Store
	catalogue *Catalogue
}

// Unwrap returns the store that notifies the catalogue of changes.
func (w *wrapper) Unwrap() store.Store { return w.Store }

// List lists from the catalogue.
func (w *wrapper) List(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	return w.catalogue.List(ctx, q)
}

// Page returns a page of the list from the catalogue.
func (w *wrapper) Page(ctx context.Context, q store.Query, after Cursor) (Page, error) {
	return w.catalogue.Page(ctx, q, after)
}

// Ordered returns a page of the list in another order from the catalogue.
func (w *wrapper) Ordered(ctx context.Context, q store.Query, order Order, cursor string) (Ordered, error) {
	return w.catalogue.Ordered(ctx, q, order, cursor)
}

// Since returns the changes of the catalogue after a position.
func (w *wrapper) Since(ctx context.Context, from Feed) ([]store.Info, bool, Feed, error) {
	return w.catalogue.Since(ctx, from)
}

// Count returns the number of matching sessions from the catalogue.
func (w *wrapper) Count(ctx context.Context, q store.Query) (int, error) {
	return w.catalogue.Count(ctx, q)
}

// Close closes the catalogue, which still needs the store, and then the store.
func (w *wrapper) Close() error {
	return errors.Join(w.catalogue.Close(), w.Store.Close())
}

// watcher records changes in a catalogue.
type watcher struct{ catalogue *Catalogue }

// Before is called before a change.
func (w watcher) Before(firn.ID, bool) error { return w.catalogue.beginChange() }

// After records the change of a session. After a purge it also removes the erased text from
// the catalogue; if that fails, repeating the purge tries again.
func (w watcher) After(ctx context.Context, id firn.ID, purge bool) error {
	w.catalogue.endChange(id, purge)
	if !purge {
		return nil
	}
	if err := w.catalogue.flush(ctx); err != nil {
		return fmt.Errorf("purge session %s: the catalog may still contain erased text: %w", id, err)
	}
	return nil
}
