package line

import (
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"
)

// The functions of this file say where text stands on a screen. They know how
// wide characters are and where rows break, so that nothing is left to the
// terminal to decide.

// tab is what a tab is shown as.
const tab = "    "

// Width is how many columns a text takes that has no line breaks and no escape
// sequences.
func Width(text string) int {
	width := 0
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		width += cellWidth(g.Value())
	}
	return width
}

// cellWidth is how many columns a character takes.
func cellWidth(char string) int { return displaywidth.String(shown(char)) }

// shown is what is shown for a character: nothing for those that a terminal
// would obey.
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

// Cut cuts a text to at most so many columns. It has no line breaks and no
// escape sequences.
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

// row is a row of the screen: text that may have styles, and how wide it is.
type row struct {
	text  string
	width int
}

// plainRow is a row without styles, cut to the width of the screen.
func plainRow(text string, width int) row {
	text = Cut(text, width)
	return row{text, Width(text)}
}

// picture is what stands below all that was said: rows, and where the cursor
// is in them.
type picture struct {
	rows []row
	y, x int
}

// lay lays out text that is edited, with the cursor at a place in it, on a
// screen of some width. The first line begins with sign, the others with more,
// and rows that a line goes on in with as much space.
func lay(sign, more, text string, at, width int) picture {
	margin := max(Width(sign), Width(more))
	p := picture{}
	room := max(width-margin-1, 4) // the cursor may stand behind the last letter
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

// line adds a line. If at is in it, or at its end, the cursor is put there.
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

// fit cuts a picture to at most so many rows, those around the cursor, and says
// how many are left out.
func (p picture) fit(most int) picture {
	most = max(most, 1)
	if len(p.rows) <= most {
		return p
	}
	from := min(max(p.y-most/2, 0), len(p.rows)-most)
	rows := append([]row(nil), p.rows[from:from+most]...)
	return picture{rows, p.y - from, p.x}
}

// below adds rows below, and above rows above.
func (p picture) below(rows ...row) picture {
	p.rows = append(p.rows[:len(p.rows):len(p.rows)], rows...)
	return p
}

func (p picture) above(rows ...row) picture {
	p.rows = append(rows[:len(rows):len(rows)], p.rows...)
	p.y += len(rows)
	return p
}
