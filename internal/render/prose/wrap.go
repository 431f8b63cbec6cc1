package prose

import (
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// Width returns the number of columns of a line. Styles have none.
func Width(line string) int {
	n := 0
	for rest := line; rest != ""; {
		text, style, after := cutStyle(rest)
		n += displaywidth.String(text)
		if style == "" {
			break
		}
		rest = after
	}
	return n
}

// cutStyle splits a text at its first SGR sequence.
func cutStyle(text string) (before, style, after string) {
	i := strings.Index(text, "\x1b[")
	if i < 0 {
		return text, "", ""
	}
	n := strings.IndexByte(text[i:], 'm')
	if n < 0 {
		return text, "", ""
	}
	return text[:i], text[i : i+n+1], text[i+n+1:]
}

// Wrap breaks a line between words so that each row has at most width columns. Further rows
// are indented like the text of the first one. Styles continue over the break. A word that
// is wider than a row is not broken, so that addresses and paths can be copied. A width of
// zero or less does not wrap.
func Wrap(line string, width int) []string {
	if width <= 0 || Width(line) <= width {
		return []string{line}
	}
	w := wrapping{width: width, hang: hanging(line, width)}
	for rest := line; rest != ""; {
		text, style, after := cutStyle(rest)
		w.text(text)
		w.word.WriteString(style)
		w.style(style)
		rest = after
	}
	w.endWord()
	return w.end()
}

// WrapAll wraps each line.
func WrapAll(lines []string, width int) []string {
	if width <= 0 {
		return lines
	}
	var rows []string
	for _, l := range lines {
		rows = append(rows, Wrap(l, width)...)
	}
	return rows
}

// hanging returns the indentation of the rows after the first: that of the line, after its
// bullet or number if it has one.
func hanging(line string, width int) string {
	plain, _, rest := cutStyle(line)
	if plain == "" {
		plain, _, _ = cutStyle(rest)
	}
	n := len(plain) - len(strings.TrimLeft(plain, " "))
	for _, sign := range []string{"· ", "⚠ ", "✓ ", "✗ ", "- "} {
		if strings.HasPrefix(plain[n:], sign) {
			n += 2
			break
		}
	}
	if n > width/2 {
		n = 0
	}
	return strings.Repeat(" ", n)
}

// wrapping is a line that is being wrapped.
type wrapping struct {
	width int
	hang  string
	rows  []string
	// row is the current row and used its columns; gap are the spaces after it.
	row  strings.Builder
	used int
	gap  string
	// word is the current word with its styles, and wide its columns.
	word strings.Builder
	wide int
	// open is the style at the end of the row, and next that at the end of the word.
	open, next string
}

// text adds text without styles.
func (w *wrapping) text(text string) {
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		if g.Value() == " " {
			if w.wide > 0 {
				w.endWord()
			}
			w.gap += " "
			continue
		}
		w.word.WriteString(g.Value())
		w.wide += g.Width()
	}
}

// style notes a style.
func (w *wrapping) style(code string) {
	switch code {
	case "":
	case "\x1b[0m", "\x1b[m":
		w.next = ""
	default:
		w.next += code
	}
}

// endWord puts the word into the row, or into the next one.
func (w *wrapping) endWord() {
	if w.used > 0 && w.wide > 0 && w.used+len(w.gap)+w.wide > w.width && w.used > len(w.hang) {
		if w.open != "" {
			w.row.WriteString("\x1b[0m")
		}
		w.rows = append(w.rows, w.row.String())
		w.row.Reset()
		w.row.WriteString(w.hang + w.open)
		w.used, w.gap = len(w.hang), ""
	}
	if w.wide == 0 { // the end of the line
		w.gap = ""
	}
	w.row.WriteString(w.gap + w.word.String())
	w.used += len(w.gap) + w.wide
	w.gap, w.wide, w.open = "", 0, w.next
	w.word.Reset()
}

// end returns the rows.
func (w *wrapping) end() []string {
	if w.row.Len() > 0 {
		w.rows = append(w.rows, w.row.String())
	}
	return w.rows
}

