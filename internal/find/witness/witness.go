// Package witness lets somebody see every change to the sessions of a store:
// what is derived from sessions, such as an index, learns so what is not up to
// date any more.
//
// It sees what goes through the store it wraps, and nothing that others do.
package witness

import (
	"context"
	"errors"

	"firn.dev"
	"firn.dev/store"
)

// Witness sees changes. Several goroutines call it at once.
type Witness interface {
	// Before is called before a session is changed. Purge says that something of
	// it is to be erased for good. An error keeps it from being changed.
	Before(id firn.ID, purge bool) error
	// After is called when it was changed, or could not be. Its error is told to
	// who changed it, for whom it is done all the same.
	After(ctx context.Context, id firn.ID, purge bool) error
}

// Wrap returns the store with a witness. What else the store can do is found
// with [store.As] as before.
func Wrap(s store.Store, w Witness) store.Store {
	all := &wrapper{Store: s, witness: w}
	deferred, defers := store.As[store.Deferred](s)
	remover, removes := store.As[store.Remover](s)
	d, r := deferring{deferred, w}, removing{remover, w}
	switch {
	case defers && removes:
		return struct {
			*wrapper
			deferring
			removing
		}{all, d, r}
	case defers:
		return struct {
			*wrapper
			deferring
		}{all, d}
	case removes:
		return struct {
			*wrapper
			removing
		}{all, r}
	}
	return all
}

// wrapper is the part that every store has.
type wrapper struct {
	store.Store
	witness Witness
}

// Unwrap returns the store itself.
func (w *wrapper) Unwrap() store.Store { return w.Store }

// Append appends.
func (w *wrapper) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (end store.Pos, err error) {
	err = seen(ctx, w.witness, id, false, func() error {
		end, err = w.Store.Append(ctx, id, expect, entries...)
		return err
	})
	return end, err
}

// seen changes a session before the eyes of a witness.
func seen(ctx context.Context, w Witness, id firn.ID, purge bool, change func() error) error {
	if err := w.Before(id, purge); err != nil {
		return err
	}
	err := change()
	if after := w.After(ctx, id, purge); after != nil {
		err = errors.Join(err, after)
	}
	return err
}

// deferring is the part of a [store.Deferred].
type deferring struct {
	deferred store.Deferred
	witness  Witness
}

// AppendDeferred appends.
func (d deferring) AppendDeferred(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (end store.Pos, err error) {
	err = seen(ctx, d.witness, id, false, func() error {
		end, err = d.deferred.AppendDeferred(ctx, id, expect, entries...)
		return err
	})
	return end, err
}

// Sync makes durable what was appended, which was seen already.
func (d deferring) Sync(ctx context.Context, id firn.ID) error { return d.deferred.Sync(ctx, id) }

// removing is the part of a [store.Remover].
type removing struct {
	remover store.Remover
	witness Witness
}

// Archive archives the session.
func (r removing) Archive(ctx context.Context, id firn.ID) error {
	return seen(ctx, r.witness, id, false, func() error { return r.remover.Archive(ctx, id) })
}

// Unarchive undoes Archive.
func (r removing) Unarchive(ctx context.Context, id firn.ID) error {
	return seen(ctx, r.witness, id, false, func() error { return r.remover.Unarchive(ctx, id) })
}

// Remove removes the session.
func (r removing) Remove(ctx context.Context, id firn.ID, reason string) error {
	return seen(ctx, r.witness, id, false, func() error { return r.remover.Remove(ctx, id, reason) })
}

// Restore undoes Remove.
func (r removing) Restore(ctx context.Context, id firn.ID) error {
	return seen(ctx, r.witness, id, false, func() error { return r.remover.Restore(ctx, id) })
}

// Purge erases.
func (r removing) Purge(ctx context.Context, id firn.ID, reason string, entries ...firn.EntryID) (receipt store.Receipt, err error) {
	err = seen(ctx, r.witness, id, true, func() error {
		receipt, err = r.remover.Purge(ctx, id, reason, entries...)
		return err
	})
	return receipt, err
}
