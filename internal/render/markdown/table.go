package markdown

import (
	"slices"
	"strings"
)

// maxTable is the number of rows that are kept to lay out a table. Further rows use the
// columns of the first ones.
const maxTable = 200

// minColumn is the least width of a column. If the columns do not fit, each row of the
// table is shown as a list of its cells.
const minColumn = 5

// columnRule separates columns.
const columnRule = " │ "

// table is a table that is being received.
type table struct {
	// lines are the lines that were not shown yet.
	lines []string
	// columns is the layout of a table that became too long to keep; nil before.
	columns *columns
}

// columns is the layout of a table.
type columns struct {
	width  int
	widths []int
	align  []byte
	// header holds the texts of the header if rows are shown as lists; nil otherwise.
	header []string
}

// isDelimiter reports whether a line separates the header of a table from its rows.
func isDelimiter(line string) bool {
	cells := splitCells(line)
	for _, cell := range cells {
		if dashes := strings.TrimSuffix(strings.TrimPrefix(cell, ":"), ":"); dashes == "" || strings.Trim(dashes, "-") != "" {
			return false
		}
	}
	return len(cells) > 0
}

// add adds a line and returns the rows that are final.
func (t *table) add(line string, width int) []row {
	if t.columns != nil {
		return t.columns.rows([][][]span{cellSpans(line, "")})
	}
	if t.lines = append(t.lines, line); len(t.lines) < maxTable {
		return nil
	}
	return t.layOut(width, true)
}

// end ends the table and returns its rows.
func (t *table) end(width int) []row {
	rows := t.layOut(width, false)
	*t = table{}
	return rows
}

// layOut returns the rows of the lines so far. If more lines follow, the columns are kept.
func (t *table) layOut(width int, more bool) []row {
	lines := t.lines
	t.lines = nil
	if len(lines) < 2 || !isDelimiter(lines[1]) {
		var rows []row
		for _, l := range lines {
			rows = append(rows, row{{text: l}})
		}
		return rows
	}
	cells := [][][]span{cellSpans(lines[0], bold)}
	for _, l := range lines[2:] {
		cells = append(cells, cellSpans(l, ""))
	}
	c := fitColumns(cells, alignments(lines[1]), width)
	if more {
		t.columns = c
	}
	if c.header != nil {
		return c.rows(cells[1:])
	}
	rows := c.rows(cells[:1])
	rows = append(rows, c.rule())
	return append(rows, c.rows(cells[1:])...)
}

// cellSpans splits a line into cells and parses their markup.
func cellSpans(line, codes string) [][]span {
	var cells [][]span
	for _, text := range splitCells(line) {
		spans, _ := parse(text, true)
		for i := range spans {
			spans[i].codes = join(codes, spans[i].codes)
		}
		cells = append(cells, spans)
	}
	return cells
}

// splitCells splits a row of a table at the bars that are not escaped and not in code.
func splitCells(line string) []string {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	var cells []string
	from := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '`':
			n := run(line[i:])
			if end := closingQuotes(line[i:], n); end > 0 {
				i += end
			}
			i += n - 1
		case '|':
			cells = append(cells, strings.TrimSpace(line[from:i]))
			from = i + 1
		}
	}
	if rest := strings.TrimSpace(line[from:]); rest != "" {
		cells = append(cells, rest)
	}
	return cells
}

// alignments returns the alignment of each column: l, r or c.
func alignments(delimiter string) []byte {
	var align []byte
	for _, cell := range splitCells(delimiter) {
		left, right := strings.HasPrefix(cell, ":"), strings.HasSuffix(cell, ":")
		switch {
		case left && right:
			align = append(align, 'c')
		case right:
			align = append(align, 'r')
		default:
			align = append(align, 'l')
		}
	}
	return align
}

// fitColumns returns the widths of columns for a screen. Narrow columns keep their natural
// width, and the others share the rest.
func fitColumns(cells [][][]span, align []byte, width int) *columns {
	c := &columns{width: width, align: align}
	for _, r := range cells {
		for i, cell := range r {
			if i == len(c.widths) {
				c.widths = append(c.widths, 1)
			}
			c.widths[i] = max(c.widths[i], widthOf(cell))
		}
	}
	n := len(c.widths)
	room := width - (n-1)*textWidth(columnRule)
	if total := sum(c.widths); total <= room {
		return c
	}
	if room >= n*minColumn {
		c.widths = shareRoom(c.widths, room)
		if !breaksWords(cells, c.widths) {
			return c
		}
	}
	for _, cell := range cells[0] {
		c.header = append(c.header, row(cell).plain())
	}
	c.header = append(c.header, make([]string, max(n-len(c.header), 0))...)
	return c
}

