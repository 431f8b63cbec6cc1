package line

import (
	"errors"
	"strings"
	"testing"

	"firn.dev/internal/term/line/linetest"
)

// suggestNames offers names for a line that begins with a slash, and files after an @.
func suggestNames(before string) (int, []Item) {
	if strings.HasPrefix(before, "/") && !strings.Contains(before, " ") {
		var items []Item
		for _, item := range []Item{{Text: "/new", Help: "begin"}, {Text: "/rename", Name: "/rename TITLE", Help: "rename", Stay: true}, {Text: "/rewind", Help: "go back"}} {
			if strings.HasPrefix(item.Text, before) {
				items = append(items, item)
			}
		}
		return 0, items
	}
	at := strings.LastIndexByte(before, '@')
	if at < 0 || strings.Contains(before[at:], " ") {
		return -1, nil
	}
	if strings.HasPrefix(before[at:], "@dir/") {
		return at, []Item{{Text: "@dir/file", Stay: true}}
	}
	return at, []Item{{Text: "@dir/", Stay: true}, {Text: "@other", Stay: true}}
}

// TestMenu chooses from the menu by each of its keys.
func TestMenu(t *testing.T) {
	cases := []struct{ keys, want string }{
		{"/<enter>", `"/new"`},
		{"/re<down><enter>", `"/rewind"`},
		{"/re<up><enter>", `"/rewind"`},
		{"/re<enter>x<enter>", `"/rename x"`},
		{"/rename<enter>", `"/rename"`},
		{"/re<tab>", "/rename |"},
		{"/re^N<tab>", "/rewind |"},
		{"/rew<bs><enter>", "/rename |"},
		{"/re<down>w<enter>", `"/rewind"`},
		{"/re<esc><enter>", `"/re"`},
		{"/re<esc>n<enter>", `"/ren"`},
		{"/re<esc><bs><bs><bs>/n<enter>", `"/new"`},
		{"/etc/hosts<enter>", `"/etc/hosts"`},
		{"see @o<down><enter>x", "see @other x|"},
		{"see @<enter><enter>x", "see @dir/file x|"},
		{"see @<tab>", "see @dir/|"},
		{"/re^A^Ex<enter>", `"/rex"`},
		{"/new<enter>hello<enter><up><up><up>x", `"/new" "hello" /newx|`}, // a recalled line has no menu
	}
	for _, c := range cases {
		e := newEditor(nil, nil)
		e.suggest = suggestNames
		if got := edit(t, e, c.keys); got != c.want {
			t.Errorf("%s gives %q, want %q", c.keys, got, c.want)
		}
	}
}

// TestMenuScreen shows the menu below the line while lines are printed above it.
func TestMenuScreen(t *testing.T) {
	s := newTerminalTest(t, Options{Suggest: suggestNames})
	s.term.Prompt(true)
	s.types("/")
	s.sees("› /\n❯ /new           begin\n  /rename TITLE  rename\n  /rewind        go back\n")
	s.at(3, 0)
	s.term.Print("hello")
	s.types("re<down>")
	s.sees("hello\n› /re\n  /rename TITLE  rename\n❯ /rewind        go back\n")
	s.types("<esc-pause>")
	s.sees("hello\n› /re\n")
	s.types("<bs><bs><bs>@")
	s.sees("hello\n› @\n❯ @dir/\n  @other\n")
	s.types("<down><tab>")
	s.sees("hello\n› @other\n")
}

// TestRefresh requests the items again when more are known.
func TestRefresh(t *testing.T) {
	known := make(chan []Item, 1)
	known <- nil
	s := newTerminalTest(t, Options{Suggest: func(before string) (int, []Item) {
		items := <-known
		known <- items
		return 0, items
	}})
	s.term.Prompt(true)
	s.types("@")
	s.sees("› @\n")
	<-known
	known <- []Item{{Text: "@found"}}
	s.term.Refresh()
	s.sees("› @\n❯ @found\n")
}

