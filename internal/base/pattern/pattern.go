// Package pattern provides regular expressions that are compiled on first use. This saves
// the startup cost of compiling many expressions of which most commands use few.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression. It is safe for concurrent use.
type Pattern struct {
	once       sync.Once
	expression string
	compiled   *regexp.Regexp
}

// New returns a pattern. An invalid expression panics on first use, so each pattern needs a
// test.
func New(expression string) *Pattern { return &Pattern{expression: expression} }

// Regexp returns the compiled expression.
func (p *Pattern) Regexp() *regexp.Regexp {
	p.once.Do(func() { p.compiled = regexp.MustCompile(p.expression) })
	return p.compiled
}

// MatchString is like [regexp.Regexp.MatchString].
func (p *Pattern) MatchString(s string) bool { return p.Regexp().MatchString(s) }

// FindString returns the leftmost match.
func (p *Pattern) FindString(s string) string { return p.Regexp().FindString(s) }

// FindStringSubmatch returns the leftmost match and its groups.
func (p *Pattern) FindStringSubmatch(s string) []string { return p.Regexp().FindStringSubmatch(s) }

// FindStringSubmatchIndex returns the indexes of the leftmost match and its groups.
func (p *Pattern) FindStringSubmatchIndex(s string) []int {
	return p.Regexp().FindStringSubmatchIndex(s)
}

// FindAllString returns up to n matches, all if n is negative.
func (p *Pattern) FindAllString(s string, n int) []string { return p.Regexp().FindAllString(s, n) }

// FindAllStringSubmatch returns up to n matches and their groups, all if n is negative.
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.Regexp().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex returns the indexes of up to n matches and their groups.
func (p *Pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.Regexp().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString replaces all matches.
func (p *Pattern) ReplaceAllString(s, by string) string { return p.Regexp().ReplaceAllString(s, by) }

// Split splits a text at its matches.
func (p *Pattern) Split(s string, n int) []string { return p.Regexp().Split(s, n) }
