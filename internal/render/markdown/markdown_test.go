package markdown

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// render renders a text that arrives in pieces.
func render(width int, pieces ...string) []string {
	w := New(width)
	var rows []string
	for _, p := range pieces {
		rows = append(rows, w.Write(p)...)
	}
	return append(rows, w.End()...)
}

// marked shows styles as signs that can be read.
func marked(rows []string) string {
	text := strings.Join(rows, "\n")
	for code, sign := range map[string]string{"1": "B", "2": "D", "3": "I", "4": "U", "9": "S", "35": "C", "1;3": "BI", "1;35": "BC", "1;2": "BD", "4;1": "UB", "32": "G", "36": "Y"} {
		text = strings.ReplaceAll(text, "\x1b["+code+"m", "<"+sign+">")
	}
	return strings.ReplaceAll(text, "\x1b[0m", "</>")
}

func TestRender(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"plain", "Hello there.\n\nBye.", "Hello there.\n\nBye."},
		{"bold and italic", "a **b c** *d* __e__ _f_ ***g***", "a <B>b c</> <I>d</> <B>e</> <I>f</> <BI>g</>"},
		{"nested", "**a *b* `c`**", "<B>a </><BI>b</><B> </><BC>c</>"},
		{"struck", "~~no~~ ~yes~", "<S>no</> ~yes~"},
		{"code", "use `go test` and ``a`b`` now", "use <C>go test</> and <C>a`b</> now"},
		{"code keeps signs", "`**a**` `[x](y)`", "<C>**a**</> <C>[x](y)</>"},
		{"no emphasis", "2 * 3 * 4, a_b_c, 5*6, ** x", "2 * 3 * 4, a_b_c, 5*6, ** x"},
		{"unclosed", "a **b and `c and [d", "a **b and `c and [d"},
		{"escaped", `\*a\* \_b \q`, `*a* _b \q`},
		{"link", "see [the docs](https://x.org/a) now", "see <U>the docs</><D> (https://x.org/a)</> now"},
		{"bold link", "[**a**](u)", "<UB>a</><D> (u)</>"},
		{"image", "![a cat](cat.png)", "<U>a cat</><D> (cat.png)</>"},
		{"no link", "[a] (b) [c](d e) [](f)", "[a] (b) [c](d e) [](f)"},
		{"heading", "## A *title*", "<D>## </><B>A </><BI>title</>"},
		{"no heading", "#tag", "#tag"},
		{"list", "- a\n* b\n  + c\n1. d\n2) e", "• a\n• b\n  • c\n1. d\n2) e"},
		{"tasks", "- [ ] a\n- [x] b", "• [ ] a\n• [x] b"},
		{"quote", "> a **b**", "<D>│ </>a <B>b</>"},
		{"rule", "a\n---\n***\nb", "a\n<D>────────────────────────────────────────</>\n<D>────────────────────────────────────────</>\nb"},
		{"fence", "```go\nx := *p\n\n  **y**\n```\n**z**", "<D>```go</>\nx := *p\n\n  **y**\n<D>```</>\n<B>z</>"},
		{"long fence", "````\n```\n````\na", "<D>````</>\n```\n<D>````</>\na"},
		{"tildes", "~~~\n```\n~~~", "<D>~~~</>\n```\n<D>~~~</>"},
		{"unclosed fence", "```\n# a", "<D>```</>\n# a"},
		{"table", "| a | **b** |\n|---|--:|\n| `c|d` | e \\| f |", "<B>a</>  <D> │ </>    <B>b</>\n<D>────┼──────</>\n<C>c|d</><D> │ </>e | f"},
		{"table of one row", "| a | **b** |", "| a | **b** |"},
		{"no table", "|a|\n|b|\nc", "|a|\n|b|\nc"},
		{"code in colors", "```go\nreturn \"a\" // b\n/* c\nd */ 1\n```", "<D>```go</>\n<C>return </><G>\"a\" </><D>// b</>\n<D>/* c</>\n<D>d */ </><Y>1</>\n<D>```</>"},
		{"inline code at the start", "`a` b", "<C>a</> b"},
		{"indented", "    a\n\tb", "    a\n    b"},
	}
	for _, c := range cases {
		if got := marked(render(80, c.text)); got != c.want {
			t.Errorf("%s: %q is shown as\n%s\nwant\n%s", c.name, c.text, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	cases := []struct{ text, want string }{
		{"one two three four five six seven", "one two three four\nfive six seven"},
		{"- one two three four five six seven", "• one two three four five\n  six seven"},
		{"> one two three four five", "<D>│ </>one two three four\n<D>│ </>five"},
		{"a **b c d e f g h i j k l m n** o", "a <B>b c d e f g h i j</>\n<B>k l m n</> o"},
		{"https://example.org/a/very/long/address/that/does/not/fit and more", "https://example.org/a/very/long/address/that/does/not/fit\nand more"},
		{"雪は押されて氷になる雪は押されて氷になる。", "雪は押されて氷になる\n雪は押されて氷にな\nる。"},
	}
	for _, c := range cases {
		width := 20
		if strings.HasPrefix(c.text, "- ") || strings.HasPrefix(c.text, ">") {
			width = 26
		}
		if strings.HasPrefix(c.text, ">") {
			width = 22
		}
		if got := marked(render(width, c.text)); got != c.want {
			t.Errorf("%q is set as\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
}

// TestStream gives out rows as soon as they are certain, not earlier.
func TestStream(t *testing.T) {
	w := New(20)
	steps := []struct {
		piece string
		rows  []string
		live  []string
	}{
		{"one two ", nil, []string{"one two"}},
		{"three four", nil, []string{"one two three four"}},
		{" five", nil, []string{"one two three four", "five"}},
		{" ", []string{"one two three four"}, []string{"five"}},
		{"**six", nil, []string{"five **six"}},
		{" seven eight nine ten", nil, []string{"five **six seven", "eight nine ten"}},
		{"** ", []string{"five \x1b[1msix seven eight\x1b[0m"}, []string{"nine ten"}},
		{"x\n#", []string{"\x1b[1mnine ten\x1b[0m x"}, []string{"#"}},
		{"# y\n", []string{"\x1b[2m## \x1b[0m\x1b[1my\x1b[0m"}, nil},
		{"```", nil, []string{"```"}},
		{"\nlet x", []string{"\x1b[2m```\x1b[0m"}, []string{"let x"}},
		{"\n", []string{"let x"}, nil},
	}
	for _, s := range steps {
		if rows := w.Write(s.piece); !slices.Equal(rows, s.rows) {
			t.Errorf("after %q come %q, want %q", s.piece, rows, s.rows)
		}
		if live := w.Live(); !slices.Equal(live, s.live) {
			t.Errorf("after %q is live %q, want %q", s.piece, live, s.live)
		}
	}
	if rows := w.End(); len(rows) > 0 || w.Live() != nil {
		t.Errorf("at the end there is %q", rows)
	}
}

// TestPlain shows text as it is.
func TestPlain(t *testing.T) {
	const text = "# A **b**\n- c\n```\nx\n```\n"
	w := Plain(20)
	rows := w.Write(text + strings.Repeat("0123456789", 5))
	if got := strings.Join(rows, "\n") + "\n"; got != text {
		t.Errorf("it is shown as %q", got)
	}
	if live := w.Live(); len(live) != 3 || strings.Join(live, "") != strings.Repeat("0123456789", 5) {
		t.Errorf("it is live as %q", live)
	}
	if rows := w.End(); len(rows) != 1 || len(rows[0]) != 50 {
		t.Errorf("it ends with %q", rows)
	}
}

// TestLongLine checks that a line without an end is split into several, wherever the input is
// cut.
func TestLongLine(t *testing.T) {
	for _, word := range []string{"snow ", "[", "*a", "雪", "x"} {
		text := strings.Repeat(word, 20_000/len(word))
		whole := render(80, text)
		var pieces []string
		for rest := []rune(text); len(rest) > 0; rest = rest[min(len(rest), 1234):] {
			pieces = append(pieces, string(rest[:min(len(rest), 1234)]))
		}
		if cut := render(80, pieces...); !slices.Equal(whole, cut) || len(whole) < 2 {
			t.Errorf("many %q are %d rows, and in pieces %d", word, len(whole), len(cut))
		}
		if got := styles.ReplaceAllString(strings.Join(whole, ""), ""); letters(got) != letters(text) || word == "[" && strings.Count(got, "[") != len(text) {
			t.Errorf("of many %q is left %d of %d bytes", word, len(got), len(text))
		}
	}
}

var styles = regexp.MustCompile("\x1b\\[[0-9;]*m")

// letters are the letters and digits of a text.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// containsLetters reports whether a text has all letters of another, in any order. Wrapped
// table cells are side by side, and lists of cells repeat the header.
func containsLetters(text, all string) bool {
	count := make(map[rune]int)
	for _, r := range text {
		count[r]++
	}
	for _, r := range all {
		if count[r]--; count[r] < 0 {
			return false
		}
	}
	return true
}

// FuzzPieces cuts texts into pieces: the rows are the same wherever they are
// cut, no letter is lost, and there is no escape sequence but styles.
func FuzzPieces(f *testing.F) {
	for _, text := range []string{
		"# Title\n\nSome **bold *and* `code`** text with [a link](https://x.org) that goes on and on and on.\n\n- one\n- two\n\n```go\nfunc main() {}\n```\n> quote\n---\n",
		"a * b ** c *** d ____ e `` f ` g ~~ h [ i ] j ( k ) ! l ![ m \\ n \\",
		"1. first and a very long item that must be broken somewhere\n   2) second **with\nbold** over lines",
		"| a | b | c |\n|---|:-:|--:|\n| a long cell that is wrapped | x | 1 |\n\nand a paragraph that follows it and is long\n|d|\n|-|\n",
		"_a_b_ *a*b* **a**b** `a``b` [a](b [c](d) |x|\n|y|\n~~~x\n```\n~~~",
	} {
		for _, n := range []int{1, 2, 3, 7} {
			f.Add(text, uint8(n), uint8(30))
		}
	}
	f.Fuzz(func(t *testing.T, text string, n, width uint8) {
		text = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				return -1
			}
			return r
		}, strings.ToValidUTF8(text, ""))
		var pieces []string
		for rest := text; rest != ""; {
			size := min(max(int(n), 1), len(rest))
			for size < len(rest) && rest[size]&0xc0 == 0x80 {
				size++
			}
			pieces, rest = append(pieces, rest[:size]), rest[size:]
		}
		whole, cut := render(int(width), text), render(int(width), pieces...)
		if !slices.Equal(whole, cut) {
			t.Fatalf("%q is shown as\n%q\nand in pieces as\n%q", text, whole, cut)
		}
		plain := styles.ReplaceAllString(strings.Join(whole, "\n"), "")
		if strings.ContainsRune(plain, '\x1b') {
			t.Fatalf("%q is shown with %q", text, plain)
		}
		if got, want := letters(plain), letters(text); got != want && !(strings.Contains(text, "|") && containsLetters(got, want)) {
			t.Fatalf("of %q is left %q", text, plain)
		}
	})
}
