// Package prose formats values for the terminal: numbers, sizes, times and tables. It also
// makes untrusted text safe to display.
//
// It prints nothing itself.
package prose

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/clipperhouse/displaywidth"

	"firn.dev"
)

// Plural formats a count with a noun that forms its plural with s.
func Plural(n int, thing string) string { return Count(n, thing, thing+"s") }

// Count formats a count with the singular or plural of a noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Grouped(int64(n)) + " " + many
}

// Grouped formats a number with thousands separators.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Thousands formats a number, in thousands if it is large.
func Thousands(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 1_000_000:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1000), ".0") + "k"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e6), ".0") + "M"
}

// Dollars formats a cost in US dollars. A cost of zero is empty: the model is free, or its price
// is unknown.
func Dollars(cost float64) string {
	switch {
	case cost <= 0:
		return ""
	case cost < 0.0001:
		return "<$0.0001"
	}
	return fmt.Sprintf("$%.4f", cost)
}

// Turns formats a number of turns. Those of all branches are counted, so the number of branches
// is added if there are several.
func Turns(n, branches int) string {
	text := Grouped(int64(n))
	if branches > 1 {
		text += fmt.Sprintf(" on %d branches", branches)
	}
	return text
}

// Size formats a number of bytes with two or three significant digits.
func Size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n), 0
	for value >= 999.5 && unit < 5 {
		value /= 1000
		unit++
	}
	digits := 0
	if value < 9.95 {
		digits = 1
	}
	return fmt.Sprintf("%.*f %s", digits, value, []string{"B", "kB", "MB", "GB", "TB", "PB"}[unit])
}

// Share formats the used part of a window. A window of unknown size has no share.
func Share(tokens, window int64) string {
	if window <= 0 {
		return Grouped(tokens) + " tokens"
	}
	return fmt.Sprintf("%s of %s", Percent(tokens, window), Thousands(window))
}

// Percent formats part as a percentage of whole, or a dash if whole is zero.
func Percent(part, whole int64) string {
	if whole <= 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(whole))
}

// Ago formats the time since t.
func Ago(t, now time.Time) string {
	switch d := now.Sub(t); {
	case t.IsZero():
		return "?"
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return t.Local().Format("2006-01-02")
}

// ShortLen is the length of an abbreviated session ID. It covers the creation time to the
// millisecond. An abbreviated ID is accepted wherever an ID is.
const ShortLen = 13

// Short returns an abbreviated ID.
func Short(id firn.ID) string { return firn.CutText(string(id), ShortLen) }

// Shortest returns the shortest prefix of an ID that is unique among others, and at least
// as long as [Short].
func Shortest(id firn.ID, among []firn.ID) string {
	n := ShortLen
	for _, other := range among {
		for n < len(id) && other != id && strings.HasPrefix(string(other), string(id)[:n]) {
			n++
		}
	}
	return firn.CutText(string(id), n)
}

// Table formats rows in columns separated by two spaces. Wide characters count with their
// display width.
func Table(rows [][]string) []string { return Columns(rows, "") }

// Columns is Table with an alignment for each column: r in form aligns right, anything else
// left. Columns beyond form align left.
func Columns(rows [][]string, form string) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], displaywidth.String(cell))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		var b strings.Builder
		for j, cell := range row {
			pad := strings.Repeat(" ", widths[j]-displaywidth.String(cell))
			if j < len(form) && form[j] == 'r' {
				b.WriteString(pad + cell)
			} else {
				b.WriteString(cell + pad)
			}
			if j < len(row)-1 {
				b.WriteString("  ")
			}
		}
		lines[i] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// Clean makes text safe to display on one line: characters that could move the cursor,
// change colors or start a line are replaced by spaces.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if hostile(r) {
			return ' '
		}
		return r
	}, text)
}

// CleanLines is Clean for text that may contain newlines and tabs.
func CleanLines(text string) string {
	return strings.Map(func(r rune) rune {
		if hostile(r) && r != '\n' && r != '\t' {
			return ' '
		}
		return r
	}, text)
}

// hostile reports whether a terminal may interpret a rune instead of showing it, or display
// the text after it in another order.
func hostile(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// Path returns a path as it is, or quoted if a terminal would not show it exactly.
func Path(path string) string {
	if strings.ContainsFunc(path, hostile) || strings.Contains(path, "  ") || strings.TrimSpace(path) != path {
		return strconv.QuoteToASCII(path)
	}
	return path
}

// OneLine returns text on one line, cut to at most n characters.
func OneLine(text string, n int) string {
	text = strings.Join(strings.Fields(Clean(firn.CutText(text, 4*n))), " ")
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}
