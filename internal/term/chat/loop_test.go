package chat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
)

// TestStop stops an answer in the middle: it is kept and marked, and the chat continues.
func TestStop(t *testing.T) {
	ways := map[string]func(*stage){
		"by a command": func(s *stage) { s.types("/stop") },
		"by Ctrl-C":    func(s *stage) { s.presses <- os.Interrupt },
	}
	for name, stop := range ways {
		t.Run(name, func(t *testing.T) {
			s := play(t, nil, scripted.Hang(1, scripted.Reply("one two three four five six seven")), scripted.Reply("fine"))
			s.types("hello")
			s.out.Await("one")
			stop(s)
			s.err.Await("stopped by the user\nhint: ")
			s.types("again")
			s.out.Await("fine\n")
			s.end()
			says(t, s.messages(), "user: hello\nassistant: one", "(aborted)\nuser: again\nassistant: fine")
		})
	}
}

// TestQueue types while an answer is streamed.
func TestQueue(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	first := scripted.Reply("first")
	first.Before = func(context.Context) error {
		close(asked)
		<-release
		return nil
	}
	s := play(t, nil, first, scripted.Reply("second"))
	s.types("one")
	<-asked
	s.types("two", "/rename It waited", "", "  ")
	s.in.Close()
	close(release)
	if err := s.wait(); err != nil {
		t.Fatal(err)
	}
	if got := s.messages(); got != "user: one\nassistant: first\nuser: two\nassistant: second" {
		t.Errorf("the log is:\n%s", got)
	}
	if s.out.String() != "first\nsecond\n" {
		t.Errorf("stdout has %q", s.out)
	}
	says(t, s.err.String(), "“It waited”")
}

func TestCtrlCAtThePrompt(t *testing.T) {
	s := play(t, func(o *Options) { o.Terminal = Terminal{In: true, Err: true} }, scripted.Reply("fine"))
	s.err.Await("› ")
	s.types("hello")
	s.err.Await("› ")
	s.presses <- os.Interrupt
	s.err.Await("(Ctrl-C again exits")
	s.types("") // any input resets the first Ctrl-C
	s.err.Await("› ")
	s.err.Await("› ")
	s.presses <- os.Interrupt
	s.err.Await("(Ctrl-C again exits")
	s.presses <- os.Interrupt
	err := s.wait()
	var p *Problem
	if !errors.Is(err, context.Canceled) || !errors.As(err, &p) || !strings.Contains(p.Hint, "saved") {
		t.Errorf("it ended with %v", err)
	}
}

