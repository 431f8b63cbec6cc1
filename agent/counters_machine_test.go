package agent

import (
	"encoding/json"
	"testing"

	"firn.dev"
)

// TestMachineTurnsAreCounted checks that a message from a hook or a timer starts a turn, and
// that an entry appended by a program does not.
func TestMachineTurnsAreCounted(t *testing.T) {
	var c Counters
	e := firn.NewEntry(&firn.CustomMessage{Type: "firn.machine", Parts: []firn.Part{firn.Text{Text: "Deployed."}}})
	c.Add(e)
	if c.Turns != 0 {
		t.Fatalf("%d turns were counted for entries that started none", c.Turns)
	}
	e.Extra = append(e.Extra, firn.Field{Name: "by", Value: json.RawMessage(`"hook:deploy"`)})
	c.Add(e)
	if c.Turns != 1 || c.Messages != 1 || !affectsCounts(e.Body.Kind()) {
		t.Errorf("%d turns and %d messages were counted, not 1", c.Turns, c.Messages)
	}
}
