package provider

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"firn.dev"
)

// TestCutAtStop checks that the streamed text and the message end before the first sequence,
// however the text is split.
func TestCutAtStop(t *testing.T) {
	for _, c := range []struct{ text, stop, want string }{
		{"one END two", "END", "one "}, {"one two", "END", "one two"}, {"EN", "END", "EN"}, {"ENEND", "END", "EN"}, {"END", "END", ""},
		{"a\n\nb", "\n\n", "a"}, {"a\nb\n", "\n\n", "a\nb\n"}, {"abcabd", "abd", "abc"}, {"x STOP y HALT", "HALT|STOP", "x "}, {"naïve é", "é", "naïve "},
	} {
		for size := 1; size <= len(c.text); size++ {
			streamed, message := cutBySize(t, c.text, strings.Split(c.stop, "|"), size)
			if streamed != c.want || message.Text() != c.want {
				t.Errorf("%q until %q in pieces of %d: streamed %q, message %q, want %q", c.text, c.stop, size, streamed, message.Text(), c.want)
			}
			if called := len(message.Parts) > 0 && fmt.Sprintf("%T", message.Parts[len(message.Parts)-1]) == "firn.ToolCall"; called != (c.want == c.text) {
				t.Errorf("%q until %q: the parts are %v", c.text, c.stop, message.Parts)
			}
		}
	}
}

// cutBySize streams a text in pieces, followed by a call, and returns what is left.
func cutBySize(t *testing.T, text string, stop []string, size int) (streamed string, message firn.Message) {
	t.Helper()
	for event, err := range cutAtStop(pieces(text, size), stop) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := event.(type) {
		case TextDelta:
			streamed += e.Text
		case Done:
			message = e.Message
		}
	}
	return streamed, message
}

// pieces streams a text in pieces of a size, followed by a call.
func pieces(text string, size int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if !yield(TextDelta{Text: rest[:n]}, nil) {
				return
			}
			rest = rest[n:]
		}
		call := firn.ToolCall{ID: "1", Name: "weather"}
		if yield(CallDelta{ID: call.ID, Name: call.Name}, nil) {
			yield(Done{Message: firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.Text{Text: text}, call}, StopReason: firn.StopToolUse}}, nil)
		}
	}
}
