// Package witness reports every change to the sessions of a store, so that derived data
// such as an index can be kept up to date.
//
// It reports only changes made through the wrapped store.
package witness

import (
	"context"
	"errors"

	"firn.dev"
	"firn.dev/store"
)

// Witness is notified of changes. It must be safe for concurrent use.
type Witness interface {
	// Before is called before a session is changed. purge is set if data will be erased. An
	// error prevents the change.
	Before(id firn.ID, purge bool) error
	// After is called after a change or a failed attempt. Its error is returned to the
	// caller, although the change was made.
	After(ctx context.Context, id firn.ID, purge bool) error
}

// Wrap returns the store with a witness. Other capabilities of the store are found with
// [store.As] as before.
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

// wrapper wraps the methods of every store.
type wrapper struct {
	store.Store
	witness Witness
}

// Unwrap returns the wrapped store.
func (w *wrapper) Unwrap() store.Store { return w.Store }

// Append implements store.Store.
func (w *wrapper) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (end store.Pos, err error) {
	err = observe(ctx, w.witness, id, false, func() error {
		end, err = w.Store.Append(ctx, id, expect, entries...)
		return err
	})
	return end, err
}

// observe makes a change and calls the witness before and after it.
func observe(ctx context.Context, w Witness, id firn.ID, purge bool, change func() error) error {
	if err := w.Before(id, purge); err != nil {
		return err
	}
	err := change()
	if after := w.After(ctx, id, purge); after != nil {
		err = errors.Join(err, after)
	}
	return err
}

// deferring wraps a [store.Deferred].
type deferring struct {
	deferred store.Deferred
	witness  Witness
}

// AppendDeferred implements store.Deferred.
func (d deferring) AppendDeferred(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (end store.Pos, err error) {
	err = observe(ctx, d.witness, id, false, func() error {
		end, err = d.deferred.AppendDeferred(ctx, id, expect, entries...)
		return err
	})
	return end, err
}

// Sync implements store.Deferred. It is not reported.
func (d deferring) Sync(ctx context.Context, id firn.ID) error { return d.deferred.Sync(ctx, id) }

// removing wraps a [store.Remover].
type removing struct {
	remover store.Remover
	witness Witness
}

// Archive implements store.Remover.
func (r removing) Archive(ctx context.Context, id firn.ID) error {
	return observe(ctx, r.witness, id, false, func() error { return r.remover.Archive(ctx, id) })
}

// Unarchive implements store.Remover.
func (r removing) Unarchive(ctx context.Context, id firn.ID) error {
	return observe(ctx, r.witness, id, false, func() error { return r.remover.Unarchive(ctx, id) })
}

// Remove implements store.Remover.
func (r removing) Remove(ctx context.Context, id firn.ID, reason string) error {
	return observe(ctx, r.witness, id, false, func() error { return r.remover.Remove(ctx, id, reason) })
}

// Restore implements store.Remover.
func (r removing) Restore(ctx context.Context, id firn.ID) error {
	return observe(ctx, r.witness, id, false, func() error { return r.remover.Restore(ctx, id) })
}

// Purge implements store.Remover.
func (r removing) Purge(ctx context.Context, id firn.ID, reason string, entries ...firn.EntryID) (receipt store.Receipt, err error) {
	err = observe(ctx, r.witness, id, true, func() error {
		receipt, err = r.remover.Purge(ctx, id, reason, entries...)
		return err
	})
	return receipt, err
}
