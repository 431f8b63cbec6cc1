package line

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"firn.dev/internal/base/basetest"
	"firn.dev/internal/term/line/linetest"
)

// terminalTest is a terminal and its user.
type terminalTest struct {
	t       *testing.T
	term    *Terminal
	screen  *linetest.Screen
	keys    *io.PipeWriter
	width   atomic.Int64
	resized chan struct{}
	raw     atomic.Int64 // number of calls of Raw without a restore
	stopped chan struct{}
}

func newTerminalTest(t *testing.T, o Options) *terminalTest {
	t.Helper()
	in, keys := io.Pipe()
	s := &terminalTest{t: t, screen: linetest.New(30, 10), keys: keys, resized: make(chan struct{}, 1), stopped: make(chan struct{}, 1)}
	s.width.Store(30)
	dev := Device{
		In: in, Out: s.screen, Resized: s.resized,
		Raw: func() (func() error, error) {
			s.raw.Add(1)
			return func() error { s.raw.Add(-1); return nil }, nil
		},
		Size:    func() (int, int) { return int(s.width.Load()), 10 },
		Suspend: func() { s.stopped <- struct{}{} },
	}
	var err error
	if s.term, err = Open(dev, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		keys.Close()
		if err := s.term.Close(); err != nil {
			t.Error(err)
		}
		if s.raw.Load() != 0 || s.screen.Mode("?2004") || !s.screen.Mode("?25") || s.screen.Mode("?2026") {
			t.Error("the terminal is not as it was")
		}
		if odd := s.screen.Strange(); len(odd) > 0 {
			t.Errorf("it was sent %q", odd)
		}
	})
	return s
}

// types presses keys.
func (s *terminalTest) types(keys string) {
	s.t.Helper()
	keys, pause := strings.CutSuffix(keys, "<esc-pause>")
	if keys != "" {
		if _, err := io.WriteString(s.keys, keystrokes(keys)); err != nil {
			s.t.Fatal(err)
		}
	}
	if pause { // nothing follows the Escape until its effect was seen
		if _, err := io.WriteString(s.keys, "\x1b"); err != nil {
			s.t.Fatal(err)
		}
	}
}

// sees waits until the screen shows want.
func (s *terminalTest) sees(want string) {
	s.t.Helper()
	want = strings.TrimPrefix(want, "\n")
	s.screen.AwaitThat(s.t, "the screen is\n"+want, func() bool { return s.screen.String() == want })
}

// at checks the cursor position.
func (s *terminalTest) at(x, y int) {
	s.t.Helper()
	if gotX, gotY := s.screen.Cursor(); gotX != x || gotY != y {
		s.t.Errorf("the cursor is at %d, %d, want %d, %d; the screen has\n%s", gotX, gotY, x, y, s.screen)
	}
}

// event waits for an event.
func (s *terminalTest) event() string {
	s.t.Helper()
	select {
	case e := <-s.term.Events():
		return fmt.Sprintf("%d %q", e.Kind, e.Text)
	case <-time.After(basetest.Limit):
		s.t.Fatalf("no event; the screen has\n%s", s.screen)
		return ""
	}
}

