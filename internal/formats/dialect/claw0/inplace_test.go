package claw0

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/sourcestore"
	"firn.dev/store"
)

// TestInPlace appends to sessions of both versions in a store, and creates one: claw0 finds
// the messages by its own indexes and rules.
func TestInPlace(t *testing.T) {
	home := t.TempDir()
	for name, file := range workspace(t) {
		name = filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	st, err := sourcestore.Open(home, New(Options{}), sourcestore.Options{InPlace: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for _, id := range []firn.ID{"6916a7a2e793", "ba3c6d0fa450", "fresh"} {
		for _, e := range []firn.Entry{firn.UserText("more"), firn.AssistantText("no")} {
			if _, err := st.Append(t.Context(), id, store.Any, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		id            firn.ID
		file, index   string
		current       bool
		count, before string
	}{
		{"6916a7a2e793", seedFile, ".sessions/sessions.json", false, `"message_count": 3,`, read(t, "seedversion_main_cli_user.jsonl")},
		{"ba3c6d0fa450", ".sessions/agents/luna/sessions/ba3c6d0fa450.jsonl", ".sessions/agents/luna/sessions.json", true, `"message_count": 11`, read(t, "currentversion.jsonl")},
		{"fresh", ".sessions/transcripts/main_cli_user_fresh_fresh.jsonl", ".sessions/sessions.json", false, `"message_count": 1,`, `{"type": "session", "id": "fresh", "key": "main:cli:user_fresh", "created": "`},
	} {
		text := func(name string) string {
			b, err := os.ReadFile(filepath.Join(home, filepath.FromSlash(name)))
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		file := text(c.file)
		added, same := strings.CutPrefix(file, c.before)
		if !same || !strings.Contains(text(c.index), c.count) {
			t.Errorf("%s: the file is\n%s\nand the index\n%s", c.id, file, text(c.index))
		}
		want := []turn{{"user", []any{map[string]any{"type": "text", "text": "more"}}}, {"assistant", []any{map[string]any{"type": "text", "text": "no"}}}}
		if c.id == "fresh" {
			_, added, _ = strings.Cut(added, "\n")
		}
		if got := rebuild(t, added, c.current); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: claw0 reads %v, want %v", c.id, got, want)
		}
		if got := history(t, scan(t, file)); !reflect.DeepEqual(got[len(got)-2:], want) {
			t.Errorf("%s: firn reads %v", c.id, got)
		}
	}
}
