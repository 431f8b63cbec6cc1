package richtext

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/internal/base/pattern"
)

// visible makes invisible characters visible or harmless. It escapes characters that change
// the direction of text, which make it read differently, and zero-width characters, which
// hide text from people but not from models. Other control characters are replaced by their
// pictures. The text must be valid UTF-8.
func visible(text string) string {
	text, _ = firn.CleanText(text)
	if strings.IndexFunc(text, Hidden) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !Hidden(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune(0x2400 + r) // the picture of a control character
		case r < 0xa0:
			b.WriteRune(utf8.RuneError)
		default:
			fmt.Fprintf(&b, "[U+%04X]", r)
		}
	}
	return b.String()
}

// Hidden reports whether a character is an invisible control character.
func Hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return true
	case r == 0x061c || r == 0x200e || r == 0x200f:
		return true
	case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
		return true
	case r == 0x200b || r == 0x2060 || r == 0xfeff || r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// escapes matches terminal control sequences: colors, cursor movement, titles and links.
var escapes = pattern.New(escape)

// firstEscape is a control sequence at the start of a text.
var firstEscape = pattern.New("^(?:" + escape + ")")

const escape = "\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[PX^_][^\x1b]*(?:\x1b\\\\)?|[ -/]*[0-~])"

// Printed returns the output of a program as a terminal would show it: without control
// sequences and overwritten text.
func Printed(text string) string {
	if strings.IndexByte(text, 0x1b) >= 0 {
		text = escapes().ReplaceAllString(text, "")
	}
	if strings.IndexByte(text, '\r') < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		body, end := strings.CutSuffix(line, "\n")
		body = strings.TrimRight(body, "\r")
		b.WriteString(body[strings.LastIndexByte(body, '\r')+1:])
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
