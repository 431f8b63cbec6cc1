package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"firn.dev/internal/base/basetest"
	"firn.dev/internal/term/line/linetest"
)

// window is a program in a terminal that is drawn on, as people see it.
type window struct {
	*linetest.Screen
	t    *testing.T
	cmd  *exec.Cmd
	keys *os.File
	// seen is closed when all that the program sent was shown.
	seen chan struct{}
}

// openWindow starts firn chat in a terminal of 80 by 24.
func openWindow(t *testing.T, home, server string, args ...string) *window {
	t.Helper()
	cmd := exec.Command("firn", append([]string{"chat"}, args...)...)
	cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=", "OPENAI_BASE_URL="+server, "OPENAI_API_KEY=k", "TERM=xterm-256color", "NO_COLOR=", "LC_ALL=C.UTF-8")
	return runInWindow(t, home, cmd, 80, 24)
}

// runInWindow starts a program in a directory, in a terminal of that size that is
// its own. It is killed at the end of the test, if it runs that long.
func runInWindow(t *testing.T, dir string, cmd *exec.Cmd, width, height int) *window {
	t.Helper()
	return runOnBackground(t, dir, cmd, width, height, "rgb:1e1e/1e1e/1e1e")
}

// runOnBackground is runInWindow in a terminal that answers with its background; an empty one
// means no answer.
func runOnBackground(t *testing.T, dir string, cmd *exec.Cmd, width, height int, background string) *window {
	t.Helper()
	keys, tty := openTerminal(t)
	w := &window{Screen: linetest.New(width, height), t: t, cmd: cmd, keys: keys, seen: make(chan struct{})}
	setSize(t, keys, uint16(width), uint16(height))
	w.Answer(keys, background)
	cmd.Dir = dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	go func() {
		io.Copy(w, keys) // until the other side is closed
		close(w.seen)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-w.seen
		keys.Close()
		if odd := w.Strange(); len(odd) > 0 {
			t.Errorf("the terminal was sent %q", odd)
		}
	})
	return w
}

// setSize sets the size of a terminal and notifies the program.
func setSize(t *testing.T, terminal *os.File, width, height uint16) {
	t.Helper()
	size := [4]uint16{height, width, 0, 0}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, terminal.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size))); errno != 0 {
		t.Fatal(errno)
	}
}

// press presses keys.
func (w *window) press(keys string) {
	w.t.Helper()
	if _, err := io.WriteString(w.keys, keys); err != nil {
		w.t.Fatal(err)
	}
}

// sees waits until the window shows something, or has shown it.
func (w *window) sees(text string) {
	w.t.Helper()
	w.Await(w.t, text)
}

// shows waits until the last rows of the window are these.
func (w *window) shows(rows ...string) {
	w.t.Helper()
	want := strings.Join(rows, "\n") + "\n"
	w.AwaitThat(w.t, "the end of the screen is\n"+want, func() bool { return strings.HasSuffix(w.String(), want) })
}

// rests waits until the program has answered and waits for a line.
func (w *window) rests() {
	w.t.Helper()
	w.AwaitThat(w.t, "it waits for a line", func() bool { return strings.HasSuffix(w.String(), "on disk\n›\n") })
}

// ends waits for the end, and for the terminal to be as it was.
func (w *window) ends(code int) {
	w.t.Helper()
	ended := make(chan struct{})
	go func() {
		w.cmd.Wait() // the exit code is checked below
		<-w.seen
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(basetest.Limit):
		w.t.Fatalf("it does not end:\n%s", w.All())
	}
	if got := w.cmd.ProcessState.ExitCode(); got != code {
		w.t.Errorf("it ended with %d, want %d:\n%s", got, code, w.All())
	}
	if w.Mode("?2004") || w.Mode("?2026") || !w.Mode("?25") || w.Mode(linetest.Keyboard) || w.Mode(linetest.OtherKeys) {
		w.t.Error("the terminal is not as it was")
	}
	var modes syscall.Termios
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, w.keys.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&modes))); errno != 0 {
		w.t.Fatal(errno)
	}
	if modes.Lflag&syscall.ICANON == 0 || modes.Lflag&syscall.ECHO == 0 || modes.Oflag&syscall.OPOST == 0 {
		w.t.Error("the terminal does not take lines any more")
	}
}

