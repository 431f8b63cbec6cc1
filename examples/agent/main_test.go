package main

import (
	"strings"
	"testing"
)

// TestTalk runs the example twice on the same home: the second run continues the conversation.
func TestTalk(t *testing.T) {
	home := t.TempDir()
	var first, second strings.Builder
	if err := talk(t.Context(), &first, home, "Hello, my name is Ada.", "What is 12*7?"); err != nil {
		t.Fatal(err)
	}
	if err := talk(t.Context(), &second, home, "What is my name?"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(first.String(), "84") || !strings.Contains(second.String(), "Ada") {
		t.Errorf("the runs printed\n%s\nand\n%s", first.String(), second.String())
	}
}
