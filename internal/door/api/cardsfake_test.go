package api_test

import (
	"context"
	"iter"

	"firn.dev"
	"firn.dev/wire"
)

func (f *fake) Entry(_ context.Context, id firn.ID, ref string, html bool) (wire.Entry, error) {
	return wire.Entry{Line: f.exact}, f.note("Entry %s %s %v", id, ref, html)
}

func (f *fake) Image(_ context.Context, id firn.ID, ref string, n int) ([]byte, string, error) {
	return []byte("\x89PNG"), "image/png", f.note("Image %s %s %d", id, ref, n)
}

func (f *fake) PageEvents(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[wire.Event, error] {
	if err := f.note("PageEvents %s %d", id, after); err != nil {
		return func(yield func(wire.Event, error) bool) { yield(wire.Event{}, err) }
	}
	return f.Events(ctx, id, after)
}
