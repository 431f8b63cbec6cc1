package mask

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// unfolded is a decoded text: without invisible characters, and with escapes of JSON and
// programming languages replaced.
type unfolded struct {
	text string
	// at maps each byte of text, and its end, to an offset in the original text.
	at []int
}

// isInvisible reports whether a character is invisible and meaningless within a secret.
func isInvisible(r rune) bool {
	switch {
	case r == 0xAD, r == 0x34F, r == 0x61C, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0xFEFF, r == 0x3164, r == 0xFFA0:
	case r >= 0x180B && r <= 0x180F, r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x206F:
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0000 && r <= 0xE0FFF:
	default:
		return false
	}
	return true
}

// unfold decodes a text and reports whether the result differs.
func unfold(text string) (unfolded, bool) {
	first := 0
	for first < len(text) {
		if c := text[first]; c != '\\' && c < utf8.RuneSelf {
			first++
			continue
		}
		size, decoded := character(text[first:])
		if decoded != text[first:first+size] {
			break
		}
		first += size
	}
	if first == len(text) {
		return unfolded{}, false
	}
	var b strings.Builder
	b.Grow(len(text))
	at := make([]int, 0, len(text)+1)
	for i := 0; i < len(text); {
		size, decoded := character(text[i:])
		for range len(decoded) {
			at = append(at, i)
		}
		b.WriteString(decoded)
		i += size
	}
	return unfolded{b.String(), append(at, len(text))}, true
}

// character returns the length of the first character of a text and its decoded form.
func character(rest string) (size int, decoded string) {
	switch c := rest[0]; {
	case c == '\\':
		return escaped(rest)
	case c < utf8.RuneSelf:
		return 1, rest[:1]
	}
	r, size := utf8.DecodeRuneInString(rest)
	if isInvisible(r) {
		return size, ""
	}
	return size, rest[:size]
}

// escaped decodes an escape that may be quoted several times: \u0041, \x41, quotation
// marks, newlines and slashes.
func escaped(rest string) (size int, decoded string) {
	slashes := 1
	for slashes < len(rest) && slashes < 8 && rest[slashes] == '\\' {
		slashes++
	}
	if slashes == len(rest) {
		return slashes, rest[:slashes]
	}
	digits := 0
	switch rest[slashes] {
	case '/', '"', '\'':
		return slashes + 1, rest[slashes : slashes+1]
	case 'n', 'r':
		return slashes + 1, "\n"
	case 't':
		return slashes + 1, "\t"
	case 'u':
		digits = 4
	case 'x':
		digits = 2
	}
	end := slashes + 1 + digits
	if digits == 0 || end > len(rest) {
		return slashes, rest[:slashes]
	}
	code, err := strconv.ParseUint(rest[slashes+1:end], 16, 16)
	if err != nil || code < ' ' || code == '"' || code == '\\' {
		return slashes, rest[:slashes]
	}
	if isInvisible(rune(code)) {
		return end, ""
	}
	return end, string(rune(code))
}
