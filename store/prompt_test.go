package store_test

import (
	"encoding/json"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
)

// TestPrompt checks that the prompt of a session is what the user wrote, without the tags and
// notes of tools.
func TestPrompt(t *testing.T) {
	long := strings.Repeat("note ", 50)
	for _, c := range []struct{ text, want string }{
		{"Fix the build", "Fix the build"},
		{"  a < b and <b>bold</b> ", "a < b and <b>bold</b>"},
		{"<command-message>init is analyzing</command-message>\n<command-name>/init</command-name>", "/init"},
		{"<system-reminder>" + long + "</system-reminder>Fix it", "Fix it"},
		{"<user_query>Fix it</user_query>", "Fix it"},
		{"<local-command-caveat>Written by a tool.</local-command-caveat>", "Written by a tool."},
		{"<system-reminder>" + long, strings.TrimSpace(long)},
		{"Fix it <system-reminder>cut", "Fix it"},
		{"<", "<"},
		{"<a-", "<a-"},
		{"</", "</"},
		{"<a-b>", ""},
	} {
		var g store.Gist
		g.Add(firn.Entry{Body: &firn.Header{Session: "s"}})
		g.Add(firn.Entry{ID: "1", Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: c.text}}}})
		if got := g.Info().Prompt; got != firn.CutText(c.want, 100) {
			t.Errorf("the prompt of %q is %q, want %q", c.text, got, c.want)
		}
	}
}

// TestImported checks that an info names the tool that a session was imported from.
func TestImported(t *testing.T) {
	for origin, want := range map[string]string{`{"tool":"codex","lines":[{}]}`: "codex", `{"lines":[]}`: "", `"codex"`: "", `{`: ""} {
		var g store.Gist
		g.Add(firn.Entry{Body: &firn.Header{Session: "s"}, Extra: firn.Fields{{Name: "origin", Value: json.RawMessage(origin)}}})
		if got := g.Info().Imported; got != want {
			t.Errorf("with the origin %s the session is imported from %q, want %q", origin, got, want)
		}
	}
}
