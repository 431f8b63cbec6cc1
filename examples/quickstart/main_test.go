package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestRemember runs the example twice: the second run continues the same session.
func TestRemember(t *testing.T) {
	home := t.TempDir()
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := remember(t.Context(), out, home); err != nil {
			t.Fatal(err)
		}
	}
	id, rest, _ := strings.Cut(first.String(), ": ")
	if !strings.Contains(rest, "sent 1 messages") {
		t.Errorf("the first run prints %q", first.String())
	}
	if again, rest, _ := strings.Cut(second.String(), ": "); again != id || !strings.Contains(rest, "sent 3 messages") {
		t.Errorf("the second run prints %q after %q", second.String(), first.String())
	}
}
