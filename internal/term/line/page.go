package line

import (
	"fmt"
	"strings"
)

// Pager is a text to read on the whole screen.
type Pager struct {
	Title string
	// Lines returns the lines for a width. They may have styles and must fit it.
	Lines func(width int) []string
}

// pager is an open pager.
type pager struct {
	Pager
	frame frame
	// lines are the lines for width, and top is the first visible one.
	lines      []string
	width, top int
	// height is the number of visible lines when it was last drawn.
	height int
	// query is the search, and typing is true while it is typed.
	query  string
	typing bool
}

// OpenPager shows a text on the whole screen until the user closes it. It returns
// immediately. Lines that are printed meanwhile appear afterwards.
func (t *Terminal) OpenPager(p Pager) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.picker != nil {
		return
	}
	if t.pager == nil {
		t.painter.clear(t.width())
		t.painter.write(altScreenOn)
	}
	t.pager = &pager{Pager: p}
	t.draw()
}

// closePager returns to the normal screen and prints what was held back.
func (t *Terminal) closePager() {
	if t.pager == nil {
		return
	}
	t.pager = nil
	t.painter.write(showCursor + altScreenOff)
	held := t.held
	t.held = nil
	t.draw(held...)
}

// drawPager draws the open pager and keeps lines until it is closed.
func (t *Terminal) drawPager(lines []string) {
	t.held = append(t.held, lines...)
	width, height := t.size()
	rows := t.pager.draw(width, height, t.style)
	t.painter.write(t.pager.frame.draw(rows, width, height, height-1, min(Width(t.pager.foot()), width-1)))
}

// draw returns the visible rows.
func (p *pager) draw(width, height int, s style) []string {
	if p.lines == nil || p.width != width {
		p.lines, p.width = p.Lines(width), width
	}
	p.height = max(height-2, 1)
	p.top = min(max(p.top, 0), max(len(p.lines)-p.height, 0))
	rows := []string{s.bold(Cut(p.Title, width))}
	rows = append(rows, p.lines[p.top:min(p.top+p.height, len(p.lines))]...)
	for len(rows) < height-1 {
		rows = append(rows, "")
	}
	return append(rows, s.dim(Cut(p.foot(), width-1)))
}

// foot returns the last row.
func (p *pager) foot() string {
	if p.typing {
		return "/" + p.query
	}
	last := min(p.top+p.height, len(p.lines))
	return fmt.Sprintf("%d–%d of %d · ↑↓ Space b g G · / search, n next · q closes", min(p.top+1, last), last, len(p.lines))
}

// press handles a key. It reports whether the pager is closed.
func (p *pager) press(k key) bool {
	for _, in := range inputsOf([]key{k}) {
		if p.typing {
			p.typeQuery(in)
			continue
		}
		switch in.Key {
		case "q", "esc", "ctrl-c", "ctrl-d", "ctrl-o":
			return true
		case "/":
			p.typing, p.query = true, ""
		case "n":
			p.search(p.top + 1)
		default:
			p.scroll(in.Key)
		}
	}
	return false
}

// scroll moves the visible part.
func (p *pager) scroll(key string) {
	switch key {
	case "down", "j", "enter", "ctrl-n":
		p.top++
	case "up", "k", "ctrl-p":
		p.top--
	case "pgdn", " ", "f", "ctrl-f":
		p.top += p.height
	case "pgup", "b", "ctrl-b":
		p.top -= p.height
	case "home", "g":
		p.top = 0
	case "end", "G":
		p.top = len(p.lines)
	}
}

// typeQuery edits the search.
func (p *pager) typeQuery(in Input) {
	switch {
	case in.Key == "enter":
		p.typing = false
		p.search(p.top)
	case in.Key == "esc", in.Key == "ctrl-c", in.Key == "backspace" && p.query == "":
		p.typing = false
	case in.Key == "backspace":
		r := []rune(p.query)
		p.query = string(r[:len(r)-1])
	case in.Paste || len([]rune(in.Key)) == 1:
		p.query += in.Key
	}
}

// search moves to the next line with the query, from a line on.
func (p *pager) search(from int) {
	if p.query == "" {
		return
	}
	for i := from; i < len(p.lines); i++ {
		if strings.Contains(strings.ToLower(p.lines[i]), strings.ToLower(p.query)) {
			p.top = i
			return
		}
	}
}
