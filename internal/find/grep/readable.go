package grep

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Readable returns a line of JSON with its escapes decoded, so that expressions match the
// original text. Invalid escapes are kept unchanged.
func Readable(line []byte) []byte {
	line = bytes.TrimRight(line, "\r\n")
	i := bytes.IndexByte(line, '\\')
	if i < 0 {
		return line
	}
	out := append(make([]byte, 0, len(line)), line[:i]...)
	for i < len(line) {
		c := line[i]
		if c != '\\' || i+1 == len(line) {
			out = append(out, c)
			i++
			continue
		}
		plain, ok := escapes[line[i+1]]
		switch {
		case ok:
			out = append(out, plain)
			i += 2
		case line[i+1] == 'u':
			r, n := unicodeEscape(line[i:])
			if n == 0 {
				out = append(out, c)
				i++
				continue
			}
			out = utf8.AppendRune(out, r)
			i += n
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unicodeEscape decodes a \u escape, or a surrogate pair of two, and returns its length in
// bytes; 0 if there is none.
func unicodeEscape(b []byte) (rune, int) {
	r, ok := hex4(b)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := hex4(b[6:]); ok {
		if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
			return both, 12
		}
	}
	return utf8.RuneError, 6
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}
