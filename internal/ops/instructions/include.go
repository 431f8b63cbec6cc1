package instructions

import "strings"

// include is a path that a file includes. If Maybe is true, it is a word of the text that
// may mean something else, and counts only if the file exists.
type include struct {
	path  string
	maybe bool
}

// includes returns the paths that a text includes, in order. Code blocks and code spans are
// ignored.
func includes(text string) []include {
	var found []include
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if fence != "" {
			if strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == "" {
				fence = ""
			}
			continue
		}
		if fence = fenceOf(line); fence != "" {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "@include"); ok && rest != strings.TrimLeft(rest, " \t") {
			if path := strings.Trim(strings.TrimSpace(rest), "\"'`<>"); path != "" {
				found = append(found, include{path: path})
			}
			continue
		}
		for _, word := range strings.Fields(withoutSpans(line)) {
			word = strings.TrimLeft(word, "([\"'*_")
			path, ok := strings.CutPrefix(word, "@")
			if path = strings.TrimRight(path, ".,;:!?)]\"'*_"); ok && path != "" {
				found = append(found, include{path: path, maybe: true})
			}
		}
	}
	return found
}

// fenceOf returns the characters that start a code block, or "" if the line does not start
// one.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 && !strings.Contains(line[n:], c) {
			return line[:n]
		}
	}
	return ""
}

// withoutSpans returns a line without its code spans.
func withoutSpans(line string) string {
	parts := strings.Split(line, "`")
	if len(parts) < 3 {
		return line
	}
	var b strings.Builder
	for i := 0; i < len(parts); i += 2 {
		b.WriteString(parts[i] + " ")
	}
	return b.String()
}
