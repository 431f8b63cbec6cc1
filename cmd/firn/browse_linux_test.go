package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// browseHome makes a home with two sessions, one of which has a line of zero bytes.
func browseHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, "agents", "main", "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	question := messageLine("a1", "", "user", "Which snow became ice?")
	table := messageLine("a2", "a1", "assistant", `The **oldest** one:\n\n| layer | age |\n|---|--:|\n| firn | 100 |\n| ice | 1,000 |`)
	for name, text := range map[string]string{
		"s1000000": header("s1000000") + `{"type":"session_info","id":"t1","parentId":null,"timestamp":"2026-11-15T02:40:16.000Z","name":"Snow and ice"}` + "\n" + question + table,
		"s2000000": header("s2000000") + messageLine("b1", "", "user", "First words") + strings.Repeat("\x00", 200) + "\n" + messageLine("b3", "b1", "assistant", "Last words"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// openBrowser starts firn browse in a terminal of its own.
func openBrowser(t *testing.T, home string, width, height int, args ...string) *window {
	t.Helper()
	cmd := exec.Command("firn", append([]string{"browse"}, args...)...)
	cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=", "TERM=xterm-256color", "NO_COLOR=", "TZ=UTC")
	return runInWindow(t, home, cmd, width, height)
}

// goldenScreen compares the screen with a golden file. To update the files, set
// FIRN_UPDATE=1.
func goldenScreen(t *testing.T, name string, w *window) {
	t.Helper()
	path := filepath.Join("testdata", "screens", name+".golden")
	if os.Getenv("FIRN_UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(w.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || w.String() != string(want) {
		t.Errorf("the screen is\n%s\nwant\n%s(%v)", w, want, err)
	}
}

// TestBrowse drives firn browse at a terminal, with and without a gateway, at 80 and at 40
// columns.
func TestBrowse(t *testing.T) {
	for _, gateway := range []bool{false, true} {
		for _, width := range []int{80, 40} {
			t.Run(fmt.Sprintf("gateway=%v,%d", gateway, width), func(t *testing.T) {
				home := browseHome(t)
				if gateway {
					serveHome(t, home)
				}
				w := openBrowser(t, home, width, 24, "s1000000")
				w.visible("ice   │ 1,000")
				w.press("\t")
				w.visible("2 sessions")
				w.press("/snwice\r") // letters in order
				w.visible("1 session with")
				w.press("l")
				w.visible("▌ ice   │ 1,000")
				goldenScreen(t, fmt.Sprintf("browse-log-%d", width), w)
				w.press("2")
				w.visible("2 branches", "1 branch")
				w.press("1h")
				w.visible("❯ ")
				w.press("/First\r")
				w.visible(`1 session with "First"`)
				w.press("l")
				w.visible("could not be read")
				w.visible("Last words")
				if width == 40 { // the list notes damage as soon as it was found, which may be later
					goldenScreen(t, "browse-damage-40", w)
				}
				setSize(t, w.keys, 100, 20)
				w.Resize(100, 20)
				w.visible("j/k move")
				w.press("q")
				w.ends(0)
				if w.Mode("?1049") {
					t.Error("the alternate screen is still shown")
				}
			})
		}
	}
}

// visible waits until the screen has one of the texts.
func (w *window) visible(texts ...string) {
	w.t.Helper()
	w.AwaitThat(w.t, fmt.Sprintf("it shows one of %q", texts), func() bool {
		for _, text := range texts {
			if strings.Contains(w.String(), text) {
				return true
			}
		}
		return false
	})
}

// TestBrowseNeedsTerminal checks the error without a terminal.
func TestBrowseNeedsTerminal(t *testing.T) {
	out, err := firnCommand(browseHome(t), "browse").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "firn browse needs a terminal") || !strings.Contains(string(out), "hint: firn ls") {
		t.Errorf("got %s (%v)", out, err)
	}
}

// TestBrowseLive resumes a session in the chat and returns to the browser, copies, clicks,
// and shows what another process writes, with and without a gateway.
func TestBrowseLive(t *testing.T) {
	for _, gateway := range []bool{false, true} {
		t.Run(fmt.Sprintf("gateway=%v", gateway), func(t *testing.T) {
			home := browseHome(t)
			if gateway {
				serveHome(t, home)
			}
			w := openBrowser(t, home, 80, 24, "--mouse")
			w.visible("2 sessions")
			if !w.Mode("?1000") {
				t.Error("the mouse is not switched on")
			}
			w.press("/snow\r")
			w.visible("1 session with")
			w.press("\r")
			w.visible("Resumed: 1 previous turn")
			w.AwaitThat(t, "the chat has the normal screen", func() bool { return !w.Mode("?1049") && !w.Mode("?1000") })
			w.press("what is 6*7?\r")
			w.visible("6*7 = 42")
			w.press("\x04")
			w.AwaitThat(t, "it returns to the browser", func() bool { return w.Mode("?1049") && strings.Contains(w.String(), "❯ Snow and ice") })
			w.visible("6*7 = 42")
			w.visible("1 session with")
			w.press("\x1b") // clears the filter
			w.visible("2 sessions")
			// Others write into the session that is shown, and begin another one.
			firnIn(t, home, "append", "s1000000", "--user", "written elsewhere")
			w.visible("written elsewhere")
			firnIn(t, home, "append", firnIn(t, home, "new", "--title", "Brand new"), "--user", "hello")
			w.visible("Brand new")
			w.visible("3 sessions")
			w.press("ly")
			w.visible("copied the text (17 characters)")
			if got := w.Copied(); got != "written elsewhere" {
				t.Errorf("it copied %q", got)
			}
			w.press("\x1b[<0;5;2M\x1b[<0;5;2m") // a click on the first row
			w.visible("❯ Brand new")
			w.press("q")
			w.ends(0)
			if w.Mode("?1049") || w.Mode("?1000") || w.Mode("?1006") {
				t.Error("the modes of the terminal are still set")
			}
		})
	}
}

// TestBrowseChatFails returns to the browser with the reason if the chat cannot be opened, and
// checks that --mouse=false overrides the setting.
func TestBrowseChatFails(t *testing.T) {
	home := browseHome(t)
	firnIn(t, home, "config", "set", "chat.mouse", "true")
	w := openBrowser(t, home, 100, 24, "--mouse=false")
	w.visible("2 sessions")
	if w.Mode("?1000") {
		t.Error("the mouse is switched on")
	}
	w.press("/First\r")
	w.visible(`1 session with "First"`)
	w.visible("Last words")
	if err := os.Remove(filepath.Join(home, "agents", "main", "sessions", "s2000000.jsonl")); err != nil {
		t.Fatal(err)
	}
	w.press("\r")
	w.visible("the chat ended: ")
	w.visible(` with "First"`)
	w.press("q")
	w.ends(0)
}
