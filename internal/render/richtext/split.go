package richtext

import (
	"strings"

	"firn.dev"
)

// pieceBytes is the maximum length of a piece. A longer one is split, so that no text takes
// long to render.
const pieceBytes = 16 << 10

// piece is an independently rendered part of a text. If it continues a code block of an
// earlier piece, opening is the line that started the block.
type piece struct{ opening, text string }

// cutter splits a text into pieces, at blank lines before a new block. Decisions depend
// only on the preceding text, so appending never moves a split. Its zero value is at the
// start of a text.
type cutter struct {
	// at is the position up to which the text was processed, start the beginning of the
	// last piece.
	at, start int
	// spoken reports whether the piece has a non-blank line, list whether it is a list,
	// blank whether its last line is blank.
	spoken, list, blank bool
	// fence closes the current code block, or is empty; opening is the line that started
	// it, and inner reports whether it is in a list.
	fence, opening string
	inner          bool
	// resumed is the opening line that the piece continues.
	resumed string
}

// cut processes the new part of a text and returns the finished pieces. An incomplete last
// line is processed only if the text is final.
func (c *cutter) cut(text string, final bool) []piece {
	var pieces []piece
	for c.at < len(text) {
		n, whole := chunk(text[c.at:])
		if !whole && !final {
			break
		}
		line, cont := text[c.at:c.at+n], c.at > 0 && text[c.at-1] != '\n'
		if c.at > c.start && c.startsPiece(line, cont) {
			pieces = append(pieces, piece{c.resumed, text[c.start:c.at]})
			c.startPiece(line)
		}
		c.note(line, cont)
		c.at += n
	}
	return pieces
}

// rest returns the last piece.
func (c *cutter) rest(text string) piece { return piece{c.resumed, text[c.start:]} }

// dropFinished adjusts the positions after the text before the last piece was removed.
func (c *cutter) dropFinished() { c.at, c.start = c.at-c.start, 0 }

// chunk returns the length of the next line, or of the next part of a very long one, and
// whether further text cannot change it.
func chunk(text string) (n int, whole bool) {
	if end := strings.IndexByte(text[:min(len(text), pieceBytes)], '\n'); end >= 0 {
		return end + 1, true
	}
	if len(text) <= pieceBytes {
		return len(text), false
	}
	return len(firn.CutText(text, pieceBytes)), true
}

// startsPiece reports whether a line starts a new piece; cont reports whether it continues
// a long line.
func (c *cutter) startsPiece(line string, cont bool) bool {
	switch {
	case cont || c.at-c.start+len(line) > pieceBytes:
		return true
	case c.inCode(line), !c.spoken, !c.blank, isBlank(line), indented(line):
		return false
	}
	return !c.list || !isItem(line)
}

// inCode reports whether a line is part of an open code block.
func (c *cutter) inCode(line string) bool {
	return c.fence != "" && (!c.inner || indented(line) || isBlank(line))
}

// startPiece starts a new piece with a line.
func (c *cutter) startPiece(line string) {
	c.start, c.resumed = c.at, ""
	if c.inCode(line) {
		c.resumed = c.opening
	}
	c.spoken, c.blank, c.list = false, false, false
}

// note adds a line to the piece.
func (c *cutter) note(line string, cont bool) {
	blank := isBlank(line)
	if !c.spoken && !blank {
		c.spoken, c.list = true, isItem(line) && !c.inCode(line)
	}
	c.blank = blank && !cont
	if cont {
		return
	}
	if !c.inCode(line) {
		c.fence = ""
		c.open(line)
		return
	}
	mark := strings.TrimLeft(line, " \t")
	if strings.HasPrefix(mark, c.fence) && strings.Trim(strings.TrimRight(mark, " \t\r\n"), c.fence[:1]) == "" {
		c.fence = ""
	}
}

// open checks whether a line starts a code block.
func (c *cutter) open(line string) {
	mark := strings.TrimLeft(line, " \t")
	inner := c.list && (len(mark) < len(line) || isItem(line))
	if !inner && len(line)-len(mark) > 3 {
		return // an indented code block
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

// isItem reports whether a line starts a list item.
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
