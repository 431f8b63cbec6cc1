package line

import "testing"

// TestVim edits lines with the keys of vi.
func TestVim(t *testing.T) {
	cases := []struct{ keys, want string }{
		{"hello", "hello|"},
		{"hello<esc>", "hell|o"},
		{"hello<esc>hhx", "he|lo"},
		{"hello<esc>0x", "|ello"},
		{"hello<esc>0ll", "he|llo"},
		{"hello<esc>lll", "hell|o"},
		{"one two.x<esc>bbX", "one|two.x"},
		{"one two three<esc>0w", "one |two three"},
		{"one two three<esc>0ww", "one two |three"},
		{"one two three<esc>0e", "on|e two three"},
		{"one two<esc>0ee", "one tw|o"},
		{"one two<esc>b", "one |two"},
		{"one two<esc>bb", "|one two"},
		{"one two<esc>bD", "one| "},
		{"one two<esc>0dw", "|two"},
		{"one two<esc>0de", "| two"},
		{"one two<esc>db", "one |o"},
		{"one two<esc>d0", "|o"},
		{"one two<esc>0d$", "|"},
		{"one two<esc>0cwthree<esc>", "thre|e two"},
		{"one two<esc>cc3", "3|"},
		{"one two<esc>bCthree", "one three|"},
		{"one two<esc>0sX", "X|ne two"},
		{"one two<esc>Snew", "new|"},
		{"ab<esc>ixy", "axy|b"},
		{"ab<esc>axy", "abxy|"},
		{"  ab<esc>Ix", "  x|ab"},
		{"ab<esc>0Ax", "abx|"},
		{"ab<esc>ox<esc>", "ab\n|x"},
		{"ab<esc>Ox<esc>", "|x\nab"},
		{"ab^Jcd<esc>k", "a|b\ncd"},
		{"ab^Jcd<esc>kj", "ab\nc|d"},
		{"a^Jb^Jc<esc>kdd", "a\n|c"},
		{"a^Jb<esc>dd", "|a"},
		{"a^Jb<esc>ddp", "a\n|b"},
		{"a^Jb<esc>kddp", "b\n|a"},
		{"a^Jb<esc>yyP", "a\n|b\nb"},
		{"ab<esc>xp", "a|b"},
		{"ab<esc>0xp", "b|a"},
		{"ab<esc>0xP", "|ab"},
		{"one two<esc>0yw$p", "one twoone| "},
		{"ab<esc>xxu", "|a"},
		{"ab<esc>xxuu", "a|b"},
		{"ab<esc>aXY<esc>u", "a|b"},
		{"ab<esc>xuu", "|"},
		{"ab<esc>d<esc>x", "|a"},
		{"ab<esc>dzx", "|a"},
		{"雪 だ<esc>0x", "| だ"},
		{"ab<esc><enter>", `"ab"`},
		{"ab<esc><enter>cd", `"ab" cd|`},
		{"one<enter>x<esc>k", `"one" on|e`},
	}
	for _, c := range cases {
		e := newEditor(nil, nil)
		e.vim = &vim{}
		e.reset()
		if got := edit(t, e, c.keys); got != c.want {
			t.Errorf("%s gives %q, want %q", c.keys, got, c.want)
		}
	}
}

// TestVimScreen shows the mode below the line, and reports Escape in normal mode.
func TestVimScreen(t *testing.T) {
	s := newTerminalTest(t, Options{Vim: true})
	s.term.Prompt(true)
	s.types("ab")
	s.sees("› ab\n")
	s.types("<esc-pause>")
	s.sees("› ab\nnormal mode\n")
	s.types("<esc-pause>")
	if got := s.event(); got != `3 "ab"` {
		t.Errorf("the event is %s", got)
	}
	s.types("i")
	s.sees("› ab\n")
}