// TestTyping types while lines are printed.
func TestTyping(t *testing.T) {
	s := newTerminalTest(t, Options{})
	s.term.Print("hello")
	s.types("typed ahead")
	s.term.Prompt(true)
	s.sees("hello\n› typed ahead\n")
	s.at(13, 1)
	s.types("^A")
	s.screen.AwaitThat(t, "it is at the beginning", func() bool { x, _ := s.screen.Cursor(); return x == 2 })
	s.term.Show(nil, Live{Text: "an answer com"})
	s.sees("hello\nan answer com\n› typed ahead\n")
	s.at(2, 2)
	s.term.Show([]string{"an answer comes"}, Live{Text: "and goes on, longer than the screen is wide"})
	s.sees("hello\nan answer comes\nand goes on, longer than the …\n› typed ahead\n")
	s.term.Show([]string{"and goes on, longer than the screen is wide"})
	s.sees("hello\nan answer comes\nand goes on, longer than the screen is wide\n› typed ahead\n")
	s.types("<enter>")
	if got := s.event(); got != `0 "typed ahead"` {
		t.Errorf("the event is %s", got)
	}
	s.sees("hello\nan answer comes\nand goes on, longer than the screen is wide\n›\n")
	s.term.Echo("typed ahead")
	s.sees("hello\nan answer comes\nand goes on, longer than the screen is wide\n› typed ahead\n›\n")
	s.types("  <enter>")
	if got := s.event(); got != `0 "  "` {
		t.Errorf("the event is %s", got)
	}
	s.types("x^C")
	if got := s.event(); got != `1 "x"` {
		t.Errorf("the event is %s", got)
	}
	s.term.Clear()
	s.types("^D")
	if got := s.event(); got != `2 ""` {
		t.Errorf("the event is %s", got)
	}
	s.term.Prompt(false)
	s.sees("hello\nan answer comes\nand goes on, longer than the screen is wide\n› typed ahead\n")
	s.keys.Close()
	if got := s.event(); got != `2 ""` {
		t.Errorf("the event is %s", got)
	}
}

// TestManyLines edits lines that are wider than the screen, and more lines than it has
// rows.
func TestManyLines(t *testing.T) {
	s := newTerminalTest(t, Options{})
	s.term.Prompt(true)
	s.types("<paste>" + strings.Repeat("0123456789", 4) + "\r二つ目の行は幅の広い文字でできている\r三</paste>")
	s.sees("› 012345678901234567890123456\n  7890123456789\n  二つ目の行は幅の広い文字で\n  できている\n  三\n")
	s.at(4, 4)
	s.types("<up>")
	s.screen.AwaitThat(t, "it is in the third row", func() bool { _, y := s.screen.Cursor(); return y == 2 })
	s.at(4, 2)
	s.types("^E")
	s.screen.AwaitThat(t, "it is in the fourth row", func() bool { _, y := s.screen.Cursor(); return y == 3 })
	s.at(12, 3)
	s.types("^U<bs>^U<bs>")
	s.sees("›\n  三\n")
	s.types(strings.Repeat("a^J", 20) + "z")
	s.screen.AwaitThat(t, "the end is seen", func() bool { return strings.Contains(s.screen.String(), "z") })
	if n := strings.Count(s.screen.All(), "\n"); n > 10 {
		t.Errorf("it uses %d rows of 10:\n%s", n, s.screen.All())
	}
	s.types("<enter>")
	e := <-s.term.Events()
	s.term.Echo(e.Text)
	s.sees(strings.Repeat("  a\n", 7) + "  z\n  三\n›\n")
}

// TestResizeToTheInput checks that no printed line is lost if the screen becomes exactly as
// wide as the input.
func TestResizeToTheInput(t *testing.T) {
	for width := 8; width < 30; width++ {
		s := newTerminalTest(t, Options{})
		s.term.Prompt(true)
		s.term.Print("one", "two")
		s.types("twelve chars")
		s.sees("one\ntwo\n› twelve chars\n")
		s.width.Store(int64(width))
		s.screen.Resize(width, 10)
		s.resized <- struct{}{}
		s.types("!")
		s.screen.AwaitThat(t, "the key is shown", func() bool { return strings.Contains(s.screen.All(), "!") })
		if got := s.screen.All(); !strings.HasPrefix(got, "one\ntwo\n") || strings.Count(got, "›") != 1 {
			t.Errorf("at %d columns the screen has\n%s", width, got)
		}
	}
}

