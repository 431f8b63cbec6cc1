package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
	"firn.dev/internal/term/line/linetest"
	"firn.dev/provider/scripted"
	"firn.dev/store"
)

// boardTest is a stage with a terminal and line editing.
type boardTest struct {
	*stage
	screen *linetest.Screen
	keys   *io.PipeWriter
}

// newBoardTest starts a chat on a terminal.
func newBoardTest(t *testing.T, change func(*Options), steps ...scripted.Step) *boardTest {
	t.Helper()
	in, keys := io.Pipe()
	d := &boardTest{screen: linetest.New(100, 30), keys: keys}
	dev := line.Device{
		In: in, Out: d.screen, Size: func() (int, int) { return 100, 30 },
		Raw: func() (func() error, error) { return func() error { return nil }, nil },
	}
	d.stage = set(t, func(o *Options) {
		atTerminal(o)
		o.Device = &dev
		if change != nil {
			change(o)
		}
	}, steps...).start()
	d.c.openTerminal()
	t.Cleanup(func() {
		keys.Close()
		if err := d.c.closeTerminal(); err != nil {
			t.Error(err)
		}
		if odd := d.screen.Strange(); len(odd) > 0 {
			t.Errorf("the terminal was sent %q", odd)
		}
	})
	d.run(t.Context())
	d.sees("›")
	return d
}

func (d *boardTest) sees(text string) {
	d.t.Helper()
	d.screen.Await(d.t, text)
}

// press presses keys.
func (d *boardTest) press(keys string) {
	d.t.Helper()
	if _, err := io.WriteString(d.keys, keys); err != nil {
		d.t.Fatal(err)
	}
}

// shows waits until the visible screen contains a text.
func (d *boardTest) shows(text string) {
	d.t.Helper()
	d.screen.AwaitThat(d.t, fmt.Sprintf("it shows %q", text), func() bool { return strings.Contains(d.screen.String(), text) })
}

