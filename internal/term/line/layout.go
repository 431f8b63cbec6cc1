package line

import (
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"
)

// The functions of this file lay out text on a screen. They compute character widths and
// wrap rows themselves, so that the result does not depend on the terminal.

// tab replaces a tab on the screen.
const tab = "    "

// Width returns the number of columns of a text without line breaks and escape sequences.
func Width(text string) int {
	width := 0
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		width += cellWidth(g.Value())
	}
	return width
}

// cellWidth returns the number of columns of a character.
func cellWidth(char string) int { return displaywidth.String(shown(char)) }

// shown returns the displayed form of a character. It removes control characters.
func shown(char string) string {
	if char == "\t" {
		return tab
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, char)
}

// Cut cuts a text to width columns. The text must not contain line breaks or escape
// sequences.
func Cut(text string, width int) string {
	if Width(text) <= width {
		return text
	}
	var b strings.Builder
	used := 0
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		if used += cellWidth(g.Value()); used > width-1 {
			break
		}
		b.WriteString(g.Value())
	}
	if width > 0 {
		b.WriteString("…")
	}
	return b.String()
}

// row is a row of the screen: text, possibly with styles, and its width in columns.
type row struct {
	text  string
	width int
}

// plainRow returns a row without styles, cut to the width of the screen.
func plainRow(text string, width int) row {
	text = Cut(text, width)
	return row{text, Width(text)}
}

// picture holds the transient rows below the printed lines, and the cursor position in
// them.
type picture struct {
	rows []row
	y, x int
}

// layOut lays out edited text for a screen width, with the cursor at byte offset at. The
// first line starts with sign and the others with more; wrapped rows are indented by the
// same width.
func layOut(sign, more, text string, at, width int) picture {
	margin := max(Width(sign), Width(more))
	p := picture{}
	room := max(width-margin-1, 4) // leave room for the cursor after the last character
	for i, l := range strings.Split(text, "\n") {
		start := sign
		if i > 0 {
			start = more
		}
		p.line(start, margin, l, at, room)
		at -= len(l) + 1
	}
	return p
}

// line adds a line. If at is in the line or at its end, the cursor is placed there.
func (p *picture) line(start string, margin int, text string, at, room int) {
	begun, used, place := start, 0, 0
	var b strings.Builder
	flush := func() {
		pad := strings.Repeat(" ", margin-Width(begun))
		p.rows = append(p.rows, row{begun + pad + b.String(), margin + used})
		begun, used = "", 0
		b.Reset()
	}
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		w := cellWidth(g.Value())
		if used+w > room {
			flush()
		}
		if place == at {
			p.y, p.x = len(p.rows), margin+used
		}
		b.WriteString(shown(g.Value()))
		used += w
		place += len(g.Value())
	}
	if place == at {
		p.y, p.x = len(p.rows), margin+used
	}
	flush()
}

// fit cuts a picture to at most most rows around the cursor.
func (p picture) fit(most int) picture {
	most = max(most, 1)
	if len(p.rows) <= most {
		return p
	}
	from := min(max(p.y-most/2, 0), len(p.rows)-most)
	rows := append([]row(nil), p.rows[from:from+most]...)
	return picture{rows, p.y - from, p.x}
}

// underCursor puts a space under a cursor that is after the end of its row. Terminals that rewrap
// rows when they are resized agree where a written cell goes, but not where a cursor goes
// that is on none: the painter would go up too far and erase printed lines.
func (p picture) underCursor(width int) picture {
	if p.y >= len(p.rows) || p.rows[p.y].width != p.x || p.x >= width {
		return p
	}
	p.rows = append([]row(nil), p.rows...)
	p.rows[p.y] = row{p.rows[p.y].text + " ", p.x + 1}
	return p
}

// below appends rows, and above prepends rows.
func (p picture) below(rows ...row) picture {
	p.rows = append(p.rows[:len(p.rows):len(p.rows)], rows...)
	return p
}

func (p picture) above(rows ...row) picture {
	p.rows = append(rows[:len(rows):len(rows)], p.rows...)
	p.y += len(rows)
	return p
}