// TestFold folds pastes of many lines and expands them when the line is submitted.
func TestFold(t *testing.T) {
	long := strings.Repeat("a\r", 6) + "b"
	cases := []struct{ keys, want, shown string }{
		{"x <paste>" + long + "</paste> y", "x " + strings.ReplaceAll(long, "\r", "\n") + " y", "x [pasted 7 lines] y"},
		{"<paste>" + long + "</paste><paste>" + long + "</paste>", strings.ReplaceAll(long+long, "\r", "\n"), "[pasted 7 lines][pasted 7 lines]"},
		{"<paste>" + long + "</paste><paste>" + long[:12] + "c</paste>", strings.ReplaceAll(long+long[:12]+"c", "\r", "\n"), "[pasted 7 lines][pasted 7 lines #2]"},
		{"x<paste>" + long + "</paste><bs>y", "xy", "xy"},
		{"<paste>" + long + "</paste><left><bs>", "[pasted 7 line]", "[pasted 7 line]"},
		{"<paste>a\rb\rc</paste>", "a\nb\nc", "a\nb\nc"},
		{"<paste>" + strings.Repeat("x", 2001) + "</paste>", strings.Repeat("x", 2001), "[pasted 2001 bytes]"},
	}
	for _, c := range cases {
		e := newEditor(nil, nil)
		edit(t, e, c.keys)
		if e.text != c.shown || e.expanded() != c.want {
			t.Errorf("%q gives %q, shown as %q", c.keys, e.expanded(), e.text)
		}
	}
	s := newTerminalTest(t, Options{})
	s.term.Prompt(true)
	s.types("see <paste>" + long + "</paste>")
	s.sees("› see [pasted 7 lines]\n")
	s.types("<enter>")
	e := <-s.term.Events()
	if e.Text != "see a\na\na\na\na\na\nb" || e.Shown != "see [pasted 7 lines]" {
		t.Errorf("the event is %+v", e)
	}
}

// TestCodes decodes keys that are reported by their codes.
func TestCodes(t *testing.T) {
	cases := []struct{ keys, want string }{
		{"a\x1b[13;2ub\x1b[27;2;13~c\nd\x1b[106;5ue", "a\nb\nc\nd\ne|"},
		{"ab\x1b[97;5uX", "X|ab"},
		{"ab\x1b[27;5;97~X", "X|ab"},
		{"ab\x1b[97;69uX", "X|ab"}, // with Caps Lock
		{"one two\x1b[98;3uX", "one X|two"},
		{"a\x1b[120u\x1b[121;2u", "axY|"},
		{"ab\x1b[127u\x1b[8;1u", "|"},
		{"one two\x1b[127;5u", "one |"},
		{"a\x1b[97;1:3ub", "ab|"}, // released
		{"a\x1b[57441ub\x1b[98;9uc", "abc|"},
		{"a\x1b[57414u", `"a"`},
		{"a\x1b[1114112u\x1b[-5ub", "ab|"},
		{"a\x1b]11;rgb:0/0/0\x1b\\b\x1b]11;x\x07c\x1b[?62;22cd", "abcd|"},
	}
	for _, c := range cases {
		if got := edit(t, newEditor(nil, nil), c.keys); got != c.want {
			t.Errorf("%q gives %q, want %q", c.keys, got, c.want)
		}
	}
}

// TestTypedBeforeRawMode submits a line that was typed before raw mode, when the system replaced
// Enter.
func TestTypedBeforeRawMode(t *testing.T) {
	s := newTerminalTest(t, Options{})
	s.types("early\nmore")
	if got := s.event(); got != `0 "early"` {
		t.Errorf("the event is %s", got)
	}
	s.term.Prompt(true)
	s.sees("› more\n")
	s.types("^Jnext")
	s.sees("› more\n  next\n")
}

