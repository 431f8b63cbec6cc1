package tool

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// group formats a number with commas between thousands.
func group[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return sign + s
}

// count formats a number with its noun, in the plural if needed.
func count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		noun = stem + "ie"
	} else if strings.HasSuffix(noun, "ch") {
		noun += "e"
	}
	return group(n) + " " + noun + "s"
}

// size formats a number of bytes.
func size(n int64) string {
	if n < 1024 {
		return count(n, "byte")
	}
	f, unit := float64(n), ""
	for _, unit = range []string{"KB", "MB", "GB", "TB"} {
		if f /= 1024; f < 1023.95 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", f, unit)
}

// display formats a file name so that it stays on one line and can be used in a call:
// unchanged, or quoted if it contains unusual characters.
func display(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// ellipsis truncates a text to n characters.
func ellipsis(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}

// wholeEnd removes an incomplete character at the end of s.
func wholeEnd(s string) string {
	for back := 1; back < utf8.UTFMax && back <= len(s); back++ {
		if utf8.RuneStart(s[len(s)-back]) {
			if !utf8.FullRuneInString(s[len(s)-back:]) {
				return s[:len(s)-back]
			}
			break
		}
	}
	return s
}

// wholeStart removes an incomplete character at the start of s.
func wholeStart(s string) string {
	for n := 0; n < utf8.UTFMax && n < len(s); n++ {
		if utf8.RuneStart(s[n]) {
			return s[n:]
		}
	}
	return s
}
