package gateway

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"firn.dev"
)

// TestSavingHint checks the hints of failed writes.
func TestSavingHint(t *testing.T) {
	for hint, err := range map[string]error{
		"free some disk space":     fmt.Errorf("append: %w: %w", firn.ErrNotSaved, syscall.ENOSPC),
		"another program replaced": fmt.Errorf("append: %w: %w", firn.ErrNotSaved, firn.ErrReplaced),
	} {
		if got := ProblemOf(err).Hint; !strings.Contains(got, hint) {
			t.Errorf("%v: the hint is %q", err, got)
		}
	}
	if got := ProblemOf(firn.ErrNotFound).Hint; got != "" {
		t.Errorf("not found: the hint is %q", got)
	}
}
