package markdown

import (
	"strings"

	"firn.dev/internal/render/highlight"
)

// codeStyles maps the classes of tokens to styles that are readable on dark and light
// backgrounds.
var codeStyles = map[string]string{
	"hc": dim, "hs": "32", "hn": "36", "hk": code, "ht": "36", "ha": "36", "hi": "32", "hd": "31", "hh": bold,
}

// maxCodeLine is the length of a line in bytes up to which code is colored.
const maxCodeLine = 4096

// openCode starts a block of code. The language is the first word after the fence.
func (w *Writer) openCode(line, marker string) {
	w.fence, w.code = marker, nil
	info := strings.TrimLeft(strings.TrimLeft(line, " "), marker[:1])
	fields := strings.Fields(info)
	if len(fields) == 0 {
		return
	}
	if g, ok := highlight.Lookup(fields[0]); ok {
		w.code = highlight.NewLines(g)
	}
}

// codeRow colors a complete line of a block of code. Each line is passed once. Tabs become
// spaces: a terminal moves to its own tab stops.
func (w *Writer) codeRow(line string) row {
	if w.code == nil || len(line) > maxCodeLine {
		return row{{text: spaces(line)}}
	}
	var r row
	for _, t := range w.code.Line(line) {
		r = append(r, span{spaces(t.Text), codeStyles[t.Class]})
	}
	return r
}
