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

var takePictures = flag.Bool("pictures", false, "write the picture of a terminal in docs/pictures anew")

// TestTerminalPicture does in a real shell what the picture in the README shows,
// and sees that the picture shows just that (go test -pictures takes it anew).
func TestTerminalPicture(t *testing.T) {
	home := t.TempDir()
	cmd := exec.Command("bash", "--norc", "--noprofile", "--noediting", "-i")
	// The answer that is killed has 40 words: it must not end before that, however late
	// the test gets to run after the first ones.
	cmd.Env = append(os.Environ(), "HOME="+home, "FIRN_HOME=", "FIRN_MODEL=", "TERM=xterm-256color", "NO_COLOR=", "PS1=$ ", "BASH_SILENCE_DEPRECATION_WARNING=1", testWordDelay+"=300ms")
	w := runInWindow(t, home, cmd, 96, 60)
	w.story(home)
	w.keepPicture(filepath.Join("..", "..", "docs", "pictures", "terminal.svg"))
}

// story talks, is killed in the middle of an answer, goes on, and finds what was said.
func (w *window) story(home string) {
	w.t.Helper()
	w.AwaitThat(w.t, "the shell waits", func() bool { return w.String() == "$\n" })
	w.press("firn chat\r")
	w.sees("0 turns")
	w.shows("›")
	w.press("My name is Ada. I go to Oslo in May, by train.\r")
	w.sees("I will quote it.")
	w.rests()
	w.press("What is 17*23?\r")
	w.sees("= 391")
	w.rests()
	w.awaitOnDisk(home, "firn.usage") // with which the name of the session came
	w.press("Tell me a long story about snow.\r")
	w.sees("these words")
	w.awaitOnDisk(home, "these") // else it depends on when the kill comes if it is kept
	w.kill()
	// What is typed before the prompt is there would be shown before it.
	w.shows("› Killed", "$")
	w.press("firn chat -c\r")
	w.sees("/retry asks again")
	w.shows("›")
	w.press("/retry\r")
	w.rests()
	w.press("/quit\r")
	w.AwaitThat(w.t, "the shell waits", func() bool { return strings.HasSuffix(w.String(), "\n$\n") })
	w.press("firn search oslo\r")
	w.sees(" hit")
	w.shows("$")
}

// awaitOnDisk waits until the log of the session has a text. Names of sessions and
// pieces of an answer are saved beside what is shown.
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

// kill ends what runs in the shell as a crash does.
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

// keepPicture holds the picture in the repository against what one sees.
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
		w.t.Fatalf("%v (go test -pictures takes it)", err)
	}
	if got, want := words(string(kept)), words(now); got != want {
		w.t.Errorf("the picture shows something else (go test -pictures takes it anew):\n%s\nwant\n%s", got, want)
	}
}

var (
	markup = regexp.MustCompile(`<[^>]*>`)
	// varying is what is another each time: ids, sizes, times, how much of the answer
	// was kept, and spaces that line them up.
	varying = regexp.MustCompile(`I took these.*|[0-9a-z]*[0-9][0-9a-z.,:-]*|now|ago|[ ]+`)
)

// words are those of a picture that are always the same: not the rows that tell how
// things stand, in which the name of the session may have come already or not, nor
// how far the answer came that was killed.
func words(picture string) string {
	var b strings.Builder
	picture = strings.ReplaceAll(markup.ReplaceAllString(picture, " "), "\u00a0", " ")
	if before, rest, ok := strings.Cut(picture, "I took these"); ok {
		if i := strings.Index(rest, "Killed"); i >= 0 {
			picture = before + rest[i:]
		}
	}
	for row := range strings.Lines(picture) {
		if !strings.Contains(row, "⎇") && !strings.Contains(row, " on disk") {
			b.WriteString(varying.ReplaceAllString(row, " "))
		}
	}
	return b.String()
}
