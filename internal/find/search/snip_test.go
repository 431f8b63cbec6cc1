package search

import (
	"strings"
	"testing"
	"time"
)

// TestSnipWithinKey finds a word in the middle of a long key and checks that clean sees the
// start of the key.
func TestSnipWithinKey(t *testing.T) {
	line := strings.Repeat("MIIEabcd", 8) + "\n"
	text := "see this:\n-----BEGIN PRIVATE KEY-----\n" + strings.Repeat(line, 100) + "needle\n" + strings.Repeat(line, 100) + "-----END PRIVATE KEY-----\nand that"
	q, err := Parse("needle", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	clean := func(piece string) string {
		if at := strings.Index(piece, "-----BEGIN"); at >= 0 {
			return piece[:at] + "[secret]"
		}
		return piece
	}
	if piece, _ := Excerpt(text, q.Want.Positive(), 1024, clean); strings.Contains(piece, "MIIE") || !strings.Contains(piece, "[secret]") {
		t.Errorf("a piece of the key is shown: %s", piece)
	}
	after := strings.Index(text, "and that")
	if got := BlockStart(text, after); got != after {
		t.Errorf("after the key it begins at %d, not %d", got, after)
	}
}