// TestTerminalTyping edits lines, pastes some, and finds them again in another
// run.
func TestTerminalTyping(t *testing.T) {
	home := t.TempDir()
	w := openWindow(t, home, "")
	w.sees("new session")
	w.shows("›")
	w.press("Hello, my name is Bob.")
	w.shows("› Hello, my name is Bob.")
	w.press("\x1b[D\x1b\x7fAda\r") // left, the word before, its replacement
	w.sees("› Hello, my name is Ada.")
	w.rests()
	w.press("what is 6*\x1b[200~7?\rand\n 雪?\x1b[201~")
	w.shows("› what is 6*7?", "  and", "   雪?")
	w.press("\x1b[A\x1b[A\x01I ask: \r") // up, up, the beginning of the line
	w.sees("› I ask: what is 6*7?\n  and\n   雪?")
	w.sees("6*7 = 42")
	w.rests()
	w.press(" a secret\r")
	w.sees("›  a secret")
	w.rests()
	w.press("/sta\t")
	w.shows("› /status")
	w.press("\r")
	w.sees("  turns    3, 0 compactions")
	w.press("\x04")
	w.ends(0)

	info, err := os.Stat(filepath.Join(home, "chat_history"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the history is %v, %v", info, err)
	}
	if out, err := exec.Command("firn", "doctor", "--home", home).CombinedOutput(); err != nil || strings.Contains(string(out), "stray") {
		t.Errorf("firn doctor: %v\n%s", err, out)
	}
	w = openWindow(t, home, "")
	w.sees("Resumed: 3 previous turns")
	w.press("\x1b[A")
	w.shows("› /status")
	w.press("\x1b[A")
	w.shows("› I ask: what is 6*7?", "  and", "   雪?")
	w.press("\x12ada")
	w.shows("› Hello, my name is Ada.", "search: ada")
	w.press("\x05\x15What is my name?\r")
	w.sees("Your name is Ada.")
	w.rests()
	if strings.Contains(w.All(), "I ask: what is 6*7?\n  and\n   雪?\n·") {
		t.Error("it was sent again")
	}
	w.press("\x03")
	w.sees("(Ctrl-C again exits")
	w.press("\x03")
	w.ends(130)
	verify(t, home)
	got := transcript(t, home, onlySession(t, home))
	if !strings.Contains(got, "user: I ask: what is 6*7?\nand\n 雪?\n") || strings.Count(got, "user: ") != 4 {
		t.Errorf("the session has\n%s", got)
	}
}

// speaker is a Chat Completions server that sends one piece of text on each command, and
// never ends the stream.
type speaker struct {
	*httptest.Server
	next chan string
	// ended gets one for each answer that is over.
	ended chan struct{}
}

func newSpeaker(t *testing.T) *speaker {
	s := &speaker{next: make(chan string), ended: make(chan struct{}, 100)}
	over := make(chan struct{})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { s.ended <- struct{}{} }()
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		for {
			select {
			case text := <-s.next:
				if text == "" {
					fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
					return
				}
				fmt.Fprintf(w, `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":%s}}]}`+"\n\n", text)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			case <-over:
				return
			}
		}
	}))
	t.Cleanup(func() {
		close(over)
		s.Close()
	})
	return s
}

// TestTerminalStream watches an answer stream in, types meanwhile, shrinks the window, and
// stops the answer.
func TestTerminalStream(t *testing.T) {
	home, server := t.TempDir(), newSpeaker(t)
	w := openWindow(t, home, server.URL, "-m", "openai/slow", "--no-tools")
	w.shows("›")
	w.press("tell me\r")
	server.next <- `"# Snow\n\nIt **falls"`
	w.shows("# Snow", "", "It **falls", "›")
	w.press("meanwhile")
	w.shows("It **falls", "› meanwhile")
	server.next <- `"** and falls.\n\n- one\n- t"`
	w.shows("It falls and falls.", "", "• one", "• t", "› meanwhile")
	w.Resize(40, 24)
	setSize(t, w.keys, 40, 24)
	w.press("\x15" + strings.Repeat("0123456789", 5))
	w.shows("• t", "› 0123456789012345678901234567890123456", "  7890123456789")
	w.press("\r")
	w.shows("• t", "  (queued) 0123456789012345678901234567…", "›")
	w.press("\x03")
	w.sees("stopped by the user")
	w.sees("› 0123456789012345678901234567890123456\n  7890123456789")
	<-server.ended // so that it does not consume the next piece
	server.next <- `"fine"`
	server.next <- ""
	w.rests()
	w.press("/quit\r")
	w.ends(0)
	got := transcript(t, home, onlySession(t, home))
	if !strings.Contains(got, "user: tell me\nassistant: # Snow\n\nIt **falls** and falls.\n\n- one\n- t (aborted)\nuser: 01234567890") || !strings.HasSuffix(got, "assistant: fine\n") {
		t.Errorf("the session has\n%s", got)
	}
	verify(t, home)
}

// TestTerminalHostile lets a model output terminal control sequences. None of them reaches
// the terminal.
func TestTerminalHostile(t *testing.T) {
	home, server := t.TempDir(), newSpeaker(t)
	w := openWindow(t, home, server.URL, "-m", "openai/evil", "--no-tools")
	w.shows("›")
	w.press("hello\r")
	server.next <- `"safe \u001b]52;c;ZXZpbA==\u0007 \u001b]0;pwned\u001b\\ \u001b[2J\u001b[H\u001b[5A\u009b2J \u0008\u007f\r"`
	server.next <- `"\u001bP1$r\u001b\\ \u001b[6n\u001bc \u202e rest\n` + "```" + `\n\u001b[31mred\n` + "```" + `\n"`
	server.next <- ""
	w.rests()
	w.sees("› hello\nsafe  ]52;c;ZXZpbA==   ]0;pwned")
	w.sees("\n [31mred\n")
	w.press("/rename \x1b[200~evil \x1b]0;x\x07 name\x1b[201~\r/history\r\x04")
	w.ends(0)
	raw := strings.Replace(w.Raw(), "\x1b]11;?\x1b\\", "", 1) // the question at the start
	if strings.Contains(raw, "\x1b]") || strings.Contains(raw, "\x1bP") || strings.Contains(raw, "\x1bc") || strings.Contains(raw, "\x1b[6n") || strings.Contains(raw, "\x07") || strings.Contains(raw, "\u202e") {
		t.Errorf("the terminal was sent %q", raw)
	}
}

// TestTerminalSuspend suspends the program with Ctrl-Z and resumes it.
func TestTerminalSuspend(t *testing.T) {
	home := t.TempDir()
	w := openWindow(t, home, "")
	w.shows("›")
	w.press("half a line")
	w.shows("› half a line")
	// The program leads its own session and could not be resumed, so Ctrl-Z does not stop
	// it.
	w.press("\x1a and the rest")
	w.shows("› half a line and the rest")
	w.press("\x0c")
	w.AwaitThat(t, "the screen is clear", func() bool { return w.String() == "› half a line and the rest\n" })
	w.press("\x03")
	w.shows("›")
	w.press("\x04")
	w.ends(0)
}
