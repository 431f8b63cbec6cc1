package trace

import (
	"strings"
	"unicode/utf8"
)

// Attribute is something known of a span: a name or a number.
type Attribute struct {
	key   string
	value any // string, int64 or []string
}

// String is a name. One that is too long to be a name is cut.
func String(key, value string) Attribute { return Attribute{key, bounded(value)} }

// Int is a number.
func Int[N int | int64](key string, value N) Attribute { return Attribute{key, int64(value)} }

// Strings are names.
func Strings(key string, values ...string) Attribute {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = bounded(v)
	}
	return Attribute{key, all}
}

// maxName bounds names, in bytes. What is longer is none.
const maxName = 128

// bounded is a name that can be sent: valid, and not too long.
func bounded(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= maxName {
		return s
	}
	s = s[:maxName]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}