// TestResize makes the screen narrower and wider while the prompt is shown.
func TestResize(t *testing.T) {
	s := newTerminalTest(t, Options{})
	s.term.Print("one", "two")
	s.term.Prompt(true)
	s.types("a line of twenty-eight char")
	s.sees("one\ntwo\n› a line of twenty-eight char\n")
	for _, width := range []int{20, 12, 50, 30} {
		s.width.Store(int64(width))
		s.screen.Resize(width, 10)
		s.resized <- struct{}{}
		p := layOut("› ", "  ", "a line of twenty-eight char", 27, width)
		want := "one\ntwo\n"
		for _, r := range p.rows {
			want += strings.TrimRight(r.text, " ") + "\n"
		}
		s.sees(want)
		s.at(p.x, p.y+2)
	}
}

func TestSearchAndCompletion(t *testing.T) {
	complete := func(before string) (int, []string) { return 0, []string{"/resume", "/restore", "/retry", "/rewind"} }
	s := newTerminalTest(t, Options{History: remembered("the first one", "the second"), Complete: complete, Styles: true})
	s.term.Prompt(true)
	s.types("^Rfir")
	s.sees("› the first one\nsearch: fir\n")
	s.types("z")
	s.sees("› the first one\nsearch: firz  (not found)\n")
	s.types("^G/r<tab>")
	s.sees("› /re\n  /resume  /restore  /retry\n  /rewind\n")
	s.types("<tab><tab>")
	s.sees("› /restore\n  /resume  /restore  /retry\n  /rewind\n")
	if !strings.Contains(s.screen.Raw(), "\x1b[1m/restore\x1b[0m") {
		t.Error("the selected item looks like the others")
	}
	s.types(" x")
	s.sees("› /restore x\n")
}

func TestPick(t *testing.T) {
	s := newTerminalTest(t, Options{})
	s.term.Prompt(true)
	rows := []string{"red wine", "white wine", "green tea", "black tea"}
	pick := func(c Choice, keys ...string) int {
		t.Helper()
		got := make(chan int, 1)
		go func() { got <- s.term.Pick(t.Context(), c) }()
		s.screen.AwaitThat(t, "there is a choice", func() bool { return strings.Contains(s.screen.String(), "type · Enter") })
		for _, k := range keys {
			s.types(k)
		}
		select {
		case n := <-got:
			s.sees("›\n")
			return n
		case <-time.After(basetest.Limit):
			t.Fatalf("nothing is chosen; the screen has\n%s", s.screen)
			return 0
		}
	}
	for _, c := range []struct {
		keys string
		want int
	}{
		{"<enter>", 0}, {"<down><down><enter>", 2}, {"<up><enter>", 0}, {"<end><enter>", 3}, {"<end>^P<enter>", 2},
		{"tea<enter>", 2}, {"tea black<enter>", 3}, {"teax<bs><tab><enter>", 3}, {"xyz<enter>^Uwhite<enter>", 1}, {"^C", -1}, {"^D", -1}, {"\x1b", -1},
	} {
		if got := pick(Choice{Title: "drink", Rows: rows}, c.keys); got != c.want {
			t.Errorf("%q chooses %d, want %d", c.keys, got, c.want)
		}
	}
	if got := pick(Choice{Title: "drink", Head: "NAME", Rows: rows, Selected: 3}, "<enter>"); got != 3 {
		t.Errorf("at first is chosen %d", got)
	}
	go s.term.Pick(t.Context(), Choice{Title: "drink", Head: "NAME", Rows: rows, Selected: 1})
	s.sees("drink:\n  NAME\n  red wine\n❯ white wine\n  green tea\n  black tea\n  4 of 4 · type · Enter · Esc\n")
	s.types("tea")
	s.sees("drink: tea\n  NAME\n❯ green tea\n  black tea\n  2 of 4 · type · Enter · Esc\n")
	s.types("^C")
	s.sees("›\n")
	if s.term.Pick(t.Context(), Choice{}) != -1 {
		t.Error("something was chosen of nothing")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- s.term.Pick(ctx, Choice{Title: "drink", Rows: rows}) }()
	s.screen.AwaitThat(t, "there is a choice", func() bool { return strings.Contains(s.screen.String(), "drink") })
	cancel()
	if got := <-ended; got != -1 {
		t.Errorf("with the end of the context was chosen %d", got)
	}
	s.sees("›\n")
	done := make(chan int, 1)
	go func() { done <- s.term.Pick(t.Context(), Choice{Title: "drink", Rows: rows}) }()
	s.screen.AwaitThat(t, "there is a choice", func() bool { return strings.Contains(s.screen.String(), "drink") })
	if err := s.term.Close(); err != nil || <-done != -1 {
		t.Errorf("closing it chose something, %v", err)
	}
}

