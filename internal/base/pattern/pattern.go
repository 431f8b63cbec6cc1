// Package pattern provides regular expressions that are compiled on first use. This saves
// the startup cost of compiling many expressions of which most commands use few.
package pattern

import (
	"regexp"
	"sync"
)

// New returns a function that compiles the expression on its first call and returns the
// result on each. It is safe for concurrent use. An invalid expression panics on the first
// call, so each pattern needs a test.
func New(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
