package chat

import (
	"fmt"
	"strings"

	"firn.dev/internal/render/prose"
)

const (
	// foldedDiff is the number of lines shown of a diff, maxDiffLines the most on request.
	foldedDiff   = 20
	maxDiffLines = 5000
)

// ANSI styles.
const (
	bold    = "1"
	dimmed  = "2"
	removed = "31"
	added   = "32"
	place   = "36"
)

// style formats a text, where styles are supported.
func (c approvalPrompt) style(code, text string) string { return styled(c.o.Terminal, code, text) }

// styled formats a text, where the terminal supports styles.
func styled(t Terminal, code, text string) string {
	if !t.Err || !t.Dim || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// showDiff prints the first most lines of a diff. Where texts can be folded, Ctrl-O shows all
// of it.
func (c *chat) showDiff(title, diff string, most int) {
	f, ok := c.screen.(folder)
	switch {
	case diff == "":
	case ok:
		f.fold(title, diffLines(c.o.Terminal, diff, maxDiffLines), most)
	default:
		c.screen.lines(diffLines(c.o.Terminal, diff, most))
	}
}

// showDetails prints the first most lines of a call's arguments. Where texts can be folded,
// Ctrl-O shows all of them.
func (c approvalPrompt) showDetails(title string, details []string, most int) {
	for i, l := range details {
		details[i] = "    " + l
	}
	f, ok := c.screen.(folder)
	switch {
	case len(details) == 0:
	case ok:
		f.fold(title, details, most)
	case len(details) > most+1:
		rest := fmt.Sprintf("    … %d more lines", len(details)-most)
		c.screen.lines(append(details[:most:most], styled(c.o.Terminal, dimmed, rest)))
	default:
		c.screen.lines(details)
	}
}

// diffLines returns a unified diff for display: removed lines red, added ones green. Of a
// long one the first most lines are returned, and a line with the number of the others.
func diffLines(t Terminal, diff string, most int) []string {
	if diff == "" {
		return nil
	}
	all := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	var lines []string
	for i, text := range all {
		if i == most && i < len(all)-1 {
			lines = append(lines, styled(t, dimmed, fmt.Sprintf("  … %d more lines", len(all)-i)))
			break
		}
		lines = append(lines, "  "+styled(t, diffStyle(text, i), prose.CleanLines(text)))
	}
	return lines
}

// diffStyle returns the style of a line of a diff. The first two lines are its header.
func diffStyle(text string, at int) string {
	switch {
	case at < 2 && (strings.HasPrefix(text, "--- ") || strings.HasPrefix(text, "+++ ")):
		return bold
	case strings.HasPrefix(text, "+"):
		return added
	case strings.HasPrefix(text, "-"):
		return removed
	case strings.HasPrefix(text, "@@"):
		return place
	}
	return "0"
}
