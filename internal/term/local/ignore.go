package local

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// ignoreRules are the rules of .gitignore files, in the order in which they were read. A
// later rule overrides an earlier one.
type ignoreRules []ignoreRule

// ignoreRule is a line of a .gitignore file.
type ignoreRule struct {
	// dir is the directory of the file, relative to the root; "." for the root.
	dir string
	// segments are the parts of the pattern. An anchored pattern begins at dir, another one
	// matches a name at any depth.
	segments []string
	anchored bool
	// negated includes what an earlier rule excluded; dirOnly matches directories only.
	negated, dirOnly bool
}

// read adds the rules of a directory's .gitignore file, if there is one.
func (r ignoreRules) read(dir, name string) ignoreRules {
	text, err := os.ReadFile(filepath.Join(dir, ".gitignore"))
	if err != nil {
		return r
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rule, ok := parseIgnore(name, line); ok {
			r = append(r, rule)
		}
	}
	return r
}

// parseIgnore parses a line of a .gitignore file.
func parseIgnore(dir, line string) (ignoreRule, bool) {
	line = strings.TrimRight(line, " \t\r")
	if line == "" || strings.HasPrefix(line, "#") {
		return ignoreRule{}, false
	}
	rule := ignoreRule{dir: dir}
	line, rule.negated = strings.CutPrefix(line, "!")
	line = strings.TrimPrefix(line, `\`)
	line, rule.dirOnly = strings.CutSuffix(line, "/")
	rule.anchored = strings.Contains(line, "/")
	rule.segments = strings.Split(strings.TrimPrefix(line, "/"), "/")
	return rule, line != ""
}

// ignores reports whether a path is excluded. Its parents are not.
func (r ignoreRules) ignores(name string, isDir bool) bool {
	excluded := false
	for _, rule := range r {
		if rule.matches(name, isDir) {
			excluded = !rule.negated
		}
	}
	return excluded
}

func (r ignoreRule) matches(name string, isDir bool) bool {
	if r.dirOnly && !isDir {
		return false
	}
	if r.dir != "." {
		below, ok := strings.CutPrefix(name, r.dir+"/")
		if !ok {
			return false
		}
		name = below
	}
	if !r.anchored {
		return matchSegments(r.segments, []string{path.Base(name)})
	}
	return matchSegments(r.segments, strings.Split(name, "/"))
}

// matchSegments matches the parts of a path. Two asterisks match any number of parts.
func matchSegments(pattern, parts []string) bool {
	if len(pattern) == 0 {
		return len(parts) == 0
	}
	if pattern[0] == "**" {
		for i := range len(parts) + 1 {
			if matchSegments(pattern[1:], parts[i:]) {
				return len(pattern) > 1 || i < len(parts) || i > 0
			}
		}
		return false
	}
	if len(parts) == 0 {
		return false
	}
	ok, err := path.Match(pattern[0], parts[0])
	return err == nil && ok && matchSegments(pattern[1:], parts[1:])
}
