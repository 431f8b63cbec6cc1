package line

import (
	"fmt"
	"io"
	"strings"
)

// painter keeps a picture below the printed lines. Printed lines stay and scroll away; the
// picture is redrawn below them. Each change is a single write, which terminals with
// synchronized output show atomically.
type painter struct {
	out     io.Writer
	palette Palette
	// now is the picture on the screen, and width the screen width when it was drawn.
	now   picture
	width int
	err   error
}

// The escape sequences in use; no others are sent.
const (
	beginSync   = "\x1b[?2026h" // synchronized output, where supported
	endSync     = "\x1b[?2026l"
	hideCursor  = "\x1b[?25l"
	showCursor  = "\x1b[?25h"
	clearBelow  = "\x1b[J"
	clearScreen = "\x1b[H\x1b[2J"
	pasteOn     = "\x1b[?2004h"
	pasteOff    = "\x1b[?2004l"
)

// paint prints lines above the picture and draws a new picture.
func (p *painter) paint(lines []string, next picture, width int) {
	next = next.underCursor(width)
	same := p.common(next, width)
	if len(lines) == 0 && width == p.width && same == len(p.now.rows) && same == len(next.rows) && p.now.y == next.y && p.now.x == next.x {
		return
	}
	// Always redraw at least the cursor's row: moveUp starts from there.
	same = max(min(same, p.now.y, len(next.rows)-1), 0)
	var b strings.Builder
	b.WriteString(beginSync + hideCursor)
	if len(lines) > 0 {
		same = 0
	}
	p.moveUp(&b, same, width)
	for _, l := range lines {
		b.WriteString(l + "\r\n")
	}
	for i, r := range next.rows[min(same, len(next.rows)):] {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(r.text)
	}
	placeCursor(&b, next)
	b.WriteString(showCursor + endSync)
	p.write(b.String())
	p.now, p.width = next, width
}

// common returns the number of leading rows that do not change.
func (p *painter) common(next picture, width int) int {
	if width != p.width {
		return 0
	}
	n := 0
	for n < len(p.now.rows) && n < len(next.rows) && p.now.rows[n] == next.rows[n] {
		n++
	}
	return n
}

// moveUp moves to the start of a row of the picture and clears everything below. If the
// screen was resized since, the terminal may have wrapped long rows.
func (p *painter) moveUp(b *strings.Builder, to, width int) {
	if len(p.now.rows) == 0 {
		b.WriteString("\r" + clearBelow)
		return
	}
	up := extraRows(p.now.x+1, width)
	for _, r := range p.now.rows[to:p.now.y] {
		up += 1 + extraRows(r.width, width)
	}
	if up > 0 {
		fmt.Fprintf(b, "\x1b[%dA", up)
	}
	b.WriteString("\r" + clearBelow)
}

// extraRows returns the number of additional rows that a wrapped row takes.
func extraRows(width, screen int) int {
	if width <= screen || screen <= 0 {
		return 0
	}
	return (width - 1) / screen
}

// placeCursor moves the cursor to its position after the last row was written.
func placeCursor(b *strings.Builder, p picture) {
	if len(p.rows) == 0 {
		return
	}
	if up := len(p.rows) - 1 - p.y; up > 0 {
		fmt.Fprintf(b, "\x1b[%dA", up)
	}
	b.WriteByte('\r')
	if p.x > 0 {
		fmt.Fprintf(b, "\x1b[%dC", p.x)
	}
}

// clear removes the picture.
func (p *painter) clear(width int) {
	if len(p.now.rows) == 0 {
		return
	}
	var b strings.Builder
	p.moveUp(&b, 0, width)
	p.write(b.String())
	p.now = picture{}
}

// wipe clears the screen. The picture must be redrawn.
func (p *painter) wipe() {
	p.write(clearScreen)
	p.now = picture{}
}

// write writes text. After the first error, which is kept, it does nothing.
func (p *painter) write(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.out, p.palette.Apply(text))
	}
}