// TestBoard checks a complete turn on a terminal with line editing.
func TestBoard(t *testing.T) {
	d := newBoardTest(t, nil,
		scripted.Join(scripted.Think("Let me\nsee.", "I will **compute**."), scripted.Call("c1", "calc", `{"expression":"6*7"}`)),
		scripted.Reply("# It is `42`\n\n- one\n- two"))
	d.press("what is 6*7?\r")
	d.sees(" on disk")
	d.shows("on disk\n›")
	want := []string{
		"› what is 6*7?", "· thought for 0.0 s, 3 words: Let me see.", "I will compute.", "· calc 6*7 … ok, 0.0 s, ", "# It is 42", "", "• one", "• two",
		"scripted/scripted · ▱▱▱▱▱▱▱▱▱▱ 0% of 200k · ",
	}
	lines := strings.Split(d.screen.All(), "\n")
	for i, w := range want {
		if i >= len(lines) || !strings.HasPrefix(lines[i], w) {
			t.Fatalf("line %d is not %q; the screen has\n%s", i, w, d.screen.All())
		}
	}
	says(t, d.screen.Raw(), "\x1b[1m› what is 6*7?\x1b[0m", "\x1b[1mcompute\x1b[0m", "\x1b[1;35m42\x1b[0m")
	d.press("\x04")
	if err := d.wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestBoardHostile checks that terminal sequences are shown as plain text, wherever they
// come from.
func TestBoardHostile(t *testing.T) {
	evil := "a\x1b]52;c;aGk=\x07b\x1b]0;title\x1b\\c\x1b[2Jd\x1b[10Ae\u009b31mf\u202eg\x7fh\rX\x08i"
	call := scripted.Call("c1", "calc", fmt.Sprintf(`{"expression":%q}`, `\u001b]0;x\u0007\u001b[2J`))
	d := newBoardTest(t, nil, scripted.Join(scripted.Think("t"+evil, evil+"\n```\n"+evil+"\n```\n["+evil+"]("+evil+")"), call), scripted.Reply("done "+evil))
	d.create()
	title := firn.NewEntry(&firn.Title{Name: "T" + evil})
	if _, err := d.st.Append(t.Context(), d.c.id, store.Any, title); err != nil {
		t.Fatal(err)
	}
	d.press("hello\r")
	d.sees("on disk")
	d.press("/status\r/history\r/sessions\r")
	d.shows("type to search")
	d.press("\x1b")
	d.shows("\n›")
	// Unexpected sequences are reported at the end of the test.
	says(t, d.screen.All(), "› hello", "done a ]52;c;aGk= b ]0;title \\c [2Jd [10Ae 31mf g h X i", "T")
}

// TestBoardStop stops an answer in the middle, twice.
func TestBoardStop(t *testing.T) {
	d := newBoardTest(t, nil, scripted.Hang(1, scripted.Reply("one two three four five six seven")), scripted.Reply("fine"))
	d.press("hello\rand this\r")
	d.sees("one")
	d.shows("(queued) and this")
	d.press("typed\x03")
	d.sees("stopped by the user")
	d.sees("› and this")
	d.sees("fine")
	d.shows("on disk\n› typed")
	d.press("\x03") // clears the line
	d.shows("on disk\n›\n")
	d.press("\x03")
	d.sees("(Ctrl-C again exits")
	d.press("x\x7f\x03\x03")
	if err := d.wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	says(t, d.messages(), "user: hello\nassistant: one", "(aborted)\nuser: and this\nassistant: fine")
}

// TestBoardSecondCtrlC checks that the second Ctrl-C restores the terminal.
func TestBoardSecondCtrlC(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	deaf := scripted.Reply("never")
	deaf.Before = func(ctx context.Context) error {
		close(asked)
		<-release
		return ctx.Err()
	}
	d := newBoardTest(t, nil, deaf)
	d.press("hello\r")
	<-asked
	d.press("\x03")
	d.press("\x03")
	<-d.released
	if d.screen.Mode("?2004") {
		t.Error("the terminal is not as it was")
	}
	close(release)
	if err := d.wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// TestBoardPick chooses a session from a list.
func TestBoardPick(t *testing.T) {
	d := newBoardTest(t, nil, scripted.Reply("hello Ada"), scripted.Reply("hello Bob"))
	d.press("I am Ada\r")
	d.sees("on disk")
	first := d.c.id
	d.press("/rename 雪の話\r/new\rI am Bob\r")
	d.sees("hello Bob")
	d.screen.AwaitThat(t, "there are two status lines", func() bool { return strings.Count(d.screen.All(), "on disk") == 2 })
	d.press("/resume\r")
	d.shows("Resume:")
	d.shows("2, all sessions · type to search · Enter · Esc")
	d.shows("  you: I am Bob")
	d.press("雪")
	d.shows("1, all sessions")
	d.shows("  you: I am Ada")
	d.press("\r")
	d.sees("Resumed: 1 previous turn")
	d.shows("session " + prose.Short(first) + " “雪の話”")
	d.press("/sessions\r")
	d.shows("Resume:")
	d.shows("2, all sessions")
	d.press("\r") // the current session: no change
	d.screen.AwaitThat(t, "the prompt is back", func() bool { return strings.HasSuffix(d.screen.String(), "\n›\n") })
	d.press("/res")
	d.shows("› /res\n❯ /resume SESSION   resume another session")
	d.press("\t")
	d.shows("› /resume\n")
	d.press("\x15/resume 雪\t\r")
	d.screen.AwaitThat(t, "it is resumed by its title", func() bool { return strings.Count(d.screen.All(), "Resumed: 1 previous turn") == 2 })
	d.press("\x04")
	if err := d.wait(); err != nil {
		t.Error(err)
	}
}

// TestBoardPlain checks that Markdown is shown unchanged without styles, and that answers
// go to stdout if that is not a terminal.
func TestBoardPlain(t *testing.T) {
	d := newBoardTest(t, func(o *Options) { o.Terminal.Dim = false }, scripted.Reply("a **b** `c`"))
	d.press("hello\r")
	d.sees("a **b** `c`")
	d.sees("on disk")
	if raw := d.screen.Raw(); strings.Contains(raw, "\x1b[1m") || strings.Contains(raw, "\x1b[2m") {
		t.Errorf("there are styles: %q", raw)
	}
	d = newBoardTest(t, func(o *Options) { o.Terminal.Out = false }, scripted.Reply("a **b**\x1b[31m"))
	d.press("hello\r")
	d.sees("on disk")
	if d.out.String() != "a **b**\x1b[31m\n" || strings.Contains(d.screen.All(), "**b**") {
		t.Errorf("stdout has %q, the screen\n%s", d.out, d.screen.All())
	}
}

// TestNoTerminal checks that plain lines are read if the terminal cannot be opened.
func TestNoTerminal(t *testing.T) {
	no := errors.New("it is not mine")
	dev := line.Device{Raw: func() (func() error, error) { return nil, no }}
	s := set(t, func(o *Options) { o.Device = &dev }, scripted.Reply("fine")).start()
	s.c.openTerminal()
	s.run(t.Context())
	s.types("hello")
	s.out.Await("fine\n")
	s.end()
	says(t, s.err.String(), "note: take the terminal over: it is not mine")
}

func TestComplete(t *testing.T) {
	s := set(t, nil, scripted.Reply("a"), scripted.Reply("b")).start()
	s.does("one", "/rename Snow and ice", "/new", "two")
	second := string(s.c.id)
	for _, c := range []struct {
		before string
		from   int
		words  string
	}{
		{"/uncom", 0, "/uncompact"},
		{"/SW", 0, "/switch"},
		{"/resume snow", 8, "Snow and ice"},
		{"/switch 0", 8, second},
		{"/delete Snow and i", 8, "Snow and ice"},
		{"/restore ", 9, ""},
		{"/think m", 7, "minimal|medium"},
		{"/send i", 6, "inherit"},
		{"/verbose o", 9, "on|off"},
		{"/rewind h", 8, "HEAD~1|HEAD~2|HEAD~3"},
		{"/model firn/", 7, "firn/"},
		{"/help x", 6, ""},
		{"hello", 0, ""},
		{"/a\n/h", 0, ""},
		{"/xyz", 0, ""},
	} {
		from, words := s.c.complete(c.before)
		if got := strings.Join(words, "|"); got != c.words || got != "" && from != c.from {
			t.Errorf("%q continues with %q from %d, want %q from %d", c.before, got, from, c.words, c.from)
		}
	}
}

// TestContinueFromEntry continues from a given entry.
func TestContinueFromEntry(t *testing.T) {
	s := set(t, nil, scripted.Reply("one"), scripted.Reply("two"), scripted.Reply("three")).start()
	s.does("first", "second")
	s.c.o.At = "HEAD~1"
	if err := s.c.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	says(t, s.err.String(), "rewound to agent: one\nlater entries stay in the log; undo: /rewind ", "Resumed: ", "you: first\n")
	s.does("third")
	req := s.model.Requests()
	if got := fmt.Sprint(len(req[len(req)-1].Window.Items)); got != "3" {
		t.Errorf("the model was sent %s messages", got)
	}
	if now, err := s.c.fetchSession(t.Context()); err != nil || now.State.Branches != 2 {
		t.Errorf("there are %d branches, %v", now.State.Branches, err)
	}
	for at, want := range map[string]error{"nowhere": firn.ErrNotFound, "#x": firn.ErrInvalid, "HEAD": nil, "HEAD~2": nil} {
		s.c.o.At = at
		if err := s.c.moveHead(t.Context()); !errors.Is(err, want) {
			t.Errorf("--at %s: %v", at, err)
		}
	}
	says(t, s.err.String(), "rewound to the start")
}

// TestUnsupported checks the errors of operations that the chat does not support.
func TestUnsupported(t *testing.T) {
	s := set(t, nil).start().create()
	for _, l := range []string{"/export x", "/handoff pi"} {
		before := len(s.err.String())
		s.does(l)
		says(t, s.err.String()[before:], "firn: ", "from this chat", "\nhint: ")
	}
	s.does("/memory", "/remember I like snow", "/memory snow", "/memory rain", "/memory", "/forget I like snow", "/forget")
	says(t, s.err.String(), "no notes yet; to add one: /remember TEXT", "  memory/today.md\n    I like snow\n", "no matching notes", "forgotten: I like snow", "/forget NOTE")
	s.c.o.Notes, s.c.o.Remember, s.c.o.Forget = nil, nil, nil
	s.does("/memory snow", "/remember x", "/forget x")
	says(t, s.err.String(), "cannot search the notes: this chat has no memory", "cannot save a note: this chat has no memory", "cannot remove a note: this chat has no memory")
}

// TestFormats exports the session to other formats.
func TestFormats(t *testing.T) {
	var asked []string
	s := set(t, func(o *Options) {
		o.Export = func(_ context.Context, id firn.ID, format, file string) (string, error) {
			asked = append(asked, format+" "+file)
			return "wrote " + file + "\nall of it\x1b[2J\n", nil
		}
		o.Handoff = func(_ context.Context, id firn.ID, tool string) (string, error) {
			return "", fmt.Errorf("there is no tool %s: %w", tool, firn.ErrNotFound)
		}
	}).start().create()
	s.does("/export a file.jsonl", "/export out.jsonl", "/export", "/handoff abacus", "/handoff")
	if got := fmt.Sprintf("%q", asked); got != `["a file.jsonl" " out.jsonl"]` {
		t.Errorf("requested was %s", got)
	}
	says(t, s.err.String(), "wrote file.jsonl\nall of it [2J\n", "/export needs an argument: /export [FORMAT] [FILE]", "firn: there is no tool abacus", "/handoff needs an argument")
}
