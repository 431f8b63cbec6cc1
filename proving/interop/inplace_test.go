package interop

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev/internal/formats/dialect"

	"github.com/google/go-cmp/cmp"
)

// TestClaudeInPlace starts a session in Claude Code, continues it in firn in Claude Code's
// own file, and then in Claude Code again, which must send the messages from firn too.
// Messages that firn hides are not sent until they are restored.
func TestClaudeInPlace(t *testing.T) {
	t.Parallel()
	c := newClaude(t)
	id := dialect.UUID("interop", "in place")
	texts := []string{}
	ask := func(question, how string) {
		t.Helper()
		texts = append(texts, "user: "+question)
		if diff := cmp.Diff(texts, c.ask(t, question, how, id)); diff != "" {
			t.Errorf("claude sends something else (-want +claude):\n%s", diff)
		}
		texts = append(texts, "assistant: It was snow.")
	}
	ask("the first question", "--session-id")

	home := &foreign{home: c.home, id: id}
	home.firn(t, "append", id, "--user", "said by firn")
	if got := home.firn(t, "chat", "-p", "--resume="+id, "what is 12*7?"); strings.TrimSpace(got) != "12*7 = 84" {
		t.Fatalf("firn answers %q", got)
	}
	texts = append(texts, "user: said by firn", "user: what is 12*7?", "call call_1 calc map[expression:12*7]", "result call_1: 84", "assistant: 12*7 = 84")
	ask("the second question", "--resume")

	all := texts
	ours := home.entry(t, `"said by firn"`)
	home.firn(t, "rm", id, "--entry", ours)
	home.firn(t, "rm", id, "--entry", home.entry(t, `"text":"the first question"`))
	texts = append(all[1:2:2], all[3:]...)
	ask("the third question", "--resume")

	home.firn(t, "restore", id, ours)
	texts = append(append(all[1:2:2], all[2]), texts[1:]...)
	ask("the fourth question", "--resume")

	home.firn(t, "rewind", id, "-n", "2")
	texts = texts[:len(texts)-4]
	ask("the fifth question", "--resume")
}

// TestPiInPlace does the same with pi.
func TestPiInPlace(t *testing.T) {
	for name, version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := newPi(t, name, "anthropic-messages")
			texts := []string{}
			ask := func(question string, args ...string) {
				t.Helper()
				texts = append(texts, "user: "+question)
				if diff := cmp.Diff(texts, c.ask(t, question, args...)); diff != "" {
					t.Errorf("pi sends something else (-want +pi):\n%s", diff)
				}
				texts = append(texts, "assistant: It was snow.")
			}
			ask("the first question")

			home := &foreign{home: c.home}
			file := home.file(t)
			_, home.id, _ = strings.Cut(strings.TrimSuffix(filepath.Base(file), ".jsonl"), "_")
			home.firn(t, "append", home.id, "--user", "said by firn")
			if got := home.firn(t, "chat", "-p", "--thinking=off", "--resume="+home.id, "what is 12*7?"); strings.TrimSpace(got) != "12*7 = 84" {
				t.Fatalf("firn answers %q", got)
			}
			texts = append(texts, "user: said by firn", "user: what is 12*7?", "call call_1 calc map[expression:12*7]", "result call_1: 84", "assistant: 12*7 = 84")
			ask("the second question", "--session", file)

			home.firn(t, "rm", home.id, "--entry", home.entry(t, `"said by firn"`))
			texts = append(texts[:2:2], texts[3:]...)
			ask("the third question", "--session", file)

			home.firn(t, "rewind", home.id, "-n", "1")
			texts = texts[:len(texts)-2]
			ask("the fourth question", "--session", file)
		})
	}
}

// foreign is a session in another tool's home, where firn appends to the tool's own files.
type foreign struct{ home, id string }

// firn runs a firn command, and checks that it only appends to the file.
func (f *foreign) firn(t *testing.T, args ...string) string {
	t.Helper()
	file := f.file(t)
	before := readFile(t, file)
	out := runFirn(t, f.home, append([]string{"--in-place"}, args...)...)
	if after := readFile(t, file); len(after) <= len(before) || string(after[:len(before)]) != string(before) {
		t.Fatalf("firn %q does not add to the %d bytes of %s: now there are %d", args, len(before), file, len(after))
	}
	return out
}

// file returns the only file in the home named after the session.
func (f *foreign) file(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(f.home, "*", "*", "*"+f.id+".jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the session %s is in %q (%v), want one file", f.id, found, err)
	}
	return found[0]
}

// entry returns the ID of the first message whose line contains a text.
func (f *foreign) entry(t *testing.T, says string) string {
	t.Helper()
	for line := range strings.Lines(runFirn(t, f.home, "--json", "cat", f.id)) {
		var shown struct {
			N    int
			Line struct {
				Message json.RawMessage
				UUID    string
				ID      string
			}
		}
		if err := json.Unmarshal([]byte(line), &shown); err != nil {
			t.Fatalf("%v in %.300s", err, line)
		}
		if strings.Contains(string(shown.Line.Message), says) && shown.Line.UUID+shown.Line.ID != "" {
			return fmt.Sprintf("#%d", shown.N)
		}
	}
	t.Fatalf("no message contains %s", says)
	return ""
}
