package tool

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"firn.dev"
)

// maxGlob limits the length of a glob.
const maxGlob = 1000

// glob matches slash-separated file paths. A pattern without a slash matches the base name
// in any directory.
type glob struct {
	re    *regexp.Regexp
	paths bool
}

// compileGlob compiles a glob. It supports * and ? within a name, ** across directories,
// [abc], [!abc] and {one,two}.
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

// match reports whether path matches.
func (g glob) match(path string) bool {
	if !g.paths {
		path = path[strings.LastIndexByte(path, '/')+1:]
	}
	return g.re.MatchString(path)
}

// translate converts a glob to a regular expression.
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
		default: // byte by byte; the bytes of a multi-byte character stay together
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	return b.String(), braces == 0
}

// charSet translates a character class in brackets and returns its length in the pattern,
// or zero if it is not terminated.
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
