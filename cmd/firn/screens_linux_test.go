package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// screenCase is a command at a terminal, the keys to press, and what is to be seen before each.
type screenCase struct {
	name  string
	args  []string
	steps []screenStep
	// dumb is what a terminal without control sequences sees instead, if that is not the
	// same; "-" means that there is nothing to see.
	dumb []screenStep
}

type screenStep struct{ see, press string }

// mainScreen waits for the end of a full-screen view.
const mainScreen = "(the main screen)"

// screenCases are the screens of firn.
var screenCases = []screenCase{
	{"ls", []string{"ls"}, []screenStep{{"TITLE", ""}}, nil},
	{"help", []string{"help"}, []screenStep{{"Usage", ""}}, nil},
	{"help of chat", []string{"chat", "--help"}, []screenStep{{"--workspace", ""}}, nil},
	{"demo", []string{"demo"}, []screenStep{{"steps,", ""}}, nil},
	{"an error", []string{"show", "nothing-like-this"}, []screenStep{{"there is no session", ""}}, nil},
	{
		"chat",
		[]string{"chat", "--new"},
		[]screenStep{
			{"word", "read notes.txt\r"}, {"glacier", "write two to a.txt\r"}, {"Allow", "n\r"}, {"not", "/help\r"},
			{"commands and keys", "q"}, {mainScreen, "/status\r"}, {"window", "/diff\r"}, {"changed no", "/bogus\r"}, {"/help", "exit\r"},
		},
		[]screenStep{{"word", "read notes.txt\n"}, {"glacier", "/help\n"}, {"/undo", "/status\n"}, {"window", "/diff\n"}, {"changed no", "exit\n"}},
	},
	{"resume picker", []string{"chat", "-r"}, []screenStep{{"Tab", "\x1b"}}, []screenStep{{"", ""}}},
	{"model picker", []string{"model"}, []screenStep{{"Esc", "\x1b"}}, []screenStep{{"firn/offline", ""}}},
	{"browse", []string{"browse"}, []screenStep{{"read notes", "?"}, {"closes this", "x"}, {"closes this", "q"}}, []screenStep{{"needs a terminal", ""}}},
}

// sequence is a control sequence; styleSequence is one that only sets styles.
var (
	sequence      = regexp.MustCompile("\x1b[\\[\\]()=>PX^_][^\a\x1b]*?(?:[@-~]|\a|\x1b\\\\)|\x1b.")
	styleSequence = regexp.MustCompile("\x1b\\[([0-9;:]*)m")
)

// TestScreens shows every screen at 40, 80 and 120 columns, and at 40 columns also without
// colors, in a locale without UTF-8, and in a terminal without control sequences. No line is
// longer than the screen, and the environment is followed.
func TestScreens(t *testing.T) {
	home := t.TempDir()
	work, err := os.MkdirTemp("/tmp", "w") // short: paths and keys are not broken
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(work) })
	if err := os.WriteFile(work+"/notes.txt", []byte("the glacier is old\nand blue\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"read notes.txt", "what is 6*7?", "a long title of a session that does not fit into forty columns of a narrow screen"} {
		firnAt(t, home, work, "chat", "-p", text)
	}
	for _, width := range []int{40, 80, 120} {
		for i, env := range [][]string{
			{"TERM=xterm-256color", "NO_COLOR=", "LC_ALL=C.UTF-8"},
			{"TERM=xterm-256color", "NO_COLOR=1", "LC_ALL=C.UTF-8"},
			{"TERM=xterm-256color", "NO_COLOR=", "LC_ALL=C"},
			{"TERM=dumb", "NO_COLOR=", "LC_ALL=C.UTF-8"},
		} {
			if i > 0 && width != 40 {
				continue
			}
			for _, c := range screenCases {
				t.Run(fmt.Sprintf("%d/%s/%s", width, strings.Join(env, " "), c.name), func(t *testing.T) {
					checkScreen(t, home, work, c, width, env)
				})
			}
		}
	}
}

func checkScreen(t *testing.T, home, work string, c screenCase, width int, env []string) {
	cmd := exec.Command("firn", c.args...)
	cmd.Env = append(append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=firn/offline", "FIRN_APPROVALS__MODE=", "VISUAL=", "EDITOR="), env...)
	w := runInWindow(t, work, cmd, width, 30)
	steps, dumb := c.steps, env[0] == "TERM=dumb"
	if dumb && c.dumb != nil {
		steps = c.dumb
	}
	for _, s := range steps {
		if s.press == "" { // it ends by itself
			break
		}
		w.AwaitThat(t, "it shows "+s.see, func() bool {
			if s.see == mainScreen {
				return !w.Mode("?1049")
			}
			return strings.Contains(strings.ToLower(unwrapped(w.Raw())), strings.ToLower(s.see))
		})
		w.press(s.press)
	}
	w.waitEnd()
	raw := w.Raw()
	if last := steps[len(steps)-1].see; !strings.Contains(strings.ToLower(unwrapped(raw)), strings.ToLower(last)) {
		t.Errorf("%q was not shown:\n%s", last, w.All())
	}
	switch {
	case dumb:
		if found := sequence.FindString(raw); found != "" {
			t.Errorf("a dumb terminal was sent %q", found)
		}
	case env[1] == "NO_COLOR=1":
		for _, m := range styleSequence.FindAllStringSubmatch(raw, -1) {
			for _, word := range strings.Split(m[1], ";") {
				if len(word) == 2 && strings.ContainsRune("349", rune(word[0])) || len(word) == 3 && strings.HasPrefix(word, "10") {
					t.Errorf("a color was sent with NO_COLOR: %q", m[0])
				}
			}
		}
	case env[2] == "LC_ALL=C":
		for _, l := range strings.Split(raw, "\n") {
			if strings.ContainsFunc(l, func(r rune) bool { return r > 126 }) {
				t.Errorf("a terminal without UTF-8 was sent %q", l)
			}
		}
	}
	if long := w.Wrapped(); len(long) > 0 {
		t.Errorf("rows are longer than %d columns: %q", width, long)
	}
}

// unwrapped returns text without control sequences and with spaces for line breaks.
func unwrapped(raw string) string {
	return strings.Join(strings.Fields(sequence.ReplaceAllString(raw, " ")), " ")
}

// waitEnd waits until the program has ended and everything was shown.
func (w *window) waitEnd() {
	w.t.Helper()
	w.cmd.Wait() // the exit code does not matter
	<-w.seen
}
