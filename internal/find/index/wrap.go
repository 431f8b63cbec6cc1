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

// Wrap returns the store with a catalog that is kept up to date. Changes made through it
// are recorded without I/O, and written with the next list or on Close. List uses the
// catalog. Other capabilities of the store are found with [store.As] as before.
//
// The catalog's source must be the store. Closing the wrapper closes both.
func Wrap(s store.Store, c *Catalogue) store.Store {
	if own, ok := store.As[cataloged](s); ok {
		own.Catalogued(c.knownRows)
	}
	return &wrapper{Store: witness.Wrap(s, watcher{c}), catalog: c}
}

// cataloged is a store that marks the catalog as outdated when it changes, unless Catalogued
// was called: then the catalog records the changes. It calls rows for a lookup of rows that
// are up to date.
type cataloged interface {
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

// wrapper is a store that lists from its catalog.
type wrapper struct {
	store.Store
	catalog *Catalogue
}

// Unwrap returns the store that notifies the catalog of changes.
func (w *wrapper) Unwrap() store.Store { return w.Store }

// List lists from the catalog.
func (w *wrapper) List(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	return w.catalog.List(ctx, q)
}

// Page returns a page of the list from the catalog.
func (w *wrapper) Page(ctx context.Context, q store.Query, after Cursor) (Page, error) {
	return w.catalog.Page(ctx, q, after)
}

// Ordered returns a page of the list in another order from the catalog.
func (w *wrapper) Ordered(ctx context.Context, q store.Query, order Order, cursor string) (Ordered, error) {
	return w.catalog.Ordered(ctx, q, order, cursor)
}

// Since returns the changes of the catalog after a position.
func (w *wrapper) Since(ctx context.Context, from Feed) ([]store.Info, bool, Feed, error) {
	return w.catalog.Since(ctx, from)
}

// Count returns the number of matching sessions from the catalog.
func (w *wrapper) Count(ctx context.Context, q store.Query) (int, error) {
	return w.catalog.Count(ctx, q)
}

// Close closes the catalog, which still needs the store, and then the store.
func (w *wrapper) Close() error {
	return errors.Join(w.catalog.Close(), w.Store.Close())
}

// watcher records changes in a catalog.
type watcher struct{ catalog *Catalogue }

// Before is called before a change.
func (w watcher) Before(firn.ID, bool) error { return w.catalog.beginChange() }

// After records the change of a session. After a purge it also removes the erased text from
// the catalog; if that fails, repeating the purge tries again.
func (w watcher) After(ctx context.Context, id firn.ID, purge bool) error {
	w.catalog.endChange(id, purge)
	if !purge {
		return nil
	}
	if err := w.catalog.flush(ctx); err != nil {
		return fmt.Errorf("purge session %s: the catalog may still contain erased text: %w", id, err)
	}
	return nil
}
