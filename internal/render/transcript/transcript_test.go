package transcript

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"firn.dev/wire"
)

// lines are entries of a session, as they are stored.
var lines = []string{
	`{"type":"message","id":"a","message":{"role":"system","content":"be brief"}}`,
	`{"type":"message","id":"b","message":{"role":"user","content":"read it; my key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"}}`,
	`{"type":"message","id":"c","message":{"role":"assistant","content":[{"type":"text","text":"**Sure.**"},{"type":"toolCall","name":"read","arguments":{"path":"a.md"}}]}}`,
	"{\"type\":\"message\",\"id\":\"d\",\"message\":{\"role\":\"toolResult\",\"toolName\":\"read\",\"content\":[{\"type\":\"text\",\"text\":\"```\\ncode\\n```\"}]}}",
	`{"type":"message","id":"e","message":{"role":"assistant","content":[{"type":"text","text":"Done.\u001b[2J"}]}}`,
	`{"type":"custom","id":"f","customType":"x","data":{}}`,
}

const want = "# A title\n\nSession s1, 2026-01-02 03:04 UTC\n\n## You\n\nread it; my key is [secret]\n\n## Agent\n\n**Sure.**\n\n- **read** `{\"path\":\"a.md\"}`\n\n" +
	"````\n```\ncode\n```\n````\n\nDone. [2J\n"

func TestTranscript(t *testing.T) {
	var b strings.Builder
	w := New(&b, wire.Session{ID: "s1", Title: "A title", Created: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)})
	for _, l := range lines {
		if err := w.Entry(wire.Entry{Line: json.RawMessage(l)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Entry(wire.Entry{Line: json.RawMessage(lines[1]), Out: "tombstoned"}); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestFileName checks that names are never empty and have no secrets.
func TestFileName(t *testing.T) {
	for title, want := range map[string]string{
		"Fix the login, again!": "fix-the-login-again",
		"":                      "session",
		"?!":                    "session",
		"use ghp_" + "x7Kq9ZbT2mWv4RnY8cLp1DsF6hJg3QaE5uXo here": "use-secret-here",
		strings.Repeat("ab ", 40):                                strings.Repeat("ab-", 13) + "a",
	} {
		if got := FileName(title); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
}

// FuzzTranscript writes any line without escape sequences.
func FuzzTranscript(f *testing.F) {
	for _, l := range lines {
		f.Add(l)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var b strings.Builder
		if err := New(&b, wire.Session{ID: "s1"}).Entry(wire.Entry{Line: json.RawMessage(line)}); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsRune(b.String(), '\x1b') {
			t.Errorf("an escape sequence in %q", b.String())
		}
	})
}
