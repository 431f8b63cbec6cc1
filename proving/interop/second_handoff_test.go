package interop

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store/filestore"
)

// TestSecondHandoff hands a session to a tool, continues it there, and hands it over again.
// The first transcript must stay usable, with the messages that were added in the tool.
func TestSecondHandoff(t *testing.T) {
	for _, to := range targets() {
		if to.all && !everything() {
			continue
		}
		t.Run(to.name, func(t *testing.T) {
			t.Parallel()
			s := newSession(t, filestore.Options{})
			s.talk(t, "one")
			c := to.start(t)
			first := s.handoff(t, c.tool, c.home, c.cwd)
			firstID := ownID(t, first.File) // OpenClaw imports the file and moves it
			c.ask(t, "said in the tool", slices.Clone(first.Resume[1:])...)
			s.talk(t, "two")
			second := s.handoff(t, c.tool, c.home, c.cwd)
			if first.File == second.File {
				t.Fatalf("both are in %s", first.File)
			}
			if id := ownID(t, second.File); id == firstID || firstID == "" || id == "" || !strings.Contains(second.File, id) {
				t.Errorf("the ids in the transcripts are %q and %q, in %s", firstID, id, second.File)
			}
			sent := strings.Join(c.ask(t, "what was it?", slices.Clone(first.Resume[1:])...), "\n")
			if !strings.Contains(sent, "user: said in the tool") || strings.Contains(sent, "ask two") {
				t.Errorf("the first continues with\n%s", sent)
			}
			sent = strings.Join(c.ask(t, "what was it?", second.Resume[1:]...), "\n")
			if strings.Contains(sent, "user: said in the tool") || !strings.Contains(sent, "ask two") {
				t.Errorf("the second continues with\n%s", sent)
			}
		})
	}
}

// ownID returns the session ID in a transcript of any of the tools.
func ownID(t *testing.T, file string) string {
	t.Helper()
	var first struct {
		ID, SessionID string
		Payload       struct{ ID string }
	}
	line, _, _ := strings.Cut(string(readFile(t, file)), "\n")
	if err := json.Unmarshal([]byte(line), &first); err != nil {
		t.Fatal(err)
	}
	return first.Payload.ID + first.SessionID + first.ID
}

// TestSecondHandoffToOpenClaw checks the session table after two handoffs: one row for
// each, without duplicate keys.
func TestSecondHandoffToOpenClaw(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s := newSession(t, filestore.Options{})
	s.talk(t, "one")
	plain := openHome(t, t.TempDir(), filestore.Options{})
	plain.talk(t, "one")
	for _, s := range []*session{s, plain, plain, s, plain} {
		s.handoff(t, "openclaw", home, t.TempDir())
	}
	d := json.NewDecoder(strings.NewReader(string(readFile(t, filepath.Join(home, "agents", "main", "sessions", "sessions.json")))))
	d.Token()
	var keys []string
	rows := make(map[string]bool)
	for d.More() {
		key, err := d.Token()
		var row struct{ SessionID string }
		if err == nil {
			err = d.Decode(&row)
		}
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(keys, key.(string)) || rows[row.SessionID] {
			t.Errorf("the key %s of session %s is stored twice", key, row.SessionID)
		}
		keys, rows[row.SessionID] = append(keys, key.(string)), true
	}
	if len(keys) != 4 { // a key of firn points at the latest
		t.Errorf("the keys are %q", keys)
	}
}

// TestSecondHandoffOfOwnTranscript does the same with transcripts that the tool itself wrote,
// whose lines are copied: each copy must be continued in its own file.
func TestSecondHandoffOfOwnTranscript(t *testing.T) {
	for tool, file := range map[string]string{
		"claude": "claudecode/testdata/transcripts/real-tools-compact-rename.jsonl",
		"codex":  "codex/testdata/rollout-2026-11-15T21-34-06-01a1e121-bc52-7613-ad59-b80dc54c94a9.jsonl",
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			s := openHome(t, home, filestore.Options{})
			s.id = firn.ID(importFile(t, home, absolute(t, "../../internal/formats/dialect/"+file)).Session.ID)
			c := newCodex(t).client()
			if tool == "claude" {
				c = newClaude(t).client()
			}
			first := s.handoff(t, c.tool, c.home, c.cwd)
			c.ask(t, "said in the tool", slices.Clone(first.Resume[1:])...)
			second := s.handoff(t, c.tool, c.home, c.cwd)
			if first.File == second.File {
				t.Fatalf("both are in %s", first.File)
			}
			before := readFile(t, first.File)
			sent := strings.Join(c.ask(t, "what was it?", second.Resume[1:]...), "\n")
			if strings.Contains(sent, "user: said in the tool") || !strings.Contains(sent, "what was it?") {
				t.Errorf("the second continues with\n%s", sent)
			}
			if string(readFile(t, first.File)) != string(before) || !strings.Contains(string(readFile(t, second.File)), "what was it?") {
				t.Error("the question was not added to the second transcript only")
			}
			sent = strings.Join(c.ask(t, "and the first?", first.Resume[1:]...), "\n")
			if !strings.Contains(sent, "user: said in the tool") || strings.Contains(sent, "what was it?") {
				t.Errorf("the first continues with\n%s", sent)
			}
		})
	}
}
