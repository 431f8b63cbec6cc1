package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/typo"
)

// Problem is one thing that is wrong with the settings. It never holds what
// may be a secret.
type Problem struct {
	// File, Line and Column are where it is, counted from 1. A problem with the
	// file as a whole has no line.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Source is the variable or the flag it is in, if it is not in the file.
	Source string `json:"source,omitempty"`
	// Key is the setting, as a dotted path.
	Key string `json:"key,omitempty"`
	// Message says what is wrong and Hint what to do about it.
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// String is the problem in one line, with its place in front.
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

// Place is where the problem is: file:line:column, or a variable or a flag.
func (p Problem) Place() string {
	switch {
	case p.Source != "":
		return p.Source
	case p.Line > 0:
		return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
	}
	return p.File
}

// Problems is everything that is wrong with the settings, in the order of the
// file. It is [firn.ErrInvalid].
type Problems []Problem

// Error lists the problems, one on each line.
func (p Problems) Error() string {
	if len(p) == 1 {
		return "read the settings: " + p[0].String()
	}
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = "\n  " + problem.String()
	}
	return fmt.Sprintf("read the settings: %d problems:%s", len(p), strings.Join(lines, ""))
}

// Unwrap says what kind of error it is.
func (p Problems) Unwrap() error { return firn.ErrInvalid }

// tidy sorts the problems and takes out those that were found twice: what is
// wrong in defaults is found with every agent.
func (p Problems) tidy() Problems {
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

// quoted shows what somebody wrote, cut to a readable length.
func quoted(s string) string {
	const most = 40
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// nearest finds the name that was probably meant, empty if none is near.
func nearest(name string, names []string) string {
	want := snake(name)
	return typo.Nearest(want, names, max(1, len(want)/3))
}

// snake spells a name as our keys are: small, with underscores.
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
