package serve

import (
	"strings"
	"testing"
)

// TestRecallAfterNew checks that a turn after /new recalls the previous session, and nothing
// if the question is about something else.
func TestRecallAfterNew(t *testing.T) {
	c := chatting(t, "", nil)
	ann := func(text string) { c.send("telegram", "direct", "ann", "Ann", text) }
	// recalled returns the recalled text of the last request to the model.
	recalled := func(text string) string {
		ann(text)
		c.model.mu.Lock()
		defer c.model.mu.Unlock()
		var all strings.Builder
		for _, m := range c.model.asked[len(c.model.asked)-1] {
			if at := strings.Index(m.text(), "<recall>\n"); at >= 0 {
				all.WriteString(m.text()[at:])
			}
		}
		return all.String()
	}
	ann("The spare key of the observatory hangs behind the red bicycle in the shed")
	ann("Please write a parser for nested comments with better errors")
	ann("/new")
	if got := recalled("Where does the spare key of the observatory hang?"); !strings.Contains(got, "red bicycle") || strings.Contains(got, "parser") {
		t.Errorf("after /new it recalls %q", got)
	}
	for _, other := range []string{"hello", "thanks, go on", "What is the weather like in Paris tomorrow?", "Where did Tom leave the blue umbrella of the museum yesterday?"} {
		ann("/new")
		if got := recalled(other); got != "" {
			t.Errorf("%s: it recalls %q", other, got)
		}
	}
}
