package fulltext

import (
	"fmt"
	"strings"
	"testing"

	"firn.dev"
)

// TestProgressWithinOneSession indexes a single session: progress is reported before
// it is done, and ends at exactly its size.
func TestProgressWithinOneSession(t *testing.T) {
	b := newTestIndex(t)
	const id = firn.ID("long")
	var entries []firn.Entry
	for i := range 60 {
		entries = append(entries, firn.UserText(fmt.Sprint(i, " ", strings.Repeat("some words that are said again and again ", 3000))))
	}
	b.append(id, entries...)
	s, err := b.index.src.Status(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var parts []int64
	r := &reader{src: b.index.src, sourceOf: b.index.sourceOf, emit: func(c change) error {
		parts = append(parts, c.read)
		return nil
	}}
	if err := r.session(t.Context(), s, nil); err != nil {
		t.Fatal(err)
	}
	var all int64
	for _, n := range parts {
		all += n
	}
	if all != s.Bytes || len(parts) < 4 || parts[0] <= 0 || parts[0] > s.Bytes/3 {
		t.Errorf("of %d bytes %v were reported", s.Bytes, parts)
	}
}
