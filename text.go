package firn

import (
	"strings"
	"unicode/utf8"
)

// CleanText sanitizes text before it enters a log. The result is valid UTF-8 without NUL:
// every invalid byte (including those of encoded surrogates) becomes U+FFFD. changed
// reports whether there were any.
func CleanText(s string) (clean string, changed bool) {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s, false
	}
	var b strings.Builder
	b.Grow(len(s) + 8)
	for _, r := range s { // an invalid byte ranges as U+FFFD of width 1
		if r == 0 {
			r = utf8.RuneError
		}
		b.WriteRune(r)
	}
	return b.String(), true
}

// CutText returns the longest prefix of s of at most n bytes that does not end within a
// rune.
func CutText(s string, n int) string {
	if n >= len(s) {
		return s
	}
	if n <= 0 {
		return ""
	}
	for back := 1; back < utf8.UTFMax && back <= n; back++ {
		if !utf8.RuneStart(s[n-back]) {
			continue
		}
		if _, size := utf8.DecodeRuneInString(s[n-back:]); size > back {
			return s[:n-back]
		}
		break
	}
	return s[:n]
}
