package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// openProject starts firn in a directory, in a terminal.
func openProject(t *testing.T, home, dir string, args ...string) *window {
	t.Helper()
	cmd := exec.Command("firn", args...)
	cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=firn/offline", "TERM=xterm-256color", "NO_COLOR=1")
	return runInWindow(t, dir, cmd, 80, 24)
}

// TestTwoTerminals opens two chats in one project, with and without a gateway. Each shows
// what is said in the other, also if the other has created the session meanwhile.
func TestTwoTerminals(t *testing.T) {
	for name, served := range map[string]bool{"with a gateway": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			home, dir := t.TempDir(), t.TempDir()
			if served {
				serveHome(t, home)
			}
			a, b := openProject(t, home, dir), openProject(t, home, dir)
			a.Await(t, "new session")
			b.Await(t, "new session")
			a.press("My name is Ada.\r")
			a.Await(t, "on disk")
			b.press("What is my name?\r")
			b.Await(t, "another client has started this session meanwhile:")
			b.Await(t, "you: My name is Ada.")
			b.Await(t, "Your name is Ada.")
			a.Await(t, "· another client: What is my name?")
			a.Await(t, "Your name is Ada.")
			b.AwaitThat(t, "the turn of B is over", func() bool { return strings.Contains(b.All(), "on disk") })
			a.press("/rewind 1\r")
			a.Await(t, "rewound to before")
			b.Await(t, "· another client rewound this session")
			if strings.Contains(a.All(), "another client rewound") || strings.Contains(b.All(), "another client: What") {
				t.Errorf("a terminal shows its own entries as another's:\n%s\n%s", a.All(), b.All())
			}
			for _, w := range []*window{a, b} {
				w.press("\x04")
				if err := w.cmd.Wait(); err != nil {
					t.Error(err)
				}
			}
			onlySession(t, home)
			verify(t, home)
		})
	}
}

// TestResumePicker chooses a session by fuzzy matching and by content, first of the project and with Tab of all.
func TestResumePicker(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	for dir, said := range map[string]string{here: "My boat is called Nautilus.", there: "We fly to Oslo."} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := firnCommand(home, "chat", "-p", said)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	w := openProject(t, home, here, "chat", "-r")
	w.Await(t, "1, this project · Tab: all sessions")
	w.Await(t, "first: My boat is called Nautilus.")
	w.press("\t")
	w.Await(t, "2, all sessions · Tab: this project")
	w.press("nautls") // letters in order of the first message
	w.Await(t, "1, all sessions · Tab: this project")
	w.press("\x15quote")
	w.Await(t, "match: I have that now: “My boat is called Nautilus.”")
	w.press("\x15oslo")
	w.Await(t, "you: We fly to Oslo.")
	w.press("\r")
	w.Await(t, "Resumed: 1 previous turn")
	w.press("\x04")
	if err := w.cmd.Wait(); err != nil {
		t.Error(err)
	}
	w = openProject(t, home, here, "chat", "-r")
	w.Await(t, "first: My boat is called Nautilus.")
	w.press("\x1b")
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("leaving the list: %v", err)
	}
}
