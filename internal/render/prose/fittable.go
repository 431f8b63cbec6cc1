package prose

import (
	"slices"
	"strings"
)

// Column is a column of [FitTable]. Drop is its order of removal on narrow screens: the
// greatest goes first, zero stays. Min is the width to which its cells may be cut; zero
// means not at all.
type Column struct {
	Right bool
	Drop  int
	Min   int
}

// FitTable formats rows in columns that fit a width; zero keeps all of them.
func FitTable(rows [][]string, columns []Column, width int) []string {
	natural := make([]int, len(columns))
	for _, r := range rows {
		for i, cell := range r {
			natural[i] = max(natural[i], Width(cell))
		}
	}
	widths := chooseColumns(columns, natural, width)
	var form strings.Builder
	for i, c := range columns {
		if widths[i] < 0 {
			continue
		}
		if c.Right {
			form.WriteByte('r')
		} else {
			form.WriteByte('l')
		}
	}
	fitted := make([][]string, len(rows))
	for y, r := range rows {
		for i, cell := range r {
			if widths[i] >= 0 {
				fitted[y] = append(fitted[y], CutWidth(cell, max(widths[i], 1)))
			}
		}
	}
	lines := Columns(fitted, form.String())
	for i, l := range lines {
		if width > 0 {
			lines[i] = CutWidth(l, width)
		}
	}
	return lines
}

// chooseColumns returns the width of each column, or -1 if it is left out. Columns that may
// be cut get the room that is left, up to their natural width.
func chooseColumns(columns []Column, natural []int, width int) []int {
	if width <= 0 {
		return natural
	}
	widths := make([]int, len(columns))
	order := make([]int, len(columns))
	for i := range columns {
		widths[i], order[i] = -1, i
	}
	slices.SortStableFunc(order, func(a, b int) int { return columns[a].Drop - columns[b].Drop })
	used := -2
	for _, i := range order {
		least := natural[i]
		if columns[i].Min > 0 {
			least = min(least, columns[i].Min)
		}
		if columns[i].Drop == 0 || used+2+least <= width {
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
