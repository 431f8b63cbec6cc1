package richtext

import (
	"html"
	"strconv"
	"strings"
)

// Terminal renders the output of a program as a terminal shows it: with colors, and without
// overwritten text and other control sequences. Colors are CSS classes; a color outside the
// palette of 16 becomes the nearest one of it.
func Terminal(text string) string {
	if strings.IndexByte(text, 0x1b) < 0 {
		return `<pre class="term">` + html.EscapeString(visible(Printed(text))) + "</pre>"
	}
	var s screen
	s.out.WriteString(`<pre class="term">`)
	for text != "" {
		at := strings.IndexAny(text, "\x1b\r\n")
		if at < 0 {
			s.print(text)
			break
		}
		s.print(text[:at])
		text = s.control(text[at:])
	}
	s.flush()
	s.out.WriteString("</pre>")
	return s.out.String()
}

// screen is the state of a terminal: the current line and style.
type screen struct {
	out  strings.Builder
	line []run
	now  style
	// back is set after a carriage return: the next text replaces the line.
	back bool
}

// run is text in one style.
type run struct {
	style style
	text  string
}

// style is a set of text attributes. Colors count from 1; zero is the default color.
type style struct {
	fg, bg                          uint8
	bold, dim, italic, under, swaps bool
}

func (s *screen) print(text string) {
	if text == "" {
		return
	}
	if s.back {
		s.line, s.back = s.line[:0], false
	}
	s.line = append(s.line, run{s.now, text})
}

// control processes the control character or sequence that text starts with and returns the
// rest.
func (s *screen) control(text string) string {
	switch text[0] {
	case '\r':
		s.back = true
		return text[1:]
	case '\n':
		s.back = false
		s.flush()
		s.out.WriteByte('\n')
		return text[1:]
	}
	at := firstEscape().FindStringIndex(text)
	if at == nil {
		return text[1:] // an incomplete sequence
	}
	if seq := text[:at[1]]; strings.HasPrefix(seq, "\x1b[") && seq[len(seq)-1] == 'm' {
		s.now.set(seq[2 : len(seq)-1])
	}
	return text[at[1]:]
}

// flush writes the current line.
func (s *screen) flush() {
	for i := 0; i < len(s.line); {
		st := s.line[i].style
		var same strings.Builder
		for ; i < len(s.line) && s.line[i].style == st; i++ {
			same.WriteString(s.line[i].text)
		}
		text := html.EscapeString(visible(same.String()))
		if class := st.class(); class != "" {
			text = `<span class="` + class + `">` + text + "</span>"
		}
		s.out.WriteString(text)
	}
	s.line = s.line[:0]
}

// class returns the CSS classes of a style.
func (s style) class() string {
	if s.swaps {
		s.fg, s.bg = s.bg, s.fg
	}
	var all []string
	if s.fg > 0 {
		all = append(all, "tf"+shade(s.fg))
	}
	if s.bg > 0 {
		all = append(all, "tb"+shade(s.bg))
	}
	for _, on := range []struct {
		is   bool
		name string
	}{{s.bold, "tbold"}, {s.dim, "tdim"}, {s.italic, "tital"}, {s.under, "tline"}, {s.swaps && s.fg == 0 && s.bg == 0, "tswap"}} {
		if on.is {
			all = append(all, on.name)
		}
	}
	return strings.Join(all, " ")
}

// shade returns the number of a color's class. Bright colors look like the others, except
// bright black, which is gray.
func shade(c uint8) string {
	if c--; c > 8 {
		c -= 8
	}
	return strconv.Itoa(int(c))
}

// maxParameters limits the parameters of one sequence.
const maxParameters = 32

// set applies the parameters of an SGR sequence. Unknown ones are ignored.
func (s *style) set(parameters string) {
	fields := strings.SplitN(strings.ReplaceAll(parameters, ":", ";"), ";", maxParameters+1)
	n := make([]int, min(len(fields), maxParameters))
	for i := range n {
		n[i], _ = strconv.Atoi(fields[i]) // empty is zero; a huge one is unknown
	}
	for i := 0; i < len(n); i++ {
		switch code := n[i]; {
		case code == 38 || code == 48:
			c, used := palette(n[i+1:])
			if i += used; code == 38 {
				s.fg = c
			} else {
				s.bg = c
			}
		default:
			s.setOne(code)
		}
	}
}

func (s *style) setOne(code int) {
	switch {
	case code == 0:
		*s = style{}
	case code == 1:
		s.bold = true
	case code == 2:
		s.dim = true
	case code == 3:
		s.italic = true
	case code == 4:
		s.under = true
	case code == 7:
		s.swaps = true
	case code == 22:
		s.bold, s.dim = false, false
	case code == 23:
		s.italic = false
	case code == 24:
		s.under = false
	case code == 27:
		s.swaps = false
	case code >= 30 && code <= 37:
		s.fg = uint8(code-30) + 1
	case code == 39:
		s.fg = 0
	case code >= 40 && code <= 47:
		s.bg = uint8(code-40) + 1
	case code == 49:
		s.bg = 0
	case code >= 90 && code <= 97:
		s.fg = uint8(code-90) + 9
	case code >= 100 && code <= 107:
		s.bg = uint8(code-100) + 9
	}
}

// palette returns the color of the parameters after 38 or 48, and how many of them it used.
func palette(n []int) (c uint8, used int) {
	switch {
	case len(n) >= 2 && n[0] == 5:
		return indexed(n[1]), 2
	case len(n) >= 4 && n[0] == 2:
		return nearest(n[1], n[2], n[3]), 4
	}
	return 0, len(n)
}

// indexed returns the nearest color of 16 to one of 256.
func indexed(i int) uint8 {
	switch {
	case i < 0 || i > 255:
		return 0
	case i < 16:
		return uint8(i) + 1
	case i < 232:
		i -= 16
		return nearest(i/36*51, i/6%6*51, i%6*51)
	}
	gray := 8 + (i-232)*10
	return nearest(gray, gray, gray)
}

// nearest returns the color of 16 that is nearest to an RGB color.
func nearest(r, g, b int) uint8 {
	high, low := max(r, g, b), min(r, g, b)
	if high-low < 48 { // a gray
		return [...]uint8{1, 9, 8, 16}[min(3, max(0, high)/64)]
	}
	c, middle := uint8(0), (high+low)/2
	for bit, v := range []int{r, g, b} {
		if v > middle {
			c |= 1 << bit
		}
	}
	if high > 200 {
		c += 8
	}
	return c + 1
}
