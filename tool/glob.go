package tool

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"firn"
)

// maxGlob bounds the length of a glob.
const maxGlob = 1000

// glob says which files to look into, by their path with slashes. A pattern
// without a slash is for the last name alone, wherever the file is.
type glob struct {
	re    *regexp.Regexp
	paths bool
}

// compileGlob understands * and ? within a name, ** over any number of
// directories, [abc], [!abc] and {one,two}.
func compileGlob(pattern string) (glob, error) {
	pattern = strings.TrimPrefix(filepath.ToSlash(pattern), "./")
	if len(pattern) > maxGlob {
		return glob{}, fmt.Errorf("the glob has %s and is %w", count(len(pattern), "byte"), firn.ErrTooLarge)
	}
	re, ok := translate(pattern)
	if !ok {
		return glob{}, fmt.Errorf("%w glob %q: a bracket or brace in it is not closed", firn.ErrInvalid, pattern)
	}
	compiled, err := regexp.Compile("^(?s:" + re + ")$")
	if err != nil {
		return glob{}, fmt.Errorf("%w glob %q: %v", firn.ErrInvalid, pattern, err)
	}
	return glob{re: compiled, paths: strings.Contains(pattern, "/")}, nil
}

// match reports whether a file is meant.
func (g glob) match(path string) bool {
	if !g.paths {
		path = path[strings.LastIndexByte(path, '/')+1:]
	}
	return g.re.MatchString(path)
}

// translate makes a regular expression of a glob.
func translate(pattern string) (string, bool) {
	var b strings.Builder
	braces := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "**/") && (i == 0 || pattern[i-1] == '/'):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '{':
			b.WriteString("(?:")
			braces++
		case c == '}' && braces > 0:
			b.WriteByte(')')
			braces--
		case c == ',' && braces > 0:
			b.WriteByte('|')
		case c == '[':
			set, length := charSet(pattern[i:])
			if length == 0 {
				return "", false
			}
			b.WriteString(set)
			i += length - 1
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		default: // byte by byte, the bytes of one character stay together
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	return b.String(), braces == 0
}

// charSet translates a set of characters in brackets and returns its length in
// the pattern, zero if it has no end.
func charSet(pattern string) (string, int) {
	at, set := 1, "["
	if at < len(pattern) && (pattern[at] == '!' || pattern[at] == '^') {
		at, set = at+1, "[^/"
	}
	end := strings.IndexByte(pattern[min(at+1, len(pattern)):], ']')
	if end < 0 {
		return "", 0
	}
	inner := pattern[at : at+1+end]
	inner = strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`, `&`, `\&`).Replace(inner)
	return set + inner + "]", at + 1 + end + 1
}
