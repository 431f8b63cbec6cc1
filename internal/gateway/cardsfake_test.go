package gateway_test

import (
	"context"

	"firn"
	"firn/wire"
)

func (f *fake) Entry(_ context.Context, id firn.ID, ref string, html bool) (wire.Entry, error) {
	return wire.Entry{}, f.note("Entry %s %s %v", id, ref, html)
}

func (f *fake) Image(_ context.Context, id firn.ID, ref string, n int) ([]byte, string, error) {
	return []byte("\x89PNG"), "image/png", f.note("Image %s %s %d", id, ref, n)
}
