package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTerminalWidths shows an answer with a table and code, and the help on pages, at 40, 80
// and 120 columns.
func TestTerminalWidths(t *testing.T) {
	for _, width := range []int{40, 80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			home, server := t.TempDir(), newSpeaker(t)
			cmd := exec.Command("firn", "chat", "-m", "openai/slow", "--no-tools")
			cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=", "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY=k", "TERM=xterm-256color", "NO_COLOR=")
			w := runInWindow(t, home, cmd, width, 40)
			w.shows("›")
			w.press("show me\r")
			server.next <- `"A table:\n\n| tool | what it does | time |\n|:--|---|--:|\n| read_file | reads a file, or a range of its lines | 0.1 s |\n"`
			server.next <- `"| shell | runs a command | 1,234.5 s |\n\n~~~go\nfunc main() { // go\n\treturn \"x\"\n}\n~~~\nAnd a sentence that is longer than forty columns."`
			server.next <- ""
			w.visible("on disk\n")
			_, answer, _ := strings.Cut(w.String(), "› show me\n")
			answer, _, _ = strings.Cut(answer, "columns.\n")
			goldenText(t, fmt.Sprintf("answer-%d", width), answer+"columns.\n")
			if raw := w.Raw(); !strings.Contains(raw, "\x1b[35mfunc") {
				t.Errorf("the code has no colors: %q", raw[max(len(raw)-2000, 0):])
			}
			w.press("/help\r")
			w.visible("q closes", "1–")
			w.press("G")
			w.visible("HEAD~n")
			w.press("q")
			w.AwaitThat(t, "the chat is back", func() bool { return !w.Mode("?1049") && strings.Contains(w.String(), "on disk\n") })
			w.press("\x04")
			w.ends(0)
		})
	}
}

// goldenText compares a text with a golden file. To update the files, set FIRN_UPDATE=1.
func goldenText(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "screens", name+".golden")
	if os.Getenv("FIRN_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("%s is\n%s\nwant\n%s(%v)", name, got, want, err)
	}
}
