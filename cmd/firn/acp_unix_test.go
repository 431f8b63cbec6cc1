//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"
)

// TestACPCancel stops a turn in the middle of an answer: the prompt reports it, the partial
// answer is kept, and the session continues.
func TestACPCancel(t *testing.T) {
	home, server := t.TempDir(), newSlowServer(t)
	e := startACP(t, home, []string{"OPENAI_BASE_URL=" + server.URL}, "-m", "openai/slow")
	id := e.newSession()
	ended := make(chan acp.StopReason)
	go func() { ended <- e.prompt(id, "count") }()
	e.await("one two ")
	if err := e.conn.Cancel(t.Context(), acp.CancelNotification{SessionId: id}); err != nil {
		t.Fatal(err)
	}
	if why := <-ended; why != acp.StopReasonCancelled {
		t.Errorf("it ended with %s", why)
	}
	e.quit()
	var messages int
	for line := range strings.SplitSeq(outputs(t, home, "cat", string(id), "--json"), "\n") {
		var entry struct {
			Line struct {
				Message struct{ Role, StopReason string }
			}
			Message struct{ Role, StopReason string }
		}
		if json.Unmarshal([]byte(line), &entry) == nil && (entry.Message.StopReason == "aborted" || entry.Line.Message.StopReason == "aborted") {
			messages++
		}
	}
	if messages != 1 {
		t.Errorf("%d answers are marked as stopped:\n%s", messages, outputs(t, home, "cat", string(id), "--json"))
	}
	verifies(t, home)
}
