package cli

import (
	"io"
	"os"
	"slices"
	"strings"

	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
)

// columnsOf returns the number of columns of a stream, or 0 if it is not a terminal: output
// for programs is not fitted.
func columnsOf(stream io.Writer) int {
	if file, ok := stream.(*os.File); ok && isTerminal(file) {
		return line.Columns(file)
	}
	return 0
}

// wrapText wraps the lines of a text; a width of zero does not.
func wrapText(text string, width int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return strings.Join(prose.WrapAll(lines, width), "\n") + "\n"
}

// column is a column of a table. Drop is its order of removal on narrow screens: the
// greatest goes first, zero stays. Least is the width to which its cells may be cut; zero
// means not at all.
type column struct {
	right bool
	drop  int
	least int
}

// fitTable formats rows in columns that fit a width; zero keeps all of them.
func fitTable(rows [][]string, columns []column, width int) []string {
	natural := make([]int, len(columns))
	for _, r := range rows {
		for i, cell := range r {
			natural[i] = max(natural[i], prose.Width(cell))
		}
	}
	widths := chooseColumns(columns, natural, width)
	var form strings.Builder
	for i, c := range columns {
		if widths[i] < 0 {
			continue
		}
		if c.right {
			form.WriteByte('r')
		} else {
			form.WriteByte('l')
		}
	}
	fitted := make([][]string, len(rows))
	for y, r := range rows {
		for i, cell := range r {
			if widths[i] >= 0 {
				fitted[y] = append(fitted[y], prose.CutWidth(cell, max(widths[i], 1)))
			}
		}
	}
	lines := prose.Columns(fitted, form.String())
	for i, l := range lines {
		if width > 0 {
			lines[i] = prose.CutWidth(l, width)
		}
	}
	return lines
}

// chooseColumns returns the width of each column, or -1 if it is left out. Columns that may
// be cut get the room that is left, up to their natural width.
func chooseColumns(columns []column, natural []int, width int) []int {
	if width <= 0 {
		return natural
	}
	widths := make([]int, len(columns))
	order := make([]int, len(columns))
	for i := range columns {
		widths[i], order[i] = -1, i
	}
	slices.SortStableFunc(order, func(a, b int) int { return columns[a].drop - columns[b].drop })
	used := -2
	for _, i := range order {
		least := natural[i]
		if columns[i].least > 0 {
			least = min(least, columns[i].least)
		}
		if columns[i].drop == 0 || used+2+least <= width {
			widths[i] = least
			used += 2 + least
		}
	}
	for _, i := range order {
		if room := width - used; widths[i] >= 0 && room > 0 {
			more := min(natural[i]-widths[i], room)
			widths[i], used = widths[i]+more, used+more
		}
	}
	return widths
}
