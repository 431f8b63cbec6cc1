package index

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"firn"
	"firn/store"
)

// Wrap returns the store with a catalogue that is kept up to date: changes
// that go through it are noted, which costs no I/O, and are written down with
// the next list or on Close. List answers from the catalogue. What else the
// store can do is found with [store.As] as before.
//
// The catalogue's source must be the store. Closing the wrapper closes both.
func Wrap(s store.Store, c *Catalogue) store.Store {
	w := &wrapper{Store: s, catalogue: c}
	deferred, defers := store.As[store.Deferred](s)
	remover, removes := store.As[store.Remover](s)
	d, r := deferring{deferred, c}, removing{remover, c}
	switch {
	case defers && removes:
		return struct {
			*wrapper
			deferring
			removing
		}{w, d, r}
	case defers:
		return struct {
			*wrapper
			deferring
		}{w, d}
	case removes:
		return struct {
			*wrapper
			removing
		}{w, r}
	}
	return w
}

// wrapper is the part that every store has.
type wrapper struct {
	store.Store
	catalogue *Catalogue
}

// Unwrap returns the store itself.
func (w *wrapper) Unwrap() store.Store { return w.Store }

// Append appends and notes the session.
func (w *wrapper) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	if err := w.catalogue.begin(); err != nil {
		return 0, err
	}
	defer w.catalogue.done(id, false)
	return w.Store.Append(ctx, id, expect, entries...)
}

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

// deferring is the part of a [store.Deferred].
type deferring struct {
	deferred  store.Deferred
	catalogue *Catalogue
}

// AppendDeferred appends and notes the session.
func (d deferring) AppendDeferred(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	if err := d.catalogue.begin(); err != nil {
		return 0, err
	}
	defer d.catalogue.done(id, false)
	return d.deferred.AppendDeferred(ctx, id, expect, entries...)
}

// Sync makes durable what was appended, which the catalogue knows already.
func (d deferring) Sync(ctx context.Context, id firn.ID) error { return d.deferred.Sync(ctx, id) }

// removing is the part of a [store.Remover].
type removing struct {
	remover   store.Remover
	catalogue *Catalogue
}

// note does something to a session and notes it.
func (r removing) note(id firn.ID, do func() error) error {
	if err := r.catalogue.begin(); err != nil {
		return err
	}
	defer r.catalogue.done(id, false)
	return do()
}

// Archive archives the session and notes it.
func (r removing) Archive(ctx context.Context, id firn.ID) error {
	return r.note(id, func() error { return r.remover.Archive(ctx, id) })
}

// Unarchive undoes Archive and notes the session.
func (r removing) Unarchive(ctx context.Context, id firn.ID) error {
	return r.note(id, func() error { return r.remover.Unarchive(ctx, id) })
}

// Remove removes the session and notes it.
func (r removing) Remove(ctx context.Context, id firn.ID, reason string) error {
	return r.note(id, func() error { return r.remover.Remove(ctx, id, reason) })
}

// Restore undoes Remove and notes the session.
func (r removing) Restore(ctx context.Context, id firn.ID) error {
	return r.note(id, func() error { return r.remover.Restore(ctx, id) })
}

// Purge erases, and sees to it that the catalogue does not tell any longer
// what was erased. If that fails, the purge is done all the same, and calling
// it again tries again.
func (r removing) Purge(ctx context.Context, id firn.ID, reason string, entries ...firn.EntryID) (store.Receipt, error) {
	if err := r.catalogue.begin(); err != nil {
		return store.Receipt{}, err
	}
	receipt, err := r.remover.Purge(ctx, id, reason, entries...)
	r.catalogue.done(id, true)
	if flushErr := r.catalogue.flush(ctx); flushErr != nil {
		err = errors.Join(err, fmt.Errorf("purge session %s: the catalogue may still tell what was erased: %w", id, flushErr))
	}
	return receipt, err
}
