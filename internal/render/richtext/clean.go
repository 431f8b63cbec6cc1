package richtext

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"firn.dev"
)

// visible makes what cannot be seen visible, or harmless: characters that turn
// the direction of text round, so that it reads otherwise than it is, and those
// that take no room, by which text is hidden from people and not from models, are
// spelt out, and other control characters have their picture. The text is valid
// UTF-8.
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

// Hidden reports whether a character steers and is not seen.
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

// escapes are what steers a terminal: colours, the cursor, titles and links.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[PX^_][^\x1b]*(?:\x1b\\\\)?|[ -/]*[0-~])")

// Printed is what a program printed, as one would see it: without what steers a
// terminal, and of a line that was written over, the last that was written.
func Printed(text string) string {
	if strings.IndexByte(text, 0x1b) >= 0 {
		text = escapes.ReplaceAllString(text, "")
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
