package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"firn.dev/internal/base/basetest"
)

var takePictures = flag.Bool("pictures", false, "rewrite the picture of a terminal in docs/pictures")

// TestTerminalPicture runs the session of the README's picture in a real shell and compares
// it with the picture (go test -pictures updates it).
func TestTerminalPicture(t *testing.T) {
	home := t.TempDir()
	cmd := exec.Command("bash", "--norc", "--noprofile", "--noediting", "-i")
	// The answer that is killed has 24 words, so that it does not end before the kill even if
	// the test is delayed after the first words.
	cmd.Env = append(os.Environ(), "HOME="+home, "FIRN_HOME=", "FIRN_MODEL=", "TERM=xterm-256color", "NO_COLOR=", "PS1=$ ", "BASH_SILENCE_DEPRECATION_WARNING=1", testWordDelay+"=500ms")
	w := runInWindow(t, home, cmd, 96, 60)
	w.story(home)
	w.keepPicture(filepath.Join("..", "..", "docs", "pictures", "terminal.svg"))
}

// story chats, is killed in the middle of an answer, resumes, and searches.
func (w *window) story(home string) {
	w.t.Helper()
	w.AwaitThat(w.t, "the shell waits", func() bool { return w.String() == "$\n" })
	w.press("firn chat\r")
	w.sees("new session")
	w.shows("›")
	w.Scene()
	w.press("My name is Ada. I go to Oslo in May, by train.\r")
	w.sees("I will quote it.")
	w.rests()
	w.Scene()
	w.press("What is 17*23?\r")
	w.sees("= 391")
	w.rests()
	w.awaitOnDisk(home, "firn.usage") // which also delivers the session's name
	w.Scene()
	w.press("Tell me a long story about snow.\r")
	w.sees("matcher")
	w.awaitOnDisk(home, "matcher") // otherwise it depends on the time of the kill whether it is saved
	w.kill()
	// Input typed before the prompt appears would be shown before it.
	w.shows("› Killed", "$")
	w.Scene()
	w.press("firn chat -c\r")
	w.sees("/retry ")
	w.shows("›")
	w.Scene()
	w.press("/retry\r")
	w.rests()
	w.press("/quit\r")
	w.AwaitThat(w.t, "the shell waits", func() bool { return strings.HasSuffix(w.String(), "\n$\n") })
	w.Scene()
	w.press("firn search oslo\r")
	w.sees(" hit")
	w.shows("$")
}

// awaitOnDisk waits until the log of the session contains a text. Titles and chunks of an
// answer are saved asynchronously.
func (w *window) awaitOnDisk(home, text string) {
	w.t.Helper()
	basetest.Eventually(w.t, "the log has "+strconv.Quote(text), func() bool {
		logs, err := filepath.Glob(filepath.Join(home, ".firn", "agents", "*", "sessions", "*.jsonl"))
		return err == nil && slices.ContainsFunc(logs, func(log string) bool {
			data, err := os.ReadFile(log)
			return err == nil && strings.Contains(string(data), text)
		})
	})
}

// kill ends the program in the shell as a crash does.
func (w *window) kill() {
	w.t.Helper()
	pid := strconv.Itoa(w.cmd.Process.Pid)
	children, err := os.ReadFile(filepath.Join("/proc", pid, "task", pid, "children"))
	if err != nil {
		w.t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(children)))
	if err != nil {
		w.t.Fatalf("the shell has these children: %q", children)
	}
	if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
		w.t.Fatal(err)
	}
}

// keepPicture compares the picture in the repository with the screen.
func (w *window) keepPicture(path string) {
	w.t.Helper()
	now := w.Picture()
	if *takePictures {
		if err := os.WriteFile(path, []byte(now), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatalf("%v (go test -pictures writes it)", err)
	}
	if got, want := words(string(kept)), words(now); got != want {
		w.t.Errorf("the picture shows something else (go test -pictures takes it again):\n%s\nwant\n%s", got, want)
	}
}

var (
	markup = regexp.MustCompile(`<[^>]*>`)
	// varying matches the parts that differ between runs: IDs, sizes, times and padding.
	varying = regexp.MustCompile(`[0-9a-z]*[0-9][0-9a-z.,:-]*|now|ago|[ ]+`)
)

// words returns the stable words of a picture: without the status rows, which may already
// contain the title, and without the partial answer.
func words(picture string) string {
	var b strings.Builder
	_, picture, _ = strings.Cut(picture, "</style>")
	picture = strings.ReplaceAll(markup.ReplaceAllString(picture, " "), "\u00a0", " ")
	for row := range strings.Lines(picture) {
		// How much of the answer is shown or saved depends on the time of the kill.
		if partial, rest, ok := strings.Cut(row, "word matcher,"); ok && !strings.Contains(rest, "without a key") {
			row = partial + "word matcher,\n"
		}
		if !strings.Contains(row, "⎇") && !strings.Contains(row, " on disk") {
			b.WriteString(varying.ReplaceAllString(row, " "))
		}
	}
	return b.String()
}
