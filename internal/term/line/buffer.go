package line

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// buffer is text that is being edited, and the place in it where the next
// letter goes. The place is always between two characters as people see them,
// never within one that is made of several runes.
type buffer struct {
	text string
	at   int // a place in text, in bytes

	// cut is what was taken away last and can be put back; growing says that the
	// last key took something away, so that the next one adds to it.
	cut     string
	growing bool
	// goal is the column that moving up and down keeps to, -1 for none.
	goal int
}

// set replaces the text and goes to its end.
func (b *buffer) set(text string) {
	b.text, b.at, b.goal, b.growing = text, len(text), -1, false
}

// insert adds text where we are.
func (b *buffer) insert(text string) {
	b.text = b.text[:b.at] + text + b.text[b.at:]
	b.at += len(text)
}

// replace puts text in place of what stands between from and here.
func (b *buffer) replace(from int, text string) {
	b.text = b.text[:from] + text + b.text[b.at:]
	b.at = from + len(text)
}

// edges are the places between the characters of a text, without its beginning.
func edges(text string) []int {
	var all []int
	at := 0
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		at += len(g.Value())
		all = append(all, at)
	}
	return all
}

// lineStart and lineEnd are where the line of a place begins and ends.
func (b *buffer) lineStart(at int) int { return strings.LastIndexByte(b.text[:at], '\n') + 1 }

func (b *buffer) lineEnd(at int) int {
	if i := strings.IndexByte(b.text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(b.text)
}

// before is the place one character before another.
func (b *buffer) before(at int) int {
	if at == 0 {
		return 0
	}
	start := b.lineStart(at)
	if start == at {
		return at - 1 // the line before ends there
	}
	all := edges(b.text[start:at])
	if len(all) < 2 {
		return start
	}
	return start + all[len(all)-2]
}

// after is the place one character behind another.
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

// wordBefore is where the word before a place begins; in says what words are
// made of.
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

// wordAfter is where the word behind a place ends.
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

// take takes away what stands between two places, and keeps it to be put back.
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

// drop takes away what stands between two places.
func (b *buffer) drop(from, to int) {
	b.text = b.text[:from] + b.text[to:]
	b.at = from
}

// killToEnd takes away the rest of the line; at its end, the line break.
func (b *buffer) killToEnd() {
	end := b.lineEnd(b.at)
	if end == b.at && end < len(b.text) {
		end++
	}
	b.take(b.at, end)
}

// killToStart takes away the line up to here; at its beginning, the line break
// before it.
func (b *buffer) killToStart() {
	start := b.lineStart(b.at)
	if start == b.at && start > 0 {
		start--
	}
	b.take(start, b.at)
}

// transpose swaps the characters around us, and goes on.
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

// up and down go to the line before or behind this one, and report whether
// there is one.
func (b *buffer) up() bool {
	start := b.lineStart(b.at)
	if start == 0 {
		return false
	}
	b.toColumn(b.lineStart(start - 1))
	return true
}

func (b *buffer) down() bool {
	end := b.lineEnd(b.at)
	if end == len(b.text) {
		return false
	}
	b.toColumn(end + 1)
	return true
}

// toColumn goes to the line that begins at a place, as near to the column we
// come from as it goes.
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
