// Package markdown renders Markdown on a terminal while it is being streamed.
//
// A [Writer] accepts text in pieces, as a model sends it, and returns final rows: they
// depend neither on later text nor on how the text was split. The rest can be shown as a
// preview. No text is dropped except markup that became a style.
//
// It renders the markup that models commonly use: headings, lists, quotes, tables, fenced
// code, bold, italic, strikethrough, code spans and links. Everything else is shown
// unchanged. A table is laid out when it is complete.
// The styles are readable on dark and light backgrounds. The text must be safe already: no
// control characters except newlines and tabs.
package markdown

import (
	"strings"

	"firn.dev/internal/render/highlight"
)

// widest is the maximum width of prose; longer rows are hard to read.
const widest = 100

// Writer renders streamed Markdown.
type Writer struct {
	width int
	plain bool
	// line is the current incomplete line, done the number of its rows that were already
	// returned.
	line string
	done int
	// fence ends the current code block; empty outside of one.
	fence string
	// code colors the current code block; nil if its language is unknown.
	code *highlight.Lines
	// table holds the current table.
	table table
}

// New returns a writer for a screen of the given width.
func New(width int) *Writer { return &Writer{width: max(min(width, widest), 20)} }

// Plain returns a writer that shows all markup unchanged, without styles, and does not wrap
// lines.
func Plain(width int) *Writer {
	w := New(width)
	w.plain = true
	return w
}

// Write adds a piece of text and returns the rows that are now final.
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
	return append(rows, w.finalRows()...)
}

// longest is the maximum length of a line of prose in bytes. A longer one is split, so that
// no text is parsed again and again.
const longest = 4096

// breakLine ends an overlong line of prose between two words.
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

// End ends the text and returns the remaining rows. The writer can then be reused.
func (w *Writer) End() []string {
	var rows []string
	if w.line != "" {
		rows = w.endLine()
	}
	rows = append(rows, styled(w.table.end(w.width))...)
	w.fence, w.code = "", nil
	return rows
}

// endLine renders the complete line.
func (w *Writer) endLine() []string {
	line := w.line
	if w.inTable(line) {
		w.line, w.done = "", 0
		return styled(w.table.add(line, w.width))
	}
	rows := styled(w.table.end(w.width))
	switch {
	case w.fence != "" && !closes(line, w.fence):
		rows = append(rows, w.codeRow(line).styled())
	default:
		rows = append(rows, styled(w.render(line)[w.done:])...)
	}
	w.turn(line)
	w.line, w.done = "", 0
	return rows
}

// inTable reports whether a complete line is a row of a table.
func (w *Writer) inTable(line string) bool {
	return !w.plain && w.fence == "" && classify(line).kind == verbatim
}

// finalRows renders the part of the line that can no longer change: full rows of the words
// before any unclosed markup.
func (w *Writer) finalRows() []string {
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
	rows := append(styled(w.table.end(w.width)), styled(all[w.done:final])...)
	w.done = final
	return rows
}

// Live returns the rows that are not final, without styles, as if the text ended here.
func (w *Writer) Live() []string {
	var texts []string
	for _, l := range w.table.lines {
		texts = append(texts, chop(l, w.width)...)
	}
	if w.line == "" {
		return texts
	}
	rows := w.render(w.line)
	for _, r := range rows[min(w.done, len(rows)):] {
		texts = append(texts, chop(r.plain(), w.width)...)
	}
	return texts
}

// render renders a line as if it were complete.
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

// turn updates the state if a line starts or ends a code block.
func (w *Writer) turn(line string) {
	switch {
	case w.fence != "" && closes(line, w.fence):
		w.fence, w.code = "", nil
	case w.fence == "" && !w.plain:
		if marker := classify(line).marker; marker != "" {
			w.openCode(line, marker)
		}
	}
}

// prose lays out spans in rows after the start of a block.
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

// The styles, as terminal codes.
const (
	bold      = "1"
	dim       = "2"
	italic    = "3"
	underline = "4"
	struck    = "9"
	code      = "35"
)

// join combines styles.
func join(a, b string) string {
	if a == "" || b == "" || a == b {
		return a + strings.TrimPrefix(b, a)
	}
	return a + ";" + b
}

// paint applies a style to a text.
func paint(text, codes string) string {
	if text == "" || codes == "" {
		return text
	}
	return "\x1b[" + codes + "m" + text + "\x1b[0m"
}
