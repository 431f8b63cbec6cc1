// Package pattern has regular expressions that are compiled when they are first used.
//
// A program that has many of them would compile all at each start, for nothing: most
// commands use few.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression. It may be used from many goroutines.
type Pattern struct {
	once       sync.Once
	expression string
	compiled   *regexp.Regexp
}

// New makes a pattern. One that makes no sense panics when it is first used: whoever has
// one tests what it is for.
func New(expression string) *Pattern { return &Pattern{expression: expression} }

// Regexp is the expression, compiled.
func (p *Pattern) Regexp() *regexp.Regexp {
	p.once.Do(func() { p.compiled = regexp.MustCompile(p.expression) })
	return p.compiled
}

// MatchString is that of a [regexp.Regexp], as are the others.
func (p *Pattern) MatchString(s string) bool { return p.Regexp().MatchString(s) }

// FindString returns the leftmost match.
func (p *Pattern) FindString(s string) string { return p.Regexp().FindString(s) }

// FindStringSubmatch returns the leftmost match and its groups.
func (p *Pattern) FindStringSubmatch(s string) []string { return p.Regexp().FindStringSubmatch(s) }

// FindStringSubmatchIndex returns where they are.
func (p *Pattern) FindStringSubmatchIndex(s string) []int {
	return p.Regexp().FindStringSubmatchIndex(s)
}

// FindAllString returns up to n matches, all if n is negative.
func (p *Pattern) FindAllString(s string, n int) []string { return p.Regexp().FindAllString(s, n) }

// FindAllStringSubmatch returns them with their groups.
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.Regexp().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex returns where they and their groups are.
func (p *Pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.Regexp().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString replaces all matches.
func (p *Pattern) ReplaceAllString(s, by string) string { return p.Regexp().ReplaceAllString(s, by) }

// Split cuts a text at its matches.
func (p *Pattern) Split(s string, n int) []string { return p.Regexp().Split(s, n) }
