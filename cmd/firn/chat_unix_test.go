//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"firn.dev"
	"firn.dev/internal/term/line/linetest"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// TestKillChat kills the program in the middle of an answer. The message is stored exactly
// once, the partial answer is kept and marked, and the conversation continues.
func TestKillChat(t *testing.T) {
	home, server := t.TempDir(), newSlowServer(t)
	c := startChat(t, home, server, "-m", "openai/slow")
	c.types("Hello, my name is Ada.")
	c.out.Await("one two ")
	id := awaitDraft(t, home)
	c.kill()

	if text, _ := c.next("", 0, "-c", "-m", "firn/offline"); !strings.Contains(text, "the last answer was interrupted and saved") {
		t.Errorf("after resuming: %q", text)
	}
	if _, answer := c.next("", 0, "-c", "-p", "What is my name?"); !strings.Contains(answer, "Ada") {
		t.Errorf("it answers %q", answer)
	}
	got := transcript(t, home, id)
	want := "user: Hello, my name is Ada.\nassistant: one two  (aborted)\nuser: What is my name?\nassistant: Your name is Ada."
	if !strings.HasPrefix(got, want) {
		t.Errorf("the session has\n%s\nwant\n%s", got, want)
	}
	verify(t, home)
}

// TestKillBeforeAnswer kills the program before the model's first output: the message is
// stored and can be answered.
func TestKillBeforeAnswer(t *testing.T) {
	home, server := t.TempDir(), newSlowServer(t)
	server.mute = true
	c := startChat(t, home, server, "-m", "openai/slow")
	c.types("What is 6*7?")
	<-server.asked
	c.kill()
	text, answer := c.next("/model firn/offline\n/retry\n", 0)
	if !strings.Contains(text, "the last message has no answer yet") || !strings.Contains(answer, "42") {
		t.Errorf("got %q, the answer is %q", text, answer)
	}
	got := transcript(t, home, onlySession(t, home))
	if strings.Count(got, "user: ") != 1 {
		t.Errorf("the session has\n%s", got)
	}
	verify(t, home)
}

// TestInterruptChat sends the signal of Ctrl-C while an answer is given: the
// answer ends, not the chat.
func TestInterruptChat(t *testing.T) {
	home, server := t.TempDir(), newSlowServer(t)
	c := startChat(t, home, server, "-m", "openai/slow")
	c.types("hello")
	c.out.Await("one two ")
	c.signal(os.Interrupt)
	c.err.Await("stopped by the user")
	c.types("/model firn/offline", "What is 6*7?")
	c.out.Await("42")
	c.types("/quit")
	if code := c.wait(); code != 0 {
		t.Errorf("it ended with %d: %s", code, c.err)
	}
	got := transcript(t, home, onlySession(t, home))
	if !strings.HasPrefix(got, "user: hello\nassistant: one two  (aborted)\nuser: What is 6*7?\n") {
		t.Errorf("the session has\n%s", got)
	}
}

// TestTerminateChat ends the program with SIGTERM while an answer is given, in
// the chat and with -p.
func TestTerminateChat(t *testing.T) {
	for _, args := range [][]string{{"-m", "openai/slow", "hello"}, {"-m", "openai/slow", "-p", "hello"}} {
		home, server := t.TempDir(), newSlowServer(t)
		c := startChat(t, home, server, args...)
		<-server.asked
		c.signal(syscall.SIGTERM)
		if code := c.wait(); code != 130 || !strings.Contains(c.err.String(), "firn: interrupted\n") {
			t.Errorf("firn chat %v ended with %d: %s", args, code, c.err)
		}
		if got := transcript(t, home, onlySession(t, home)); !strings.HasPrefix(got, "user: hello\nassistant: ") || !strings.HasSuffix(got, "(aborted)\n") {
			t.Errorf("the session has\n%s", got)
		}
		verify(t, home)
	}
}

// slowServer implements the Chat Completions API and never finishes an answer.
type slowServer struct {
	*httptest.Server
	mute  bool
	asked chan struct{}
}

