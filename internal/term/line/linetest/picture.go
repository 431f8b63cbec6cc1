package linetest

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// style holds the supported attributes of characters.
type style struct {
	// color is an index in the palette, starting at 1; 0 is the default color.
	color                         int
	bold, dim, italic, underlined bool
	turned                        bool // foreground and background swapped
}

// set applies the parameters of an SGR sequence.
func (s *style) set(params string) {
	for _, word := range strings.Split(params, ";") {
		n, _ := strconv.Atoi(word) // an empty parameter is zero
		switch {
		case n == 0:
			*s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.dim = true
		case n == 3:
			s.italic = true
		case n == 4:
			s.underlined = true
		case n == 7:
			s.turned = true
		case n == 22:
			s.bold, s.dim = false, false
		case n == 23:
			s.italic = false
		case n == 24:
			s.underlined = false
		case n == 27:
			s.turned = false
		case n >= 30 && n <= 37:
			s.color = n - 30 + 1
		case n == 39:
			s.color = 0
		case n >= 90 && n <= 97:
			s.color = n - 90 + 9
		}
	}
}

// colors are those of a picture on one background: the paper, the text, and the palette. All
// have enough contrast with the paper.
type colors struct {
	paper, ink string
	palette    [16]string
}

var (
	light = colors{"#ffffff", "#16202a", [16]string{
		"#4a5763", "#b3261e", "#23774b", "#8a5a00", "#0550ae", "#6639ba", "#0f6f8c", "#16202a",
		"#5d6a76", "#b3261e", "#23774b", "#8a5a00", "#0550ae", "#6639ba", "#0f6f8c", "#16202a",
	}}
	dark = colors{"#1e2127", "#dcdfe4", [16]string{
		"#5c6370", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#dcdfe4",
		"#7f848e", "#ef8e95", "#b1d69a", "#f0d399", "#8ac4f5", "#d7a1e7", "#80cbd5", "#ffffff",
	}}
)

// rules returns the style rules of the colors: of the paper, the text and the palette.
func (c colors) rules() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".p{fill:%s}.i{fill:%s}", c.paper, c.ink)
	for n, color := range c.palette {
		fmt.Fprintf(&b, ".c%d{fill:%s}", n+1, color)
	}
	return b.String()
}

const (
	// charWidth and rowHeight are the size of a cell in SVG units.
	charWidth, rowHeight, margin = 8.4, 18.0, 16.0
	// sceneTime is the time between two scenes of a picture, rowTime that between two rows, both
	// in seconds.
	sceneTime, rowTime = 1.6, 0.12
)

// Scene begins a scene of the picture: rows that are written from now on appear later.
func (s *Screen) Scene() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scenes = append(s.scenes, s.y)
}

// Picture renders the screen and the scrolled rows as an SVG image, light or dark as the
// reader prefers. Rows appear scene by scene, and stay; at once if motion is reduced.
func (s *Screen) Picture() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := s.rows
	for len(rows) > 0 && strings.TrimSpace(rows[len(rows)-1].text()) == "" {
		rows = rows[:len(rows)-1]
	}
	width, height := float64(s.width)*charWidth+2*margin, float64(len(rows))*rowHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" `+
		`font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" class="i">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&b, "<style>%s@media (prefers-color-scheme: dark){%s}\n"+
		"@media (prefers-reduced-motion: no-preference){@media screen{g{animation:show .2s both}}}@keyframes show{from{opacity:0}}</style>\n", light.rules(), dark.rules())
	fmt.Fprintf(&b, `<rect width="%.0f" height="%.0f" rx="8" class="p"/>`+"\n", width, height)
	when, scenes := 0.0, s.scenes
	for y, row := range rows {
		when += rowTime
		for len(scenes) > 0 && scenes[0] <= y {
			when, scenes = when+sceneTime, scenes[1:]
		}
		fmt.Fprintf(&b, `<g style="animation-delay:%.1fs">`, when)
		row.draw(&b, margin+float64(y)*rowHeight)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// draw renders a row as runs of equally styled characters. Each run has the width that it
// has in a terminal, independent of the font.
func (l line) draw(b *strings.Builder, top float64) {
	for from := 0; from < len(l.cells); {
		to := from + 1
		for to < len(l.cells) && l.cells[to].style == l.cells[from].style {
			to++
		}
		run, look := line{cells: l.cells[from:to]}, l.cells[from].style
		x, width := margin+float64(from)*charWidth, float64(to-from)*charWidth
		if look.turned {
			fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="%s"/>`, x, top, width, rowHeight, look.class())
		}
		if text := run.text(); strings.TrimSpace(text) != "" {
			fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f"%s>`, x, top+rowHeight-5, width, look.attributes())
			_ = xml.EscapeText(b, []byte(strings.ReplaceAll(text, " ", "\u00a0"))) // writes to memory; viewers collapse ordinary spaces
			b.WriteString("</text>")
		}
		from = to
	}
}

// class returns the class of the color of the characters.
func (s style) class() string {
	if s.color == 0 {
		return "i"
	}
	return "c" + strconv.Itoa(s.color)
}

func (s style) attributes() string {
	var b strings.Builder
	switch {
	case s.turned:
		b.WriteString(` class="p"`)
	case s.color > 0:
		fmt.Fprintf(&b, ` class="%s"`, s.class())
	}
	for _, a := range []struct {
		on   bool
		says string
	}{{s.bold, ` font-weight="bold"`}, {s.dim, ` opacity="0.6"`}, {s.italic, ` font-style="italic"`}, {s.underlined, ` text-decoration="underline"`}} {
		if a.on {
			b.WriteString(a.says)
		}
	}
	return b.String()
}