// maxWord is the width of a word that may be split.
const maxWord = 20

// breaksWords reports whether a column is too narrow for an ordinary word.
func breaksWords(cells [][][]span, widths []int) bool {
	for _, r := range cells {
		for i, cell := range r {
			for _, part := range wrap(cell, widths[i]) {
				if n := widthOf(part); n > widths[i] && n <= maxWord {
					return true
				}
			}
		}
	}
	return false
}

// shareRoom shrinks the widest columns until all fit.
func shareRoom(natural []int, room int) []int {
	order := make([]int, len(natural))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return natural[a] - natural[b] })
	widths := make([]int, len(natural))
	for k, i := range order {
		widths[i] = min(natural[i], room/(len(order)-k))
		room -= widths[i]
	}
	return widths
}

func sum(numbers []int) int {
	total := 0
	for _, n := range numbers {
		total += n
	}
	return total
}

// rule returns the line below the header.
func (c *columns) rule() row {
	var parts []string
	for _, w := range c.widths {
		parts = append(parts, strings.Repeat("─", w))
	}
	return row{{strings.Join(parts, "─┼─"), dim}}
}

// rows lays out rows of cells.
func (c *columns) rows(cells [][][]span) []row {
	var rows []row
	for _, r := range cells {
		if c.header != nil {
			rows = append(rows, c.record(r)...)
			continue
		}
		rows = append(rows, c.tableRow(r)...)
	}
	return rows
}

// tableRow lays out one row of cells, which takes as many rows as its highest cell.
func (c *columns) tableRow(cells [][]span) []row {
	wrapped := make([][]row, max(len(c.widths), len(cells)))
	height := 1
	for i, cell := range cells {
		wrapped[i] = c.cell(cell, i)
		height = max(height, len(wrapped[i]))
	}
	rows := make([]row, height)
	for y := range rows {
		for i, w := range wrapped {
			var part row
			if y < len(w) {
				part = w[y]
			}
			if i > 0 {
				rows[y] = append(rows[y], span{columnRule, dim})
			}
			rows[y] = append(rows[y], c.pad(part, i)...)
		}
	}
	return rows
}

// cell wraps a cell to its column. Words that are too wide are split.
func (c *columns) cell(cell []span, i int) []row {
	if i >= len(c.widths) { // a cell too many
		return []row{cell}
	}
	var rows []row
	for _, r := range wrap(cell, c.widths[i]) {
		rows = append(rows, splitRow(r, c.widths[i])...)
	}
	return rows
}

// pad fills a part of a cell up to the width of its column.
func (c *columns) pad(part row, i int) row {
	if i >= len(c.widths) {
		return part
	}
	space := c.widths[i] - widthOf(part)
	left, align := 0, byte('l')
	if i < len(c.align) {
		align = c.align[i]
	}
	switch align {
	case 'r':
		left = space
	case 'c':
		left = space / 2
	}
	switch last := i == len(c.widths)-1; {
	case last && len(part) == 0:
		return nil
	case last:
		space = left // no spaces at the end
	}
	out := row{{text: strings.Repeat(" ", left)}}
	return append(append(out, part...), span{text: strings.Repeat(" ", space-left)})
}

// record shows a row of a table as a list: the header of each column and its cell.
func (c *columns) record(cells [][]span) []row {
	var rows []row
	for i, cell := range cells {
		name := ""
		if i < len(c.header) {
			name = c.header[i]
		}
		spans := append([]span{{name + ":", bold}, {text: " "}}, cell...)
		for j, r := range wrap(spans, c.width-2) {
			if j > 0 {
				r = append(row{{text: "  "}}, r...)
			}
			rows = append(rows, r)
		}
	}
	return append(rows, nil)
}

// splitRow splits a row that is wider than width.
func splitRow(r row, width int) []row {
	if widthOf(r) <= width {
		return []row{r}
	}
	var rows []row
	var now row
	used := 0
	for _, s := range r {
		for _, char := range chop(s.text, 1) {
			if char == "" {
				continue
			}
			n := textWidth(char)
			if used+n > width && used > 0 {
				rows, now, used = append(rows, now), nil, 0
			}
			now, used = append(now, span{char, s.codes}), used+n
		}
	}
	return append(rows, now)
}
