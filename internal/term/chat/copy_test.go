package chat

import (
	"strings"
	"testing"

	"firn.dev/provider/scripted"
)

// TestCopy copies the last answer to the terminal's clipboard, as the model wrote it.
func TestCopy(t *testing.T) {
	answer := "A **bold** line.\n\n- " + strings.Repeat("ünï ", 60) + "end"
	d := newBoardTest(t, nil, scripted.Reply("The first."), scripted.Reply(answer))
	d.press("/copy\r")
	d.sees("this session has no messages")
	d.press("one\r")
	d.sees("The first.")
	d.press("two\r")
	d.sees("end")
	d.screen.AwaitThat(t, "the turn is over", func() bool { return strings.Count(d.screen.All(), "on disk") == 2 })
	d.press("/copy\r")
	d.sees("copied 263 characters")
	if got := d.screen.Copied(); got != answer {
		t.Errorf("the clipboard has %q, want %q", got, answer)
	}
	d.press("\x04")
	if err := d.wait(); err != nil {
		t.Error(err)
	}
}
