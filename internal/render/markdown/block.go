package markdown

import (
	"strings"

	"firn.dev/internal/base/pattern"
)

// block is the classification of a line.
type block struct {
	kind kind
	// first is the start of the line as displayed, style its style, and text the rest of
	// the line.
	first, style, text string
	// marker ends a code block.
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
	verbatim // shown unchanged: a row of a table
)

var (
	fenceLine   = pattern.New("^ {0,3}(`{3,}|~{3,})([^`]*)$")
	headingLine = pattern.New(`^ {0,3}(#{1,6})[ \t]+(.*)$`)
	itemLine    = pattern.New(`^([ \t]*)([-*+]|[0-9]{1,9}[.)])([ \t]+)(.*)$`)
	quoteLine   = pattern.New(`^ {0,3}((?:> ?)+)(.*)$`)
	ruleLine    = pattern.New(`^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$`)
	indentation = pattern.New(`^[ \t]*`)
	// unclear matches the start of a line whose kind is still undetermined.
	unclear = pattern.New("^[ \\t]*(?:[-*_ \\t]*|#{1,6}|[0-9]{1,9}[.)]?|\\+|`{1,2}|~{1,2}|(?:> ?)+|(?:[-*+]|[0-9]{1,9}[.)])[ \\t]+)$")
)

// undecided reports whether the kind of an incomplete line may still change.
func undecided(line string) bool { return unclear().MatchString(line) }

// classify determines the kind of a line outside of code blocks.
func classify(line string) block {
	trimmed := strings.TrimLeft(line, " \t")
	switch {
	case trimmed == "":
		return block{kind: blank}
	case strings.HasPrefix(trimmed, "|"):
		return block{kind: verbatim}
	case ruleLine().MatchString(line):
		return block{kind: rule}
	}
	if m := fenceLine().FindStringSubmatch(line); m != nil {
		return block{kind: fenced, marker: m[1]}
	}
	if m := headingLine().FindStringSubmatch(line); m != nil {
		return block{kind: heading, first: m[1] + " ", style: dim, text: m[2]}
	}
	if m := itemLine().FindStringSubmatch(line); m != nil {
		marker := m[2]
		if strings.Contains("-*+", marker) {
			marker = "•"
		}
		return block{kind: item, first: spaces(m[1]) + marker + " ", text: m[4]}
	}
	if m := quoteLine().FindStringSubmatch(line); m != nil {
		return block{kind: quote, first: strings.Repeat("│ ", strings.Count(m[1], ">")), style: dim, text: m[2]}
	}
	lead := indentation().FindString(line)
	return block{kind: paragraph, first: spaces(lead), text: line[len(lead):]}
}

// spaces replaces tabs with spaces.
func spaces(lead string) string { return strings.ReplaceAll(lead, "\t", "    ") }

// closes reports whether a line ends the code block that a fence started.
func closes(line, fence string) bool {
	trimmed := strings.TrimSpace(line)
	return len(trimmed) >= len(fence) && strings.Trim(trimmed, fence[:1]) == ""
}
