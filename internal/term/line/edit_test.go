package line

import (
	"fmt"
	"strings"
	"testing"

	"firn.dev/internal/disk/history"
	"firn.dev/internal/disk/vfs"
)

// keysOf maps the key names in tests to bytes.
var keysOf = map[string]string{
	"<left>": "\x1b[D", "<right>": "\x1b[C", "<up>": "\x1b[A", "<down>": "\x1b[B", "<home>": "\x1b[H", "<end>": "\x1bOF",
	"<del>": "\x1b[3~", "<bs>": "\x7f", "<enter>": "\r", "<alt-enter>": "\x1b\r", "<shift-enter>": "\x1b[13;2u", "<tab>": "\t", "<shift-tab>": "\x1b[Z",
	"<ctrl-left>": "\x1b[1;5D", "<ctrl-right>": "\x1b[1;5C", "<alt-b>": "\x1bb", "<alt-f>": "\x1bf", "<alt-d>": "\x1bd", "<alt-bs>": "\x1b\x7f",
	"<paste>": pasteStart, "</paste>": pasteEnd, "<alt-first>": "\x1b<", "<alt-last>": "\x1b>", "<odd>": "\x1b[99;1z",
}

// keystrokes encodes keys as a terminal does; ^A is Control and a letter.
func keystrokes(text string) string {
	for name, bytes := range keysOf {
		text = strings.ReplaceAll(text, name, bytes)
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '^' && i+1 < len(text) {
			i++
			b.WriteByte(text[i] & 0x1f)
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// edit types keys into an editor. It returns the line with a bar at the cursor, or the
// submitted lines.
func edit(t *testing.T, e *editor, keys string) string {
	t.Helper()
	var d decoder
	var texts []string
	var pressed []key
	for i, part := range strings.Split(keys, "<esc>") {
		if i > 0 { // an Escape counts after a pause
			pressed = append(append(pressed, d.feed([]byte{escape})...), d.flush()...)
		}
		pressed = append(pressed, d.feed([]byte(keystrokes(part)))...)
	}
	for _, k := range append(pressed, d.flush()...) {
		if e.press(k) == entered {
			texts = append(texts, fmt.Sprintf("%q", e.text))
			e.history.Add(e.text)
			e.reset()
		}
	}
	if e.text != "" || len(texts) == 0 {
		texts = append(texts, e.text[:e.at]+"|"+e.text[e.at:])
	}
	return strings.Join(texts, " ")
}

func TestEdit(t *testing.T) {
	cases := []struct{ keys, want string }{
		{"hello", "hello|"},
		{"hello<left><left>X", "helX|lo"},
		{"hello^AX^EY", "XhelloY|"},
		{"hello<home><del><right><bs>", "|llo"},
		{"one two three<ctrl-left><ctrl-left>X", "one X|two three"},
		{"one two^A<alt-f><alt-f>", "one two|"},
		{"one two^A<ctrl-right>X", "oneX| two"},
		{"foo.bar baz<alt-b><alt-b>", "foo.|bar baz"},
		{"one two^A^K", "|"},
		{"one two<alt-b>^K^Y^Y", "one twotwo|"},
		{"one two^U^Yx", "one twox|"},
		{"one two three^W^W^Y", "one two three|"},
		{"a/b c/d^W", "a/b |"},
		{"a/b c/d<alt-bs>", "a/b c/|"},
		{"one two^A<alt-d>", "| two"},
		{"one two^A^K^Y^A^Y", "one two|one two"},
		{"ab^T", "ba|"},
		{"abc<left>^T", "acb|"},
		{"a^T", "a|"},
		{"^Bx^Fy^Dz", "xyz|"},
		{"ab^A^Dx", "x|b"},
		{"héllo wörld<left><left><left><left><left><bs>", "héllo|wörld"},
		{"雪だ<left>X", "雪X|だ"},
		{"e\u0301x<left><bs>", "|x"},        // one letter of two runes
		{"👩‍👩‍👧z<left><left>a", "a|👩‍👩‍👧z"}, // a family is one character
		{"🇳🇴<bs>", "|"},
		{`one\<enter>two<enter>`, `"one\ntwo"`},
		{"one<alt-enter>two<shift-enter>three<enter>", `"one\ntwo\nthree"`},
		{"<paste>a\r\nb\rc\x1b[31m\x07\td</paste><enter>", `"a\nb\nc[31m\td"`},
		{"x<paste>^C^D\r</paste>y", "x\ny|"},
		{"one<alt-enter>two<up>X", "oneX|\ntwo"},
		{"one<alt-enter>t<alt-enter>three<up><up><down><down>X", "one\nt\nthreeX|"},
		{"a<alt-enter>bc^AX<up>Y", "aY|\nXbc"},
		{"a<alt-enter>b^A<bs>", "a|b"},
		{"a<alt-enter>b^P^K^K", "a|"},
		{"a<alt-enter>b^A^U", "a|b"},
		{"<odd><esc>x", "x|"},
		{"a\x1b[201~b", "ab|"},
	}
	for _, c := range cases {
		if got := edit(t, newEditor(nil, nil), c.keys); got != c.want {
			t.Errorf("%s gives %q, want %q", c.keys, got, c.want)
		}
	}
}

// TestKeysInPieces checks that the keys do not depend on how sequences are split.
func TestKeysInPieces(t *testing.T) {
	text := keystrokes("a<left>é雪<paste>x\ny</paste><ctrl-right><alt-enter>^A<del><shift-enter>👩‍👩‍👧")
	var whole decoder
	want := fmt.Sprint(merge(whole.feed([]byte(text))))
	for at := range len(text) {
		var d decoder
		keys := append(d.feed([]byte(text[:at])), d.feed([]byte(text[at:]))...)
		if got := fmt.Sprint(merge(keys)); got != want {
			t.Errorf("cut at %d they are %s, want %s", at, got, want)
		}
	}
}

// merge joins split text.
func merge(keys []key) []key {
	var all []key
	for _, k := range keys {
		if n := len(all); n > 0 && k.name == keyText && all[n-1].name == keyText {
			all[n-1].text += k.text
			continue
		}
		all = append(all, k)
	}
	return all
}

// FuzzKeys checks that arbitrary input does not panic and that the cursor stays in the
// text.
func FuzzKeys(f *testing.F) {
	for _, c := range []string{"one two^A^K^Y", "<paste>a\nb", "a<tab><tab>^R^Ro^G", "\x1b[1;;;;5D\x1bO\x1b[", "雪<left><left><right>^T^W", "\xff\xfe\x1b[M",
		"one two^Jx\x1b[27uddkpywjxu0d$cwx", "/a<down><enter>/b<tab><esc>^G^V", "<paste>1\n2\n3\n4\n5\n6\n7</paste><bs>x<up>", "\x1b[97;5u\x1b[13;2u\x1b[27;2;13~\x1b[98;3:1u\x1b[99;1:3u\x1b[57414;1u\x1b[1114112;9u",
		"\x1b]11;rgb:ffff/0/zz\x1b\\\x1b]11;\x07\x1b]52\x1b[?62;22c\x1b[?"} {
		f.Add(keystrokes(c))
	}
	f.Fuzz(func(t *testing.T, keys string) {
		h := remembered("one", "two\nlines", "雪")
		e := newEditor(h, func(string) (int, []string) { return 0, []string{"aa", "ab", "雪"} })
		e.suggest = suggestNames
		if len(keys)%2 == 1 {
			e.vim = &vim{}
		}
		var d decoder
		for _, k := range append(d.feed([]byte(keys)), d.flush()...) {
			e.press(k)
			if e.at < 0 || e.at > len(e.text) {
				t.Fatalf("after %v the cursor is at %d of %d", k, e.at, len(e.text))
			}
			if m := e.menu; m != nil && (m.from > e.at || m.at < 0 || m.at >= len(m.items) || len(m.draw(20, 4, false)) > 4) {
				t.Fatalf("after %v the menu is %+v", k, m)
			}
			p := layOut("› ", "  ", e.text, e.at, 20).fit(5)
			if p.y < 0 || p.y >= len(p.rows) {
				t.Fatalf("after %v the cursor is in row %d of %d", k, p.y, len(p.rows))
			}
		}
	})
}

// remembered returns a history in memory with these lines.
func remembered(lines ...string) *history.History {
	h, _ := history.Open(vfs.OS{}, "") // cannot fail without a path
	for _, l := range lines {
		_ = h.Add(l)
	}
	return h
}

func TestHistoryKeys(t *testing.T) {
	cases := []struct{ keys, want string }{
		{"<up>", "three|"},
		{"<up><up><up>", "one\nmore|"},
		{"<up><up><up><up>", "one|\nmore"},
		{"draft<up><down>", "draft|"},
		{"draft<up><up><down><down><down>X", "draftX|"},
		{"<up><up>X<enter><up>", `"twoX" twoX|`},
		{"^P^P^N", "three|"},
		{"<alt-first>", "one\nmore|"},
		{"<alt-first><alt-last>x", "x|"},
		{"^Ro", "two|"},
		{"^Ro^R", "one\nmore|"},
		{"^RO^R^S", "two|"},
		{"^Rtw<enter>", `"two"`},
		{"^Rtw<esc>X", "twoX|"},
		{"^Rtw<left>X", "twX|o"},
		{"abc^Rtw^G", "abc|"},
		{"abc^Rtw^C", "abc|"},
		{"^Rtwx", "two|"},
		{"^Rtwx<bs><bs>", "three|"},
		{"abc^Rt<bs>", "abc|"},
		{"^R^R", "|"},
	}
	for _, c := range cases {
		e := newEditor(remembered("one\nmore", "two", "three"), nil)
		if got := edit(t, e, c.keys); got != c.want {
			t.Errorf("%s gives %q, want %q", c.keys, got, c.want)
		}
	}
}

func TestComplete(t *testing.T) {
	words := []string{"/resume", "/restore", "/retry", "/help"}
	complete := func(before string) (int, []string) {
		from := strings.LastIndexByte(before, ' ') + 1
		var fit []string
		for _, w := range words {
			if strings.HasPrefix(w, before[from:]) {
				fit = append(fit, w)
			}
		}
		return from, fit
	}
	cases := []struct{ keys, want string }{
		{"/h<tab>", "/help |"},
		{"/r<tab>", "/re|"},
		{"/r<tab><tab>", "/resume|"},
		{"/r<tab><tab><tab><tab><tab>", "/resume|"},
		{"/r<tab><shift-tab>", "/restore|"},
		{"/r<tab><tab>x", "/resumex|"},
		{"x /h<tab>y", "x /help y|"},
		{"/x<tab>", "/x|"},
		{"/h z<left><left><tab>", "/help | z"},
	}
	for _, c := range cases {
		if got := edit(t, newEditor(nil, complete), c.keys); got != c.want {
			t.Errorf("%s gives %q, want %q", c.keys, got, c.want)
		}
	}
	if got := edit(t, newEditor(nil, nil), "a<tab>"); got != "a|" {
		t.Errorf("without a completer: %q", got)
	}
}
