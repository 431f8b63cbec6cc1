package trace

import (
	"strings"
	"unicode/utf8"
)

// Attribute is a named property of a span.
type Attribute struct {
	key   string
	value any // string, int64 or []string
}

// String returns a string attribute. A value that is too long is cut.
func String(key, value string) Attribute { return Attribute{key, bounded(value)} }

// Int returns a number attribute.
func Int[N int | int64](key string, value N) Attribute { return Attribute{key, int64(value)} }

// Strings returns an attribute with a list of strings.
func Strings(key string, values ...string) Attribute {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = bounded(v)
	}
	return Attribute{key, all}
}

// maxName is the maximum length of a string value, in bytes.
const maxName = 128

// bounded returns valid UTF-8 of at most maxName bytes.
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
