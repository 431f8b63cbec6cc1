package agent

import (
	"testing"

	"firn.dev"
	"firn.dev/window"
)

// TestFirstExchange names a session after how it began, not after the message that continued
// it.
func TestFirstExchange(t *testing.T) {
	message := func(role firn.Role, text string) firn.Message {
		return firn.Message{Role: role, Parts: []firn.Part{firn.Text{Text: text}}}
	}
	path := window.PathOf([]firn.Message{
		message(firn.RoleUser, "read the note"), message(firn.RoleAssistant, ""), message(firn.RoleAssistant, "It says hello."),
		message(firn.RoleUser, "my boat is green"), message(firn.RoleAssistant, "Noted."),
	})
	if content, answer := firstExchange(path); content != "read the note" || answer != "It says hello." {
		t.Errorf("the session begins with %q, %q", content, answer)
	}
	if content, answer := firstExchange(window.Path{}); content+answer != "" {
		t.Errorf("an empty session begins with %q, %q", content, answer)
	}
}
