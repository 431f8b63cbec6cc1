package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/typo"
)

// Problem is an error in the settings. It never contains a value that may be a secret.
type Problem struct {
	// File, Line and Column are the position, counted from 1. A problem with the whole file
	// has no line.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Source is the variable or flag, if the problem is not in the file.
	Source string `json:"source,omitempty"`
	// Key is the dotted path of the setting.
	Key string `json:"key,omitempty"`
	// Message describes the problem. Hint suggests a fix.
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// String formats the problem as one line that begins with its place.
func (p Problem) String() string {
	text := p.Message
	if p.Key != "" {
		text = p.Key + ": " + text
	}
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	if place := p.Place(); place != "" {
		text = place + ": " + text
	}
	return text
}

// Place returns the place of the problem: file:line:column, a variable or a flag.
func (p Problem) Place() string {
	switch {
	case p.Source != "":
		return p.Source
	case p.Line > 0:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	return p.File
}

// Problems is the list of all problems in file order. It wraps [firn.ErrInvalid].
type Problems []Problem

// Error lists the problems, one per line.
func (p Problems) Error() string {
	if len(p) == 1 {
		return "read settings: " + p[0].String()
	}
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = "\n  " + problem.String()
	}
	return fmt.Sprintf("read settings: %d errors:%s", len(p), strings.Join(lines, ""))
}

// Unwrap returns [firn.ErrInvalid].
func (p Problems) Unwrap() error { return firn.ErrInvalid }

// sortUnique sorts the problems and removes duplicates: a problem in the defaults is found
// once for every agent.
func (p Problems) sortUnique() Problems {
	seen := make(map[Problem]bool)
	p = slices.DeleteFunc(p, func(one Problem) bool {
		if one.Line > 0 || one.Source != "" {
			one.Key, one.Hint = "", ""
		}
		twice := seen[one]
		seen[one] = true
		return twice
	})
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Key, b.Key))
	})
	return p
}

// quoted quotes user input, truncated to a readable length.
func quoted(s string) string {
	const most = 40
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// nearest returns the most similar name, or "" if none is similar.
func nearest(name string, names []string) string {
	want := snake(name)
	return typo.Nearest(want, names, max(1, len(want)/3))
}

// snake converts a name to lower case with underscores.
func snake(name string) string {
	var b strings.Builder
	small := false
	for _, r := range name {
		switch {
		case r == '-' || r == ' ':
			r = '_'
		case r >= 'A' && r <= 'Z':
			if small {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
			small = false
			b.WriteRune(r)
			continue
		}
		small = r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		b.WriteRune(r)
	}
	return b.String()
}
