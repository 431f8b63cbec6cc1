package firn

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCleanText(t *testing.T) {
	cases := []struct {
		in, want string
		changed  bool
	}{
		{"", "", false},
		{"plain", "plain", false},
		{"tab\tline\nreturn\r", "tab\tline\nreturn\r", false},
		{"ä€😀 e\u0301 \u2028\u2029\ufeff", "ä€😀 e\u0301 \u2028\u2029\ufeff", false},
		{"\ufffd was there before", "\ufffd was there before", false},
		{"\x01\x1b[31m\x7f", "\x01\x1b[31m\x7f", false},
		{"\x00", "\ufffd", true},
		{"a\x00b\x00", "a\ufffdb\ufffd", true},
		{"\xff", "\ufffd", true},
		{"a\xc3", "a\ufffd", true},
		{"\xf0\x9f\x98", "\ufffd\ufffd\ufffd", true},            // a truncated emoji
		{"\xed\xa0\xbd", "\ufffd\ufffd\ufffd", true},            // a lone surrogate
		{"\xc0\x80", "\ufffd\ufffd", true},                      // an overlong encoding of NUL
		{"\xf4\x90\x80\x80", strings.Repeat("\ufffd", 4), true}, // beyond Unicode
		{"ok\x80😀\xffok", "ok\ufffd😀\ufffdok", true},
	}
	for _, c := range cases {
		got, changed := CleanText(c.in)
		if got != c.want || changed != c.changed {
			t.Errorf("CleanText(%q) = %q, %v, want %q, %v", c.in, got, changed, c.want, c.changed)
		}
	}
}

func FuzzCleanText(f *testing.F) {
	for _, s := range []string{"", "plain", "ä€😀", "a\x00b", "\xff\xfe", "\xed\xa0\xbd\xed\xb8\x80", "\xf0\x9f\x98"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		clean, changed := CleanText(s)
		if !utf8.ValidString(clean) || strings.ContainsRune(clean, 0) {
			t.Fatalf("CleanText(%q) = %q, which is not clean", s, clean)
		}
		if changed != (clean != s) {
			t.Fatalf("CleanText(%q) = %q reports changed = %v", s, clean, changed)
		}
		if got, want := utf8.RuneCountInString(clean), utf8.RuneCountInString(s); got != want {
			t.Fatalf("CleanText(%q) has %d runes, want %d", s, got, want)
		}
		if again, changed := CleanText(clean); again != clean || changed {
			t.Fatalf("CleanText(%q) is not stable: then %q", s, again)
		}
	})
}

// mixed has runes of one to four bytes, joined emoji and combining marks.
const mixed = "aé€😀\u0301👩‍👩‍👧\x00\u2028zß漢字🇦🇹"

func TestCutTextAtEveryLength(t *testing.T) {
	for n := -1; n <= len(mixed)+1; n++ {
		got := CutText(mixed, n)
		if want := longestCut(mixed, n); got != want {
			t.Errorf("CutText(mixed, %d) = %q, want %q", n, got, want)
		}
	}
}

// longestCut is a slow reference implementation of CutText for valid text.
func longestCut(s string, n int) string {
	best := ""
	for i := range s {
		if i <= n {
			best = s[:i]
		}
	}
	if len(s) <= n {
		best = s
	}
	return best
}

func TestCutTextNextToInvalidBytes(t *testing.T) {
	cases := []struct {
		in   string
		n    int
		want string
	}{
		{"é", 1, ""},
		{"😀", 3, ""},
		{"a😀", 4, "a"},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80"},
		{"a\x80\x80", 2, "a\x80"}, // a stray byte belongs to no rune
		{"\xf0\x9f", 1, "\xf0"},   // nor does a rune that never ends
		{"é\xff\xff", 3, "é\xff"}, // preceding bytes do not matter
		{"\xff😀", 3, "\xff"},      // the following rune is not split
		{"abc", 0, ""},
		{"abc", -5, ""},
		{"abc", 99, "abc"},
		{"", 0, ""},
	}
	for _, c := range cases {
		if got := CutText(c.in, c.n); got != c.want {
			t.Errorf("CutText(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func FuzzCutText(f *testing.F) {
	f.Add(mixed, 7)
	f.Add("é", 1)
	f.Add("\xf0\x9f\x98", 2)
	f.Fuzz(func(t *testing.T, s string, n int) {
		got := CutText(s, n)
		if !strings.HasPrefix(s, got) || len(got) > max(n, 0) {
			t.Fatalf("CutText(%q, %d) = %q", s, n, got)
		}
		if utf8.ValidString(s) && got != longestCut(s, n) {
			t.Fatalf("CutText(%q, %d) = %q, want %q", s, n, got, longestCut(s, n))
		}
		if len(s) > n && len(got) < n-utf8.UTFMax+1 {
			t.Fatalf("CutText(%q, %d) = %q gives away more than a rune", s, n, got)
		}
	})
}
