package richtext

import (
	"strings"

	"firn.dev"
)

// pieceBytes is how long a piece may be. What is longer is cut, so that no text
// takes long, whatever it says.
const pieceBytes = 16 << 10

// piece is a part of a text that is said by itself. If it goes on with code that
// began in a piece before it, opening is the line that began it.
type piece struct{ opening, text string }

// cutter cuts a text into pieces, at empty lines where something new begins.
// It decides from what stands before a place, and never thinks again: what is
// added to a text does not move a cut. Its zero value begins a text.
type cutter struct {
	// at is how far the text was looked at, start where its last piece begins.
	at, start int
	// spoken says that the piece has more than empty lines, list that it is a
	// list, blank that its last line is empty.
	spoken, list, blank bool
	// fence is what closes the code we are in, empty if we are in none; opening is
	// the line that began it, inner that it stands in a list.
	fence, opening string
	inner          bool
	// resumed is the opening that the piece goes on with.
	resumed string
}

// cut looks at what was not looked at of a text, and returns the pieces that are
// finished. An unfinished last line is looked at only if the text is final.
func (c *cutter) cut(text string, final bool) []piece {
	var pieces []piece
	for c.at < len(text) {
		n, whole := chunk(text[c.at:])
		if !whole && !final {
			break
		}
		line, cont := text[c.at:c.at+n], c.at > 0 && text[c.at-1] != '\n'
		if c.at > c.start && c.parts(line, cont) {
			pieces = append(pieces, piece{c.resumed, text[c.start:c.at]})
			c.begin(line)
		}
		c.note(line, cont)
		c.at += n
	}
	return pieces
}

// rest is the last piece.
func (c *cutter) rest(text string) piece { return piece{c.resumed, text[c.start:]} }

// forget is told that the text before the last piece is gone.
func (c *cutter) forget() { c.at, c.start = c.at-c.start, 0 }

// chunk is the length of the next line, or of what is looked at of a very long
// one, and whether more text would not change it.
func chunk(text string) (n int, whole bool) {
	if end := strings.IndexByte(text[:min(len(text), pieceBytes)], '\n'); end >= 0 {
		return end + 1, true
	}
	if len(text) <= pieceBytes {
		return len(text), false
	}
	return len(firn.CutText(text, pieceBytes)), true
}

// parts reports whether a new piece begins with a line; cont says that it is not
// the beginning of one.
func (c *cutter) parts(line string, cont bool) bool {
	switch {
	case cont || c.at-c.start+len(line) > pieceBytes:
		return true
	case c.coding(line), !c.spoken, !c.blank, isBlank(line), indented(line):
		return false
	}
	return !c.list || !isItem(line)
}

// coding reports whether a line is part of a block of code that was begun.
func (c *cutter) coding(line string) bool {
	return c.fence != "" && (!c.inner || indented(line) || isBlank(line))
}

// begin begins a new piece with a line.
func (c *cutter) begin(line string) {
	c.start, c.resumed = c.at, ""
	if c.coding(line) {
		c.resumed = c.opening
	}
	c.spoken, c.blank, c.list = false, false, false
}

// note takes a line into the piece.
func (c *cutter) note(line string, cont bool) {
	blank := isBlank(line)
	if !c.spoken && !blank {
		c.spoken, c.list = true, isItem(line) && !c.coding(line)
	}
	c.blank = blank && !cont
	if cont {
		return
	}
	if !c.coding(line) {
		c.fence = ""
		c.open(line)
		return
	}
	mark := strings.TrimLeft(line, " \t")
	if strings.HasPrefix(mark, c.fence) && strings.Trim(strings.TrimRight(mark, " \t\r\n"), c.fence[:1]) == "" {
		c.fence = ""
	}
}

// open looks whether a line begins a block of code.
func (c *cutter) open(line string) {
	mark := strings.TrimLeft(line, " \t")
	inner := c.list && (len(mark) < len(line) || isItem(line))
	if !inner && len(line)-len(mark) > 3 {
		return // code that is told by its place
	}
	for isItem(mark) {
		at := strings.IndexAny(mark, " \t")
		if at < 0 {
			return
		}
		mark = strings.TrimLeft(mark[at:], " \t")
	}
	n := len(mark) - len(strings.TrimLeft(mark, "`"))
	if n == 0 {
		n = len(mark) - len(strings.TrimLeft(mark, "~"))
	}
	if n < 3 || mark[0] == '`' && strings.Contains(mark[n:], "`") {
		return
	}
	c.fence, c.inner = mark[:n], inner
	c.opening = strings.TrimRight(mark, "\r\n") + "\n"
}

func isBlank(line string) bool { return strings.Trim(line, " \t\r\n") == "" }

func indented(line string) bool { return line != "" && (line[0] == ' ' || line[0] == '\t') }

// isItem reports whether a line begins an item of a list.
func isItem(line string) bool {
	line = strings.TrimLeft(line, " ")
	digits := 0
	for digits < len(line) && digits < 10 && line[digits] >= '0' && line[digits] <= '9' {
		digits++
	}
	switch {
	case line == "":
		return false
	case digits > 0 && digits < 10:
		return len(line) > digits && (line[digits] == '.' || line[digits] == ')') && (len(line) == digits+1 || strings.IndexByte(" \t\r\n", line[digits+1]) >= 0)
	case strings.IndexByte("-*+", line[0]) >= 0:
		return len(line) == 1 || strings.IndexByte(" \t\r\n", line[1]) >= 0
	}
	return false
}
