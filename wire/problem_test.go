package wire_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"firn.dev"
	"firn.dev/wire"
)

// TestKindOf checks the kinds of errors, including errors that match several.
func TestKindOf(t *testing.T) {
	for err, want := range map[error]wire.Kind{
		fmt.Errorf("read it: %w", firn.ErrNotFound):                                  wire.NotFound,
		fmt.Errorf("append: %w: %w", firn.ErrNotSaved, firn.ErrUnavailable):          wire.Unavailable,
		fmt.Errorf("read it: %w: %w", firn.ErrUnavailable, context.DeadlineExceeded): wire.Unavailable,
		// Our own deadline: a retry may succeed.
		fmt.Errorf("read it: %w", context.DeadlineExceeded): wire.Unavailable,
		fmt.Errorf("read it: %w", context.Canceled):         wire.Internal,
		fmt.Errorf("bind: %w", firn.ErrReplaced):            wire.NotSaved,
		errors.New("what nobody thought of"):                wire.Internal,
		&wire.Problem{Kind: wire.Busy}:                      wire.Busy,
	} {
		if got := wire.KindOf(err); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
}