func newSlowServer(t *testing.T) *slowServer {
	s := &slowServer{asked: make(chan struct{}, 16)}
	over := make(chan struct{})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if !s.mute {
			fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"one two "}}]}`+"\n\n")
		}
		w.(http.Flusher).Flush()
		s.asked <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(func() {
		close(over)
		s.Close()
	})
	return s
}

// running is a firn chat that runs.
type running struct {
	t        *testing.T
	home     string
	cmd      *exec.Cmd
	in       io.WriteCloser
	out, err *linetest.Recorder
}

func startChat(t *testing.T, home string, server *slowServer, args ...string) *running {
	t.Helper()
	c := &running{t: t, home: home, out: linetest.NewRecorder(t), err: linetest.NewRecorder(t)}
	c.cmd = c.command(args)
	c.cmd.Env = append(c.cmd.Env, "OPENAI_BASE_URL="+server.URL)
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.err
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.cmd.Process.Kill() })
	return c
}

func (c *running) command(args []string) *exec.Cmd {
	cmd := exec.Command("firn", append([]string{"chat"}, args...)...)
	cmd.Dir = c.home
	cmd.Env = append(os.Environ(), "FIRN_HOME="+c.home, "FIRN_MODEL=")
	return cmd
}

// next runs firn chat again, with all of its input at the start.
func (c *running) next(input string, code int, args ...string) (printed, answered string) {
	c.t.Helper()
	cmd := c.command(args)
	cmd.Stdin = strings.NewReader(input)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	var exit *exec.ExitError
	if failure := cmd.Run(); failure != nil && !errors.As(failure, &exit) {
		c.t.Fatal(failure)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		c.t.Fatalf("firn chat %v ended with %d: %s", args, got, &err)
	}
	return err.String(), out.String()
}

func (c *running) types(lines ...string) {
	c.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(c.in, l+"\n"); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *running) signal(s os.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

func (c *running) kill() {
	c.t.Helper()
	c.signal(syscall.SIGKILL)
	c.wait()
}

// wait waits for the end and returns the exit code.
func (c *running) wait() int {
	c.t.Helper()
	var exit *exec.ExitError
	if err := c.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	return c.cmd.ProcessState.ExitCode()
}

// openStore opens the store of a home read-only.
func openStore(t *testing.T, home string) *filestore.Store {
	t.Helper()
	st, err := filestore.Open(home, filestore.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

func onlySession(t *testing.T, home string) firn.ID {
	t.Helper()
	var ids []firn.ID
	for info, err := range openStore(t, home).List(t.Context(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, info.ID)
	}
	if len(ids) != 1 {
		t.Fatalf("there are %d sessions", len(ids))
	}
	return ids[0]
}

// awaitDraft waits until a chunk of the answer is stored.
func awaitDraft(t *testing.T, home string) firn.ID {
	t.Helper()
	id := onlySession(t, home)
	for rec, err := range openStore(t, home).Follow(t.Context(), id, store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		if e, err := rec.Entry(); err == nil {
			if c, ok := e.Body.(*firn.Custom); ok && strings.Contains(string(c.Data), "one two ") {
				return id
			}
		}
	}
	t.Fatal("nothing is kept of the answer")
	return ""
}

// transcript lists the messages of a session in short form.
func transcript(t *testing.T, home string, id firn.ID) string {
	t.Helper()
	var b strings.Builder
	for rec, err := range openStore(t, home).Read(t.Context(), id, store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := rec.Entry()
		if err != nil {
			t.Fatal(err)
		}
		m, ok := e.Body.(*firn.Message)
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "%s: %s", m.Role, m.Text())
		if m.StopReason == firn.StopAborted {
			b.WriteString(" (aborted)")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// verify runs the program's own check for damage.
func verify(t *testing.T, home string) {
	t.Helper()
	if out, err := exec.Command("firn", "verify", "--home", home).CombinedOutput(); err != nil || !strings.Contains(string(out), "no faults") {
		t.Errorf("firn verify: %v\n%s", err, out)
	}
}
