package view

import (
	"bytes"
	"testing"

	"firn.dev"
	"firn.dev/window"
)

// TestTailSizeIncludesExtraFields checks that extra fields of imported entries count toward the
// size, and that a path that is too large is not cached.
func TestTailSizeIncludesExtraFields(t *testing.T) {
	carried := firn.Fields{{Name: "origin", Value: bytes.Repeat([]byte("1"), 1000)}}
	entry := firn.NewEntry(firn.UserText("hello").Body)
	entry.Extra = carried
	inside := firn.NewEntry(firn.UserText("hello").Body)
	inside.Body.(*firn.Message).Extra = carried
	for name, e := range map[string]firn.Entry{"beside the entry": entry, "in the message": inside} {
		kept := newResidentCache(3000)
		kept.Keep("s", window.Path{Entries: []firn.Entry{e}})
		if _, ok := kept.Load("s"); ok {
			t.Errorf("%s: it is kept, and counted as %d bytes", name, kept.used)
		}
	}
}
