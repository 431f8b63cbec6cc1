package agent_test

import (
	"testing"
	"time"

	"firn.dev"
	"firn.dev/agent"
)

// TestActiveTime checks the duration of turns: from the user's message to the last answer,
// excluding the time until the user's next message, and long pauses.
func TestActiveTime(t *testing.T) {
	begin := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	text := func(role firn.Role, after time.Duration) firn.Entry {
		e := firn.NewEntry(&firn.Message{Role: role, Parts: []firn.Part{firn.Text{Text: "x"}}})
		e.Time = begin.Add(after)
		return e
	}
	var c agent.Counters
	for _, e := range []firn.Entry{
		text(firn.RoleUser, 0), text(firn.RoleAssistant, 2*time.Second), text(firn.RoleToolResult, 5*time.Second), text(firn.RoleAssistant, 6*time.Second),
		text(firn.RoleUser, time.Minute), text(firn.RoleAssistant, time.Minute+500*time.Millisecond),
		text(firn.RoleUser, time.Hour), text(firn.RoleAssistant, 9*time.Hour), // interrupted, and answered the next morning
		text(firn.RoleUser, 10*time.Hour), text(firn.RoleAssistant, 10*time.Hour-time.Minute), // the clock was set back
	} {
		c.Add(e)
	}
	if c.Active != 6500 || c.Messages != 10 || c.Turns != 4 {
		t.Errorf("counters: %+v", c)
	}
}
