package rawjson

import (
	"bytes"
	"math/bits"
	"unicode/utf8"
)

// AppendString appends s as a JSON string, byte for byte as JSON.stringify writes it: with
// the short escapes and \u00xx for control characters, and no other escapes except quote
// and backslash. Invalid UTF-8 and NUL are written as U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	if utf8.ValidString(s) {
		dst = appendValid(dst, s)
	} else {
		dst = appendInvalid(dst, s)
	}
	return append(dst, '"')
}

// appendValid appends valid UTF-8 text in runs between escapes.
func appendValid(dst []byte, s string) []byte {
	for {
		i := plainString(s)
		dst = append(dst, s[:i]...)
		if i == len(s) {
			return dst
		}
		dst = appendEscape(dst, s[i])
		s = s[i+1:]
	}
}

// appendInvalid is appendValid with U+FFFD for each byte that is not UTF-8.
func appendInvalid(dst []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRuneInString(s[i:])
		if c == utf8.RuneError && size == 1 {
			dst = appendValid(dst, s[from:i])
			dst = utf8.AppendRune(dst, utf8.RuneError)
			from = i + 1
		}
		i += size
	}
	return appendValid(dst, s[from:])
}

// plainString is plain for a string.
func plainString(s string) int {
	i := 0
	for i+8 <= len(s) {
		b := s[i : i+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		if m := special(w); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(s) && s[i] >= ' ' && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\t':
		return append(dst, '\\', 't')
	case '\r':
		return append(dst, '\\', 'r')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case 0:
		return utf8.AppendRune(dst, utf8.RuneError)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// CleanCopy returns a copy of a raw value, cleaned as by [Clean].
func CleanCopy(raw []byte) []byte {
	if clean, changed := Clean(raw); changed {
		return clean
	}
	return bytes.Clone(raw)
}

// CleanLine returns a copy of a raw value, cleaned and on one line as by [AppendValue]. It
// returns nil if raw is not one JSON value.
func CleanLine(raw []byte) []byte {
	line, err := AppendValue(nil, raw)
	if err != nil {
		return nil
	}
	return line
}

// AppendValue appends a raw JSON value unchanged, except that it is cleaned (see [Clean])
// and written on one line: line feeds between tokens are dropped. If raw is not one JSON
// value, it appends nothing and returns an error.
func AppendValue(dst, raw []byte) ([]byte, error) {
	r := New(raw)
	r.Skip()
	if err := r.End(); err != nil {
		return dst, err
	}
	raw, _ = Clean(raw)
	for { // Strings contain no raw line feeds, or Skip would have failed.
		i := bytes.IndexByte(raw, '\n')
		if i < 0 {
			return append(dst, raw...), nil
		}
		dst = append(dst, raw[:i]...)
		raw = raw[i+1:]
	}
}
