package markdown

import (
	"regexp"
	"strings"
)

// block is what a line is.
type block struct {
	kind kind
	// first is what the line begins with on the screen, style the style of that,
	// and text the rest of it.
	first, style, text string
	// marker is what ends a code block.
	marker string
}

type kind int

const (
	paragraph kind = iota
	blank
	heading
	item
	quote
	fenced
	rule
	verbatim // shown as it is: a row of a table
)

var (
	fenceLine   = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})([^`]*)$")
	headingLine = regexp.MustCompile(`^ {0,3}(#{1,6})[ \t]+(.*)$`)
	itemLine    = regexp.MustCompile(`^([ \t]*)([-*+]|[0-9]{1,9}[.)])([ \t]+)(.*)$`)
	quoteLine   = regexp.MustCompile(`^ {0,3}((?:> ?)+)(.*)$`)
	ruleLine    = regexp.MustCompile(`^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$`)
	indentation = regexp.MustCompile(`^[ \t]*`)
	// unclear is the beginning of a line that may still become any of these.
	unclear = regexp.MustCompile("^[ \\t]*(?:[-*_ \\t]*|#{1,6}|[0-9]{1,9}[.)]?|\\+|`{1,2}|~{1,2}|(?:> ?)+|(?:[-*+]|[0-9]{1,9}[.)])[ \\t]+)$")
)

// undecided reports whether what there is of a line may still become something
// else than it looks like.
func undecided(line string) bool { return unclear.MatchString(line) }

// classify says what a line is, if it is not in a code block.
func classify(line string) block {
	trimmed := strings.TrimLeft(line, " \t")
	switch {
	case trimmed == "":
		return block{kind: blank}
	case strings.HasPrefix(trimmed, "|"):
		return block{kind: verbatim}
	case ruleLine.MatchString(line):
		return block{kind: rule}
	}
	if m := fenceLine.FindStringSubmatch(line); m != nil {
		return block{kind: fenced, marker: m[1]}
	}
	if m := headingLine.FindStringSubmatch(line); m != nil {
		return block{kind: heading, first: m[1] + " ", style: dim, text: m[2]}
	}
	if m := itemLine.FindStringSubmatch(line); m != nil {
		marker := m[2]
		if strings.Contains("-*+", marker) {
			marker = "•"
		}
		return block{kind: item, first: spaces(m[1]) + marker + " ", text: m[4]}
	}
	if m := quoteLine.FindStringSubmatch(line); m != nil {
		return block{kind: quote, first: strings.Repeat("│ ", strings.Count(m[1], ">")), style: dim, text: m[2]}
	}
	lead := indentation.FindString(line)
	return block{kind: paragraph, first: spaces(lead), text: line[len(lead):]}
}

// spaces is white space without tabs.
func spaces(lead string) string { return strings.ReplaceAll(lead, "\t", "    ") }

// closes reports whether a line ends the code block that a fence began.
func closes(line, fence string) bool {
	trimmed := strings.TrimSpace(line)
	return len(trimmed) >= len(fence) && strings.Trim(trimmed, fence[:1]) == ""
}
