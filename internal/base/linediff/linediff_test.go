package linediff_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"firn.dev/internal/base/linediff"
)

// TestHunksRebuild checks that the unchanged lines of the old text and the new lines of the
// hunks make the new text.
func TestHunksRebuild(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "\n", "c", "a longer line\n"}), 0, 40)
		before := linediff.Lines(strings.Join(text.Draw(t, "before"), ""))
		after := linediff.Lines(strings.Join(text.Draw(t, "after"), ""))
		var got []string
		at := 0
		for _, h := range linediff.Hunks(before, after) {
			got = append(append(got, before[at:h.OldStart]...), after[h.NewStart:h.NewEnd]...)
			at = h.OldEnd
		}
		got = append(got, before[at:]...)
		if strings.Join(got, "") != strings.Join(after, "") {
			t.Fatalf("%q to %q gave %q", before, after, got)
		}
	})
}

func TestLines(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 1, "a\n": 1, "a\nb": 2, "\n\n": 2} {
		if got := linediff.Lines(text); len(got) != want || strings.Join(got, "") != text {
			t.Errorf("%q has %q", text, got)
		}
	}
}

func TestUnified(t *testing.T) {
	got := linediff.Unified("a/x", "b/x", "one\ntwo\nthree\n", "one\n2\nthree\nfour\n")
	want := "--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four\n"
	if got != want {
		t.Errorf("got\n%s", got)
	}
	if got := linediff.Unified("a", "b", "x\n", "x\n"); got != "" {
		t.Errorf("equal texts: %q", got)
	}
	if added, removed := linediff.Count("one\ntwo\n", "one\n2\n3\n"); added != 2 || removed != 1 {
		t.Errorf("%d added, %d removed", added, removed)
	}
}
