package redact

import (
	"context"
	"slices"

	"firn.dev"
	"firn.dev/store"
)

// Options configures [Wrap].
type Options struct {
	// Enabled reports whether secrets are replaced at the moment.
	Enabled func() bool
	// Replaced is called with the number of secrets replaced in entries that were stored.
	Replaced func(n int)
}

// Wrap returns a store that replaces secrets before it appends to st. Other features of the
// store are available through [store.As]; those that copy whole transcripts, for migration
// and mirrors, copy them unchanged.
func Wrap(st store.Store, o Options) store.Store {
	w := &redacting{st, o}
	if d, ok := store.As[store.Deferred](st); ok {
		return struct {
			*redacting
			deferring
		}{w, deferring{d, o}}
	}
	return w
}

type verbatimKey struct{}

// Verbatim returns a context in which entries are stored unchanged. It is meant for entries
// that other machines store too and that must be the same everywhere.
func Verbatim(ctx context.Context) context.Context {
	return context.WithValue(ctx, verbatimKey{}, true)
}

type countKey struct{}

// WithCount returns a context for one append that adds the number of secrets replaced in it
// to n.
func WithCount(ctx context.Context, n *int) context.Context {
	return context.WithValue(ctx, countKey{}, n)
}

// redacting is a store that replaces secrets.
type redacting struct {
	store.Store
	o Options
}

// Unwrap returns the wrapped store.
func (r *redacting) Unwrap() store.Store { return r.Store }

// Append appends entries without their secrets.
func (r *redacting) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	return r.o.append(ctx, r.Store.Append, id, expect, entries)
}

// deferring implements [store.Deferred].
type deferring struct {
	store.Deferred
	o Options
}

// AppendDeferred appends entries without their secrets.
func (d deferring) AppendDeferred(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	return d.o.append(ctx, d.Deferred.AppendDeferred, id, expect, entries)
}

type appendFunc func(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error)

// append calls add with entries without secrets. The caller's entries are not changed: a turn
// continues with the originals that it has in memory.
func (o Options) append(ctx context.Context, add appendFunc, id firn.ID, expect store.Pos, entries []firn.Entry) (store.Pos, error) {
	if !o.Enabled() || ctx.Value(verbatimKey{}) != nil {
		return add(ctx, id, expect, entries...)
	}
	total := 0
	clean := slices.Clone(entries)
	for i := range clean {
		n := 0
		clean[i], n = Entry(clean[i])
		total += n
	}
	end, err := add(ctx, id, expect, clean...)
	if err == nil && total > 0 {
		o.Replaced(total)
		if n, ok := ctx.Value(countKey{}).(*int); ok {
			*n += total
		}
	}
	return end, err
}
