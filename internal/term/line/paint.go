package line

import (
	"fmt"
	"io"
	"strings"
)

// painter keeps a picture at the bottom of what was printed. What is printed
// stays for ever and scrolls away; the picture is drawn anew below it. Each
// change is one write, which terminals that can show at once.
type painter struct {
	out io.Writer
	// now is the picture on the screen, width that of the screen when it was
	// drawn.
	now   picture
	width int
	err   error
}

// The escape sequences that are used, and no others.
const (
	begin       = "\x1b[?2026h" // hold back what comes, where terminals can
	end         = "\x1b[?2026l"
	hideCursor  = "\x1b[?25l"
	showCursor  = "\x1b[?25h"
	clearBelow  = "\x1b[J"
	clearScreen = "\x1b[H\x1b[2J"
	pasteOn     = "\x1b[?2004h"
	pasteOff    = "\x1b[?2004l"
)

// paint prints lines above the picture, and draws a new picture.
func (p *painter) paint(lines []string, next picture, width int) {
	same := p.common(next, width)
	if len(lines) == 0 && width == p.width && same == len(p.now.rows) && same == len(next.rows) && p.now.y == next.y && p.now.x == next.x {
		return
	}
	// At least the row of the cursor is drawn anew: from there we know the way.
	same = max(min(same, p.now.y, len(next.rows)-1), 0)
	var b strings.Builder
	b.WriteString(begin + hideCursor)
	if len(lines) > 0 {
		same = 0
	}
	p.rise(&b, same, width)
	for _, l := range lines {
		b.WriteString(l + "\r\n")
	}
	for i, r := range next.rows[min(same, len(next.rows)):] {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(r.text)
	}
	settle(&b, next)
	b.WriteString(showCursor + end)
	p.write(b.String())
	p.now, p.width = next, width
}

// common is how many rows of the picture stay as they are.
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

// rise goes to the beginning of a row of the picture and clears all from there.
// The screen may have another width by now, and rows that were too long for it
// may have been broken.
func (p *painter) rise(b *strings.Builder, to, width int) {
	if len(p.now.rows) == 0 {
		b.WriteString("\r" + clearBelow)
		return
	}
	up := broken(p.now.x+1, width)
	for _, r := range p.now.rows[to:p.now.y] {
		up += 1 + broken(r.width, width)
	}
	if up > 0 {
		fmt.Fprintf(b, "\x1b[%dA", up)
	}
	b.WriteString("\r" + clearBelow)
}

// broken is how many more rows than one a row takes.
func broken(width, screen int) int {
	if width <= screen || screen <= 0 {
		return 0
	}
	return (width - 1) / screen
}

// settle puts the cursor where it belongs, after the last row was written.
func settle(b *strings.Builder, p picture) {
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

// clear takes the picture away.
func (p *painter) clear(width int) {
	if len(p.now.rows) == 0 {
		return
	}
	var b strings.Builder
	p.rise(&b, 0, width)
	p.write(b.String())
	p.now = picture{}
}

// wipe clears the screen. The picture must be drawn anew.
func (p *painter) wipe() {
	p.write(clearScreen)
	p.now = picture{}
}

// write writes. The first failure is kept: there is nobody to show more to.
func (p *painter) write(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.out, text)
	}
}
