package fulltext

import (
	"context"
	"errors"
	"fmt"

	"firn"
	"firn/store"
)

// Wrap returns the store with an index that is kept up to date: changes that go
// through it are noted, which costs next to nothing. What else the store can do
// is found with [store.As] as before. Closing the wrapper closes both.
func Wrap(s store.Store, x *Index) store.Store {
	w := &wrapper{Store: s, index: x}
	deferred, defers := store.As[store.Deferred](s)
	remover, removes := store.As[store.Remover](s)
	d, r := deferring{deferred, x}, removing{remover, x}
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
	index *Index
}

// Unwrap returns the store itself.
func (w *wrapper) Unwrap() store.Store { return w.Store }

// Append appends and notes the session.
func (w *wrapper) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	end, err := w.Store.Append(ctx, id, expect, entries...)
	w.index.Touch(id)
	return end, err
}

// Close closes the index, while it can still read the store, and the store.
func (w *wrapper) Close() error { return errors.Join(w.index.Close(), w.Store.Close()) }

// deferring is the part of a [store.Deferred].
type deferring struct {
	deferred store.Deferred
	index    *Index
}

// AppendDeferred appends and notes the session.
func (d deferring) AppendDeferred(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	end, err := d.deferred.AppendDeferred(ctx, id, expect, entries...)
	d.index.Touch(id)
	return end, err
}

// Sync makes durable what was appended.
func (d deferring) Sync(ctx context.Context, id firn.ID) error { return d.deferred.Sync(ctx, id) }

// removing is the part of a [store.Remover].
type removing struct {
	remover store.Remover
	index   *Index
}

// Archive archives the session and notes it.
func (r removing) Archive(ctx context.Context, id firn.ID) error {
	defer r.index.Touch(id)
	return r.remover.Archive(ctx, id)
}

// Unarchive undoes Archive and notes the session.
func (r removing) Unarchive(ctx context.Context, id firn.ID) error {
	defer r.index.Touch(id)
	return r.remover.Unarchive(ctx, id)
}

// Remove removes the session and notes it.
func (r removing) Remove(ctx context.Context, id firn.ID, reason string) error {
	defer r.index.Touch(id)
	return r.remover.Remove(ctx, id, reason)
}

// Restore undoes Remove and notes the session.
func (r removing) Restore(ctx context.Context, id firn.ID) error {
	defer r.index.Touch(id)
	return r.remover.Restore(ctx, id)
}

// Purge erases, and sees to it that the index does not tell any longer what was
// erased. If that fails, the purge is done all the same, and who uses the index
// next tries again.
func (r removing) Purge(ctx context.Context, id firn.ID, reason string, entries ...firn.EntryID) (store.Receipt, error) {
	if err := r.index.mark(id); err != nil {
		return store.Receipt{}, err
	}
	receipt, err := r.remover.Purge(ctx, id, reason, entries...)
	if eraseErr := r.index.Erase(ctx, id); eraseErr != nil {
		err = errors.Join(err, fmt.Errorf("purge session %s: the index of words may still tell what was erased: %w", id, eraseErr))
	}
	return receipt, err
}