// TestEscape reports Escape, and whether it was pressed twice in an empty line.
func TestEscape(t *testing.T) {
	s := newTerminalTest(t, Options{})
	s.term.Prompt(true)
	again := func() bool {
		e := <-s.term.Events()
		if e.Kind != Escape {
			t.Errorf("the event is %+v", e)
		}
		return e.Again
	}
	s.types("<esc-pause>")
	if again() {
		t.Error("once is twice")
	}
	s.term.Hint("Esc again")
	s.sees("›\nEsc again\n")
	s.types("<esc-pause>")
	if !again() {
		t.Error("twice is once")
	}
	s.types("x<esc-pause>")
	if again() {
		t.Error("it was a key between them")
	}
	s.sees("› x\n")
	s.types("<bs><esc-pause>")
	if again() {
		t.Error("the line had text")
	}
}

// TestExternalEditor gives the terminal to another program, which gets the text and none of the
// printed lines.
func TestExternalEditor(t *testing.T) {
	s := newTerminalTest(t, Options{Extended: true})
	s.term.Prompt(true)
	s.types("one<paste>" + strings.Repeat("\rx", 7) + "</paste>")
	s.sees("› one[pasted 8 lines]\n")
	if err := s.term.Edit(func(string) (string, error) { return "", nil }); !errors.Is(err, ErrNoPause) {
		t.Errorf("without a pause: %v", err)
	}
	s.term.mu.Lock()
	s.term.dev.Pause = func() func() { return func() {} }
	s.term.mu.Unlock()
	err := s.term.Edit(func(text string) (string, error) {
		if text != "one"+strings.Repeat("\nx", 7) || s.raw.Load() != 0 || s.screen.Mode("?2004") || s.screen.Mode(linetest.Keyboard) {
			t.Errorf("it gets %q, with raw mode %d", text, s.raw.Load())
		}
		s.term.Print("printed meanwhile")
		if got := s.screen.String(); got != "\n" {
			t.Errorf("the screen has %q", got)
		}
		return "two\nlines\n\n", nil
	})
	if err != nil || !s.screen.Mode("?2004") || !s.screen.Mode(linetest.Keyboard) {
		t.Error(err)
	}
	s.sees("printed meanwhile\n› two\n  lines\n")
	failed := errors.New("no editor")
	if err := s.term.Edit(func(string) (string, error) { return "lost", failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	s.sees("printed meanwhile\n› two\n  lines\n")
}

// TestPasteHook replaces a paste with a placeholder, which one Backspace removes.
func TestPasteHook(t *testing.T) {
	s := newTerminalTest(t, Options{Paste: func(text string) string {
		if text == "/tmp/x.png" {
			return "[image x.png]"
		}
		return ""
	}})
	s.term.Prompt(true)
	s.types("see <paste>/tmp/x.png</paste> and <paste>text</paste>")
	s.sees("› see [image x.png] and text\n")
	s.types("<bs><bs><bs><bs><bs><bs><bs><bs><bs><bs>")
	s.sees("› see\n")
}

// TestBackground queries the background color of the terminal without losing keys.
func TestBackground(t *testing.T) {
	for color, want := range map[string]Background{"rgb:ffff/ffff/ffff": Light, "rgb:1e1e/2020/2424": Dark, "rgb:ff/ff/f0": Light, "rgba:0/0/0/f": Dark, "blue": Unknown, "rgb:1/2": Unknown, "rgb:/": Unknown} {
		if got := backgroundOf(color); got != want {
			t.Errorf("%s is %d, want %d", color, got, want)
		}
	}
	for value, want := range map[string]Background{"15;0": Dark, "0;15": Light, "0;default;15": Light, "7": Light, "0;8": Dark, "": Unknown, "x;y": Unknown, "1;99": Unknown} {
		if got := BackgroundOf(value); got != want {
			t.Errorf("%s is %d, want %d", value, got, want)
		}
	}
	s := newTerminalTest(t, Options{Extended: true})
	s.term.Prompt(true)
	s.types("a\x1b]11;rgb:ff")
	s.types("ff/ffff/ffff\x07b\x1b[?1;2c")
	s.sees("› ab\n")
	s.types("c")
	s.sees("› abc\n")
	if got := s.term.Background(); got != Light {
		t.Errorf("the background is %d", got)
	}
}