// TestCtrlCInAPipe checks that the chat ends with the first Ctrl-C if it is not on a
// terminal.
func TestCtrlCInAPipe(t *testing.T) {
	s := play(t, nil)
	s.presses <- os.Interrupt
	if err := s.wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// TestCtrlCTwice presses Ctrl-C again while the stopped work has not ended.
func TestCtrlCTwice(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	deaf := scripted.Reply("never")
	deaf.Before = func(ctx context.Context) error {
		close(asked)
		<-release
		return ctx.Err()
	}
	s := play(t, nil, deaf)
	s.types("hello", "and this")
	<-asked
	s.presses <- os.Interrupt
	s.presses <- os.Interrupt
	<-s.released // from now on Ctrl-C would end the process
	close(release)
	if err := s.wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	silent(t, s.messages(), "and this")
}

// TestTermination cancels the context during an answer.
func TestTermination(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := set(t, nil, scripted.Hang(1, scripted.Reply("one two three four five six seven"))).start().run(ctx)
	s.types("hello")
	s.out.Await("one")
	cause := errors.New("the machine goes down")
	cancel(cause)
	if err := s.wait(); !errors.Is(err, cause) {
		t.Errorf("it ended with %v", err)
	}
	says(t, s.messages(), "user: hello\nassistant: one", "(aborted)")
}

// TestOutputFails checks that the turn is stopped if answers can no longer be written.
func TestOutputFails(t *testing.T) {
	broken := errors.New("no session")
	s := play(t, func(o *Options) { o.Stdout = writer(func([]byte) (int, error) { return 0, broken }) },
		scripted.Hang(1, scripted.Reply("one two three four five six seven")))
	s.types("hello")
	if err := s.wait(); !errors.Is(err, broken) {
		t.Errorf("it ended with %v", err)
	}
	says(t, s.messages(), "user: hello\nassistant: one", "(aborted)")
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// full is a store with a full disk while its flag is set.
type full struct {
	store.Store
	is bool
}

func (f *full) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	if f.is {
		return 0, fmt.Errorf("append to session %s: %w", id, firn.ErrNotSaved)
	}
	return f.Store.Append(ctx, id, expect, entries...)
}

// TestNotSaved checks that unsaved messages are reported and not sent to a model, and that
// the chat works again when there is space.
func TestNotSaved(t *testing.T) {
	s := set(t, nil, scripted.Reply("fine"))
	disk := &full{Store: s.st}
	// Key support is found through wrappers.
	s.st = struct {
		*full
		unwrap
	}{disk, unwrap{s.st}}
	s.start()
	disk.is = true
	s.does("lost")
	says(t, s.err.String(), "NOT SAVED: ", "hint: the disk may be full")
	if n := len(s.model.Requests()); n > 0 {
		t.Errorf("the model was called %d times", n)
	}
	disk.is = false
	s.does("kept")
	if got := s.messages(); got != "user: kept\nassistant: fine" {
		t.Errorf("the log is:\n%s", got)
	}
}

type unwrap struct{ inner store.Store }

func (u unwrap) Unwrap() store.Store { return u.inner }

// TestFailures checks that errors are shown with a hint, and that the chat continues.
func TestFailures(t *testing.T) {
	fail := func(kind provider.Kind) scripted.Step {
		return scripted.Fail(&provider.Error{Kind: kind, Provider: "anthropic", Model: "m", Message: "no"})
	}
	cases := []struct {
		name   string
		step   scripted.Step
		pieces []string
	}{
		{"a wrong key", fail(provider.Auth), []string{"firn: anthropic/m: API key rejected", "hint: set ANTHROPIC_API_KEY to a valid API key"}},
		{"a refusal", fail(provider.BadRequest), []string{"firn: anthropic/m: request rejected: no\n"}},
		{"something else", scripted.Fail(errors.New("odd\nthing")), []string{"firn: odd thing\n"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := set(t, nil, c.step, scripted.Reply("fine")).start()
			s.does("hello")
			says(t, s.err.String(), c.pieces...)
			s.does("/retry")
			says(t, s.messages(), "user: hello\n", "(error)\nassistant: fine")
			if strings.Count(s.messages(), "user: ") != 1 || s.out.String() != "fine\n" {
				t.Errorf("the log is %q, stdout has %q", s.messages(), s.out)
			}
			s.does("/retry")
			says(t, s.err.String(), "nothing is left to answer")
		})
	}
}

// TestTemporaryProviderErrorsAreRetried checks that temporary provider failures are retried.
func TestTemporaryProviderErrorsAreRetried(t *testing.T) {
	s := set(t, nil, scripted.Cut(1, scripted.Reply("one two three four five six seven")), scripted.Reply("fine")).start()
	s.does("hello")
	says(t, s.err.String(), "· retrying: ")
	if out := s.out.String(); !strings.HasPrefix(out, "one") || !strings.HasSuffix(out, "\nfine\n") {
		t.Errorf("stdout has %q", out)
	}
}

func TestSlashes(t *testing.T) {
	s := set(t, nil, scripted.Reply("a path"), scripted.Reply("another")).start()
	s.does("//etc/hosts")
	s.c.showError(s.c.handle(t.Context(), message{text: "/etc/passwd", literal: true}))
	says(t, s.messages(), "user: /etc/hosts\n", "user: /etc/passwd\n")
}

func TestReadEvents(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	cases := []struct {
		input string
		want  []string
	}{
		{"", nil},
		{"a", []string{"a"}},
		{"a\nb\r\n\nc", []string{"a", "b", "", "c"}},
		{"a\\\nb\\\n\nc\n", []string{"a\nb\n", "c"}},
		{"a\\", []string{`a\`}},
		{long + "\nb\n", []string{long, "b"}},
	}
	for _, c := range cases {
		var got []string
		for l := range readEvents(strings.NewReader(c.input), nil, func(string) { t.Error("a report") }) {
			got = append(got, l.Text)
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
			t.Errorf("%.20q gave %.60q", c.input, got)
		}
	}
	if _, ok := <-readEvents(nil, nil, nil); ok {
		t.Error("empty input gave a line")
	}
	var output string
	for range readEvents(io.MultiReader(strings.NewReader("a\n"), broken{}), nil, func(s string) { output = s }) {
	}
	if output != "input error: no more" {
		t.Errorf("the output is %q", output)
	}
	if _, err := readLine(bufio.NewReader(broken{})); err == nil {
		t.Error("a broken input is treated as a line")
	}
	// A closed reader does not block.
	gone := make(chan struct{})
	close(gone)
	for range readEvents(strings.NewReader("a\nb\n"), gone, nil) {
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("no more") }
