package cli

import (
	"strings"
	"testing"
	"time"

	"firn.dev/wire"
)

// TestGroupedPlaces checks that the second hit of a session shows its place alone, whatever
// the title contains.
func TestGroupedPlaces(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	p := findCommands{&program{now: func() time.Time { return now }}}
	hit := func(n int) wire.Hit {
		return wire.Hit{Session: "s", Title: "Bug · #12 in the parser", N: n, Entry: "e", Time: now}
	}
	text := p.foundText(wire.Found{Items: []wire.Hit{hit(1), hit(7)}}, false, true)
	if !strings.Contains(text, "\n  #7 e · ") || strings.Count(text, "parser") != 1 {
		t.Errorf("it shows\n%s", text)
	}
}
