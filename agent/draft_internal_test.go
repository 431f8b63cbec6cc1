package agent

import (
	"testing"

	"firn.dev/provider"
)

// TestHeldDrafts checks that chunks of an answer are marked as held while it may still be
// silent.
func TestHeldDrafts(t *testing.T) {
	for _, c := range []struct {
		mode   Silence
		pieces []string
		held   []bool
	}{
		{SilentMark, []string{"NO_", "REPLY", " because"}, []bool{true, true, true}},
		{SilentMark, []string{"NO", "TE", " this"}, []bool{true, false, false}},
		{SilentExact, []string{"NO_REPLY", " because"}, []bool{true, false}},
		{SilentNever, []string{"NO_REPLY"}, []bool{false}},
	} {
		d := newDraft(c.mode)
		for i, piece := range c.pieces {
			d.add(provider.ThinkingDelta{Text: "hm"})
			if p := d.take(); p.Held {
				t.Errorf("%q %q: thinking is held", c.mode, c.pieces)
			}
			d.add(provider.TextDelta{Text: piece})
			if p := d.take(); p.Text != piece || p.Held != c.held[i] {
				t.Errorf("%q %q: chunk %d is %+v", c.mode, c.pieces, i, p)
			}
		}
	}
}
