package config

import (
	"fmt"
	"strings"

	"firn.dev"
)

// splitPath splits a dotted path. Names that contain dots are quoted.
func splitPath(path string) ([]string, error) {
	bad := fmt.Errorf("%w setting %s: expected names separated by dots, such as gateway.listen", firn.ErrInvalid, quoted(path))
	var segments []string
	for rest := path; ; {
		var segment string
		if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
			end := strings.IndexByte(rest[1:], rest[0])
			if end < 0 {
				return nil, bad
			}
			segment, rest = rest[1:end+1], rest[end+2:]
		} else {
			end := strings.IndexByte(rest, '.')
			if end < 0 {
				end = len(rest)
			}
			segment, rest = rest[:end], rest[end:]
		}
		if segment == "" {
			return nil, bad
		}
		segments = append(segments, segment)
		if rest == "" {
			return segments, nil
		}
		if rest[0] != '.' {
			return nil, bad
		}
		rest = rest[1:]
	}
}

// joinPath joins a path so that splitPath can split it. The result is also a valid TOML
// key.
func joinPath(segments []string) string {
	quoted := make([]string, len(segments))
	for i, s := range segments {
		quoted[i] = quoteKey(s)
	}
	return strings.Join(quoted, ".")
}

// quoteKey returns a name as a TOML key.
func quoteKey(key string) string {
	if key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
		return key
	}
	return quoteText(key)
}

// quoteText returns a text as a TOML string.
func quoteText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// JoinPath returns the path of a setting with these segments. Segments that are not plain
// words are quoted.
func JoinPath(segments ...string) string { return joinPath(segments) }