// TestSuspend checks that the terminal is restored while the process is stopped.
func TestSuspend(t *testing.T) {
	s := newTerminalTest(t, Options{})
	s.term.Prompt(true)
	s.types("half a line^Z")
	<-s.stopped
	s.types(" and the rest")
	s.sees("› half a line and the rest\n")
	s.term.Print("above")
	s.types("^L")
	s.sees("› half a line and the rest\n")
	if s.raw.Load() != 1 {
		t.Errorf("it was accepted %d times", s.raw.Load())
	}
}

func TestClosed(t *testing.T) {
	s := newTerminalTest(t, Options{})
	s.term.Prompt(true)
	s.types("x")
	s.sees("› x\n")
	if err := s.term.Close(); err != nil {
		t.Fatal(err)
	}
	s.term.Print("after")
	s.sees("after\n")
}

// TestFailures checks the errors of the terminal itself.
func TestFailures(t *testing.T) {
	no := errors.New("no")
	if _, err := Open(Device{Raw: func() (func() error, error) { return nil, no }}, Options{}); !errors.Is(err, no) {
		t.Errorf("the error is %v", err)
	}
	in, keys := io.Pipe()
	defer keys.Close()
	term, err := Open(Device{
		In: in, Out: writer(func([]byte) (int, error) { return 0, no }), Size: func() (int, int) { return 0, 0 },
		Raw: func() (func() error, error) { return func() error { return nil }, nil },
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	term.Print("x")
	if term.Width() != 80 || !errors.Is(term.Err(), no) || !errors.Is(term.Close(), no) {
		t.Errorf("the change is not noticed: %d, %v", term.Width(), term.Err())
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// TestPickFrom chooses from rows that depend on the typed text.
func TestPickFrom(t *testing.T) {
	s := newTerminalTest(t, Options{})
	s.term.Prompt(true)
	f := Finder{
		Title: "drink", Narrow: "hot", Wide: "all",
		Find: func(_ context.Context, text string, wide bool, show func([]FoundRow)) {
			rows := []FoundRow{{"1", "green tea"}, {"2", "black tea"}}
			if wide {
				rows = append(rows, FoundRow{"3", "red wine"})
			}
			show(slices.DeleteFunc(rows, func(r FoundRow) bool { return !strings.Contains(r.Text, text) }))
		},
		Preview:  func(_ context.Context, id string) []string { return []string{"  about " + id} },
		Selected: "2",
	}
	got := make(chan string, 1)
	pick := func() { id, _ := s.term.PickFrom(t.Context(), f); got <- id }
	go pick()
	shows := func(text string) {
		t.Helper()
		s.screen.AwaitThat(t, text, func() bool { return strings.Contains(s.screen.String(), text) })
	}
	shows("drink:\n  green tea\n❯ black tea\n  about 2\n  2, hot · Tab: all")
	s.types("<tab>")
	s.types("re")
	shows("drink: re\n❯ green tea\n  red wine\n  about 1\n  2, all · Tab: hot")
	s.types("d")
	shows("drink: red\n❯ red wine\n  about 3\n  1, all · Tab: hot")
	s.types("<enter>")
	if id := <-got; id != "3" {
		t.Errorf("chosen: %q", id)
	}
	go pick()
	shows("about 2")
	s.types("^C")
	if id := <-got; id != "" {
		t.Errorf("chosen: %q", id)
	}
}