// WithoutStyles returns a line without its styles.
func WithoutStyles(line string) string {
	var b strings.Builder
	for rest := line; rest != ""; {
		text, style, after := cutStyle(rest)
		b.WriteString(text)
		if style == "" {
			break
		}
		rest = after
	}
	return b.String()
}

// SplitRow splits a row into rows of at most width columns, anywhere. Styles continue over
// the break.
func SplitRow(row string, width int) []string {
	if Width(row) <= width {
		return []string{row}
	}
	var rows []string
	var b strings.Builder
	used, open := 0, ""
	for rest := row; rest != ""; {
		text, style, after := cutStyle(rest)
		for g := displaywidth.StringGraphemes(text); g.Next(); {
			if used+g.Width() > width && used > 0 {
				if open != "" {
					b.WriteString("\x1b[0m")
				}
				rows = append(rows, b.String())
				b.Reset()
				b.WriteString(open)
				used = 0
			}
			b.WriteString(g.Value())
			used += g.Width()
		}
		if open += style; style == "\x1b[0m" {
			open = ""
		}
		b.WriteString(style)
		rest = after
	}
	return append(rows, b.String())
}

// Definitions formats terms and their explanations in two columns, indented by two. Long
// terms have their explanation below them, and so have all on a narrow screen. A width of
// zero or less does not wrap.
func Definitions(rows [][2]string, width int) []string {
	if width <= 0 {
		table := make([][]string, len(rows))
		for i, r := range rows {
			table[i] = []string{"  " + r[0], r[1]}
		}
		return Table(table)
	}
	column := 0
	for _, r := range rows {
		if n := Width(r[0]); n <= width/3 {
			column = max(column, n)
		}
	}
	indent := strings.Repeat(" ", column+4)
	if width < 60 {
		indent = "      "
	}
	var lines []string
	for _, r := range rows {
		texts := Wrap(r[1], max(width-len(indent), 10))
		if width < 60 || Width(r[0]) > column {
			lines = append(lines, Wrap("  "+r[0], width)...)
		} else {
			lines = append(lines, "  "+r[0]+strings.Repeat(" ", column-Width(r[0])+2)+texts[0])
			texts = texts[1:]
		}
		for _, t := range texts {
			lines = append(lines, indent+t)
		}
	}
	return lines
}

// FitFields joins fields with a separator in at most width columns. It takes the fields in
// the order of their Drop and leaves out those that do not fit anymore. A field of zero
// stays; the line is cut if those alone do not fit. A width of zero or less keeps all.
func FitFields(fields []Field, separator string, width int) string {
	chosen := make([]string, len(fields))
	order := make([]int, 0, len(fields))
	for i, f := range fields {
		if f.Drop == 0 || width <= 0 {
			chosen[i] = f.Text
		} else if f.Text != "" {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return fields[a].Drop - fields[b].Drop })
	for _, i := range order {
		for _, text := range []string{fields[i].Text, fields[i].Short} {
			if chosen[i] = text; displaywidth.String(joinFields(chosen, separator)) <= width {
				break
			}
			chosen[i] = ""
		}
	}
	line := joinFields(chosen, separator)
	if width > 0 {
		return CutWidth(line, width)
	}
	return line
}

// Field is a part of a line. Drop is its order of removal: the greatest goes first, zero
// stays. Short replaces a text that does not fit; may be empty.
type Field struct {
	Text, Short string
	Drop        int
}

// joinFields joins the texts that are not empty.
func joinFields(texts []string, separator string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return t == "" }), separator)
}

// CutWidth cuts a line without styles to at most width columns.
func CutWidth(line string, width int) string {
	if displaywidth.String(line) <= width {
		return line
	}
	if width <= 0 {
		return ""
	}
	var b strings.Builder
	used := 0
	for g := displaywidth.StringGraphemes(line); g.Next(); {
		if used += g.Width(); used > width-1 {
			break
		}
		b.WriteString(g.Value())
	}
	return b.String() + "…"
}
