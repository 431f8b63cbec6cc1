// Package markdown shows Markdown on a terminal while it is still being written.
//
// A [Writer] takes text in pieces, as a model says it, and gives back rows that
// are final: they do not depend on what comes later, nor on how the text was cut
// into pieces. What is not final can be shown as it is, for the time being.
// Nothing is left out but the signs that became a style.
//
// It renders what models write: headings, lists, quotes, fenced code, bold,
// italic, struck and code words, links. All else is shown as it stands. Styles
// are those that can be read on dark and on light screens. The text must be
// harmless already: no control characters but line breaks and tabs.
package markdown

import "strings"

// widest is how wide prose is set at most: longer rows are hard to read.
const widest = 100

// Writer renders Markdown that comes in pieces.
type Writer struct {
	width int
	plain bool
	// line is the line that is not whole yet, done how many rows of it were given
	// out.
	line string
	done int
	// fence is what ends the code block that we are in; empty outside of one.
	fence string
}

// New makes a writer for a screen of some width.
func New(width int) *Writer { return &Writer{width: max(min(width, widest), 20)} }

// Plain makes a writer that shows all signs as they are, without styles, and
// breaks no lines.
func Plain(width int) *Writer {
	w := New(width)
	w.plain = true
	return w
}

// Write takes a piece of text and returns the rows that are final now.
func (w *Writer) Write(text string) []string {
	var rows []string
	for {
		head, rest, whole := strings.Cut(text, "\n")
		w.line += head
		rows = append(rows, w.breakLine()...)
		if !whole {
			break
		}
		rows = append(rows, w.endLine()...)
		text = rest
	}
	return append(rows, w.settled()...)
}

// longest is how long a line of prose may be, in bytes. What is longer is taken
// for several lines, so that no text can make us look at it again and again.
const longest = 4096

// breakLine ends a line of prose that is too long, between two words.
func (w *Writer) breakLine() []string {
	var rows []string
	for len(w.line) > longest && w.fence == "" && !w.plain {
		at := strings.LastIndexByte(w.line[:longest], ' ') + 1
		if at == 0 {
			at = longest
			for w.line[at]&0xc0 == 0x80 { // not within a rune
				at--
			}
		}
		rest := w.line[at:]
		w.line = w.line[:at]
		rows = append(rows, w.endLine()...)
		w.line = rest
	}
	return rows
}

// End ends the text and returns the rest of it. The writer can be used for
// another one.
func (w *Writer) End() []string {
	var rows []string
	if w.line != "" {
		rows = w.endLine()
	}
	w.fence = ""
	return rows
}

// endLine renders the line, which is whole.
func (w *Writer) endLine() []string {
	rows := styled(w.render(w.line)[w.done:])
	w.turn(w.line)
	w.line, w.done = "", 0
	return rows
}

// settled renders what of the line cannot change any more: the rows that are
// full, of the words before anything that is still open.
func (w *Writer) settled() []string {
	if w.plain || w.fence != "" || undecided(w.line) {
		return nil
	}
	b := classify(w.line)
	if b.kind == verbatim || b.kind == fenced || b.kind == rule {
		return nil
	}
	_, safe := parse(b.text, false)
	if safe == 0 {
		return nil
	}
	spans, _ := parse(b.text[:safe], true)
	all := w.prose(b, spans)
	final := len(all) - 1 // more words may fit into the last one
	if final <= w.done {
		return nil
	}
	rows := styled(all[w.done:final])
	w.done = final
	return rows
}

// Live is what is not final, as rows without styles: what they would say if
// nothing more came.
func (w *Writer) Live() []string {
	if w.line == "" {
		return nil
	}
	rows := w.render(w.line)
	texts := make([]string, 0, len(rows))
	for _, r := range rows[min(w.done, len(rows)):] {
		texts = append(texts, chop(r.plain(), w.width)...)
	}
	return texts
}

// render renders a line as if it were whole.
func (w *Writer) render(line string) []row {
	if w.plain {
		return []row{{{text: line}}}
	}
	if w.fence != "" {
		if closes(line, w.fence) {
			return []row{{{line, dim}}}
		}
		return []row{{{text: line}}}
	}
	b := classify(line)
	switch b.kind {
	case blank:
		return []row{nil}
	case fenced:
		return []row{{{line, dim}}}
	case verbatim:
		return []row{{{text: line}}}
	case rule:
		return []row{{{strings.Repeat("─", min(w.width, 40)), dim}}}
	}
	spans, _ := parse(b.text, true)
	return w.prose(b, spans)
}

// turn notices that a line begins or ends a code block.
func (w *Writer) turn(line string) {
	switch {
	case w.fence != "" && closes(line, w.fence):
		w.fence = ""
	case w.fence == "" && !w.plain:
		w.fence = classify(line).marker
	}
}

// prose sets spans in rows behind what a block begins with.
func (w *Writer) prose(b block, spans []span) []row {
	if b.kind == heading {
		for i := range spans {
			spans[i].codes = join(bold, spans[i].codes)
		}
	}
	hang := textWidth(b.first)
	if w.width-hang < 20 {
		hang = 0
	}
	rows := wrap(spans, w.width-hang)
	for i := range rows {
		start := span{b.first, b.style}
		if i > 0 && (b.kind != quote || hang == 0) {
			start = span{text: strings.Repeat(" ", hang)}
		}
		rows[i] = append(row{start}, rows[i]...)
	}
	return rows
}

func styled(rows []row) []string {
	texts := make([]string, len(rows))
	for i, r := range rows {
		texts[i] = r.styled()
	}
	return texts
}

// The styles, as terminals number them.
const (
	bold      = "1"
	dim       = "2"
	italic    = "3"
	underline = "4"
	struck    = "9"
	code      = "35"
)

// join joins styles.
func join(a, b string) string {
	if a == "" || b == "" || a == b {
		return a + strings.TrimPrefix(b, a)
	}
	return a + ";" + b
}

// paint gives a text a style.
func paint(text, codes string) string {
	if text == "" || codes == "" {
		return text
	}
	return "\x1b[" + codes + "m" + text + "\x1b[0m"
}
