package search

import (
	"strings"
	"testing"

	"firn.dev"
)

// TestGroupBySession checks that groups are in the order of their best hits, and hits in theirs.
func TestGroupBySession(t *testing.T) {
	for text, want := range map[string]string{"": "", "a1": "a1", "b1 a1 b2 c1 a2 b3": "b1 b2 b3 a1 a2 c1", "a1 a2 b1": "a1 a2 b1"} {
		var hits []Hit
		for name := range strings.FieldsSeq(text) {
			hits = append(hits, Hit{Session: firn.ID(name[:1]), Entry: firn.EntryID(name)})
		}
		GroupBySession(hits)
		var got []string
		for _, h := range hits {
			got = append(got, string(h.Entry))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s is grouped as %v, want %s", text, got, want)
		}
	}
}
