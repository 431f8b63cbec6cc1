package line

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// buffer is the text being edited and the cursor. The cursor is always between two grapheme
// clusters, never inside one.
type buffer struct {
	text string
	at   int // the cursor, as a byte offset in text

	// cut is the last killed text, for yanking; growing is true if the last key killed
	// text, so that the next kill adds to it.
	cut     string
	growing bool
	// goal is the column kept when moving up and down, or -1.
	goal int
}

// set replaces the text and moves to its end.
func (b *buffer) set(text string) {
	b.text, b.at, b.goal, b.growing = text, len(text), -1, false
}

// insert inserts text at the cursor.
func (b *buffer) insert(text string) {
	b.text = b.text[:b.at] + text + b.text[b.at:]
	b.at += len(text)
}

// replace replaces the text between from and the cursor.
func (b *buffer) replace(from int, text string) {
	b.text = b.text[:from] + text + b.text[b.at:]
	b.at = from + len(text)
}

// edges returns the grapheme boundaries of a text, without its beginning.
func edges(text string) []int {
	var all []int
	at := 0
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		at += len(g.Value())
		all = append(all, at)
	}
	return all
}

// lineStart and lineEnd return the start and end of the line at an offset.
func (b *buffer) lineStart(at int) int { return strings.LastIndexByte(b.text[:at], '\n') + 1 }

func (b *buffer) lineEnd(at int) int {
	if i := strings.IndexByte(b.text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(b.text)
}

// before returns the offset one character before at.
func (b *buffer) before(at int) int {
	if at == 0 {
		return 0
	}
	start := b.lineStart(at)
	if start == at {
		return at - 1 // the previous line ends there
	}
	all := edges(b.text[start:at])
	if len(all) < 2 {
		return start
	}
	return start + all[len(all)-2]
}

// after returns the offset one character after at.
func (b *buffer) after(at int) int {
	if at == len(b.text) {
		return at
	}
	if b.text[at] == '\n' {
		return at + 1
	}
	g := displaywidth.StringGraphemes(b.text[at:b.lineEnd(at)])
	g.Next()
	return at + max(len(g.Value()), 1)
}

// isWord reports whether a rune is part of a word.
func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_'
}

func isSpace(r rune) bool { return unicode.IsSpace(r) }

// wordBefore returns the start of the word before at; in reports whether a rune is part of
// a word.
func (b *buffer) wordBefore(at int, in func(rune) bool) int {
	seen := false
	for at > 0 {
		r, _ := utf8.DecodeLastRuneInString(b.text[:at])
		if seen && !in(r) {
			break
		}
		seen = seen || in(r)
		at = b.before(at)
	}
	return at
}

// wordAfter returns the end of the word after at.
func (b *buffer) wordAfter(at int) int {
	seen := false
	for at < len(b.text) {
		r, _ := utf8.DecodeRuneInString(b.text[at:])
		if seen && !isWord(r) {
			break
		}
		seen = seen || isWord(r)
		at = b.after(at)
	}
	return at
}

// take removes the text between two offsets and keeps it for yanking.
func (b *buffer) take(from, to int) {
	if from == to {
		return
	}
	taken := b.text[from:to]
	switch {
	case !b.growing:
		b.cut = taken
	case from < b.at:
		b.cut = taken + b.cut
	default:
		b.cut += taken
	}
	b.drop(from, to)
	b.growing = true
}

// drop removes the text between two offsets.
func (b *buffer) drop(from, to int) {
	b.text = b.text[:from] + b.text[to:]
	b.at = from
}

// killToEnd removes the rest of the line, or the line break at its end.
func (b *buffer) killToEnd() {
	end := b.lineEnd(b.at)
	if end == b.at && end < len(b.text) {
		end++
	}
	b.take(b.at, end)
}

// killToStart removes the line up to the cursor, or the line break before it.
func (b *buffer) killToStart() {
	start := b.lineStart(b.at)
	if start == b.at && start > 0 {
		start--
	}
	b.take(start, b.at)
}

// transpose swaps the characters around the cursor and moves on.
func (b *buffer) transpose() {
	mid := b.at
	if mid == b.lineEnd(mid) {
		mid = b.before(mid)
	}
	first := b.before(mid)
	if first == mid || b.text[first] == '\n' || mid == len(b.text) {
		return
	}
	last := b.after(mid)
	b.text = b.text[:first] + b.text[mid:last] + b.text[first:mid] + b.text[last:]
	b.at = last
}

// lineUp and lineDown move to the previous or next line, and report whether there is one.
func (b *buffer) lineUp() bool {
	start := b.lineStart(b.at)
	if start == 0 {
		return false
	}
	b.toColumn(b.lineStart(start - 1))
	return true
}

func (b *buffer) lineDown() bool {
	end := b.lineEnd(b.at)
	if end == len(b.text) {
		return false
	}
	b.toColumn(end + 1)
	return true
}

// toColumn moves to the line at start, as close to the goal column as possible.
func (b *buffer) toColumn(start int) {
	if b.goal < 0 {
		b.goal = Width(b.text[b.lineStart(b.at):b.at])
	}
	b.at = start
	width := 0
	for g := displaywidth.StringGraphemes(b.text[start:b.lineEnd(start)]); g.Next(); {
		if width += cellWidth(g.Value()); width > b.goal {
			break
		}
		b.at += len(g.Value())
	}
}
