package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// row is a row of the screen.
type row []span

// styled returns the row with its styles.
func (r row) styled() string {
	var b strings.Builder
	for i := 0; i < len(r); {
		j := i
		var text strings.Builder
		for j < len(r) && r[j].codes == r[i].codes {
			text.WriteString(r[j].text)
			j++
		}
		b.WriteString(paint(text.String(), r[i].codes))
		i = j
	}
	return b.String()
}

// plain returns the row without styles.
func (r row) plain() string {
	var b strings.Builder
	for _, s := range r {
		b.WriteString(s.text)
	}
	return b.String()
}

func textWidth(text string) int { return displaywidth.String(text) }

// wrap lays out spans in rows of the given width. Rows are broken between words. A word
// wider than a row is not split, so that addresses can be copied.
func wrap(spans []span, width int) []row {
	w := wrapper{width: width}
	for _, s := range spans {
		w.span(s)
	}
	w.word()
	return append(w.rows, w.row)
}

// wrapper lays out words in rows.
type wrapper struct {
	width int
	rows  []row
	row   row
	used  int
	// gap is the space before the current word, pieces the word, which may have several
	// styles.
	gap    row
	pieces row
}

// span adds a span.
func (w *wrapper) span(s span) {
	for g := displaywidth.StringGraphemes(s.text); g.Next(); {
		char := g.Value()
		if char == "\t" {
			char = "    "
		}
		if strings.TrimSpace(char) == "" {
			if len(w.pieces) > 0 {
				w.word()
			}
			w.gap = append(w.gap, span{char, s.codes})
			continue
		}
		if len(w.pieces) > 0 && wideLetter(char) {
			w.word()
		}
		w.pieces = append(w.pieces, span{char, s.codes})
	}
}

// wideLetter reports whether a row can be broken before a character because its script has
// no spaces.
func wideLetter(char string) bool {
	r, _ := utf8.DecodeRuneInString(char)
	return r > 0x1100 && unicode.IsLetter(r) && displaywidth.String(char) == 2
}

// word ends the current word and adds it to a row.
func (w *wrapper) word() {
	gap, size := widthOf(w.gap), widthOf(w.pieces)
	switch {
	case len(w.pieces) == 0:
	case w.used > 0 && w.used+gap+size > w.width:
		w.rows = append(w.rows, w.row)
		w.row, w.used = append(row(nil), w.pieces...), size
	default:
		w.row = append(append(w.row, w.gap...), w.pieces...)
		w.used += gap + size
	}
	if len(w.pieces) > 0 {
		w.gap, w.pieces = nil, nil
	}
}

func widthOf(r row) int {
	n := 0
	for _, s := range r {
		n += textWidth(s.text)
	}
	return n
}

// chop splits a text into pieces of at most the given width.
func chop(text string, width int) []string {
	var all []string
	var b strings.Builder
	used := 0
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		char := g.Value()
		if char == "\t" {
			char = "    "
		}
		if n := textWidth(char); used+n > width {
			all = append(all, b.String())
			b.Reset()
			used = 0
		}
		used += textWidth(char)
		b.WriteString(char)
	}
	return append(all, b.String())
}
