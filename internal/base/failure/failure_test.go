package failure_test

import (
	"errors"
	"fmt"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/failure"
)

// TestOf checks that the kind is found through wrapping, and that the message omits it.
func TestOf(t *testing.T) {
	err := fmt.Errorf("wrapped: %w", failure.Of(firn.ErrNotFound, "no gateway is running in %s", "x"))
	if !errors.Is(err, firn.ErrNotFound) || errors.Is(err, firn.ErrInvalid) {
		t.Errorf("kind of %v", err)
	}
	if got, want := err.Error(), "wrapped: no gateway is running in x"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

// TestHint checks that a hint is found through wrapping, and changes neither the kind nor the
// message.
func TestHint(t *testing.T) {
	err := fmt.Errorf("wrapped: %w", failure.WithHint(failure.Of(firn.ErrNotFound, "no target"), "add one"))
	if failure.Hint(err) != "add one" || !errors.Is(err, firn.ErrNotFound) || err.Error() != "wrapped: no target" {
		t.Errorf("hint %q of %v", failure.Hint(err), err)
	}
	if got := failure.Hint(firn.ErrNotFound); got != "" {
		t.Errorf("hint %q of an error without one", got)
	}
}
