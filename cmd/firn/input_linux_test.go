package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTerminalInput uses the menu, files, folded pastes, commands, line breaks, the editor
// and both ways to leave, as a person does.
func TestTerminalInput(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"notes.md": "# Notes\n", ".gitignore": "*.tmp\n", "notes.tmp": "x", "edit": "#!/bin/sh\necho editing\nread key\nprintf 'edited %s' \"$key\" > \"$1\"\n"} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("firn", "chat")
	cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=", "TERM=xterm-256color", "NO_COLOR=", "LC_ALL=C.UTF-8", "SHELL=/bin/sh", "VISUAL=", "EDITOR="+filepath.Join(work, "edit"))
	w := runInWindow(t, work, cmd, 80, 24)
	w.shows("›")
	w.press("/comp")
	w.shows("› /comp", "❯ /compact [HINT]  summarize everything but the latest messages", "  /compactions     list the compactions of this branch", "  /uncompact       undo the last compaction")
	w.press("\x1b")
	w.shows("› /comp")
	w.press("\x15see @not")
	w.shows("› see @not", "❯ notes.md")
	w.press("\t\x1b[13;2uone\n\x1b[27;2;13~two") // Shift-Enter and Ctrl-J
	w.shows("› see @notes.md", "  one", "", "  two")
	w.press("\x03")
	w.shows("›")
	w.press("see @notes.md \x1b[200~" + strings.Repeat("x\r", 41) + "y\x1b[201~")
	w.shows("› see @notes.md [pasted 42 lines]")
	w.press("\r")
	w.sees("› see @notes.md [pasted 42 lines]\n· sent notes.md (8 B)")
	w.rests()
	w.press("!echo $((6*7)); pwd\r")
	w.sees("· echo $((6*7)); pwd … ok\n    42\n    " + work + "\n")
	w.press("half\x07") // Ctrl-G: the editor reads a line from the terminal
	w.sees("\nediting\n")
	w.press("by hand\r")
	w.shows("› edited by hand")
	w.press("\x15\x1b")
	w.shows("›", "Esc again goes back to an earlier message")
	w.press("\x1b")
	w.sees("go back to before:\n❯ see @notes.md x")
	w.press("\x1b")
	w.AwaitThat(t, "the prompt is back", func() bool { return strings.HasSuffix(w.String(), "\n›\n") })
	w.press("exit\r")
	w.ends(0)
	got := transcript(t, home, onlySession(t, home))
	if !strings.Contains(got, "user: see @notes.md "+strings.Repeat("x\n", 41)+"y\n\n<file name=\"notes.md\">\n# Notes\n</file>\n") {
		t.Errorf("the session has\n%s", got)
	}
	verify(t, home)
}

// TestTerminalColorsAndCharset checks what is sent in a locale without UTF-8, with NO_COLOR,
// and on a light background.
func TestTerminalColorsAndCharset(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "firn.toml"), []byte("[chat]\nkeys = \"vim\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	talk := func(background string, env ...string) *window {
		t.Helper()
		cmd := exec.Command("firn", "chat", "--new", "-m", "firn/offline")
		cmd.Env = append(append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=", "TERM=xterm-256color", "NO_COLOR=", "LC_ALL=C.UTF-8", "COLORFGBG="), env...)
		w := runOnBackground(t, home, cmd, 80, 24, background)
		w.sees("new session")
		w.AwaitThat(t, "the terminal has answered", w.Answered)
		w.press("/nonsense\rwhat is 6*7?\r")
		w.sees("42")
		w.sees("on disk")
		w.press("/hel")
		w.sees("list the commands")
		w.press("\x1b\x1b") // closes the menu, and begins normal mode
		w.sees("normal mode")
		w.press("ddiexit\r")
		w.ends(0)
		return w
	}
	if raw := talk("", "LC_ALL=C").Raw(); strings.IndexFunc(raw, func(r rune) bool { return r >= 0x80 }) >= 0 {
		t.Errorf("in the locale C it was sent %q", raw)
	}
	if raw := talk("", "NO_COLOR=1").Raw(); strings.Contains(raw, "\x1b[31m") || !strings.Contains(raw, "\x1b[1m") || !strings.Contains(raw, "\x1b[2m") {
		t.Errorf("with NO_COLOR it was sent %q", raw)
	}
	if raw := talk("rgb:ffff/ffff/ffff").Raw(); !strings.Contains(raw, "\x1b[38;5;124mfirn: unknown command /nonsense") {
		t.Errorf("on a light background it was sent %q", raw)
	}
	if raw := talk("", "COLORFGBG=15;0").Raw(); !strings.Contains(raw, "\x1b[31mfirn: unknown command /nonsense") {
		t.Errorf("on a dark background it was sent %q", raw)
	}
}
