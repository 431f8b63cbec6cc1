package rawjson

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// Bytes consumes a string and returns its text. The text may be a slice of the input, so it
// must be copied to be kept, and must not be modified.
func (r *Reader) Bytes() (text []byte, ok bool) {
	if r.peek() != '"' {
		return nil, false
	}
	start := r.pos + 1
	escaped, ok := r.scanText()
	if !ok {
		return nil, false
	}
	text = r.data[start : r.pos-1]
	if escaped || !utf8.Valid(text) {
		s, _ := r.decode(start, r.pos-1)
		return []byte(s), true
	}
	return text, true
}

// Text consumes a string and returns its text.
func (r *Reader) Text() (string, bool) {
	if r.peek() != '"' {
		return "", false
	}
	start := r.pos + 1
	i, closed := r.shortText()
	if !closed {
		end := closingQuote(r.data, i)
		if end < len(r.data) && bytes.IndexByte(r.data[i:end], '\\') >= 0 {
			return r.decode(start, end)
		}
		if _, ok := r.longText(i); !ok {
			return "", false
		}
	}
	text := r.data[start : r.pos-1]
	if !utf8.Valid(text) {
		r.Cleaned = true
		return cleanText(text), true
	}
	if r.text != "" {
		return r.text[start : r.pos-1], true
	}
	return string(text), true
}

// scanText consumes the string at pos and reports whether it contains escapes.
func (r *Reader) scanText() (escaped, ok bool) {
	i, closed := r.shortText()
	if closed {
		return false, true
	}
	return r.longText(i)
}

// shortText consumes the string at pos if it is short and has no escapes, like most strings
// other than message text. Otherwise it consumes nothing and returns the offset from which
// the string must be scanned.
func (r *Reader) shortText() (i int, closed bool) {
	const words = 5 // enough for an ID or a time
	data := r.data
	i = r.pos + 1
	for n := 0; n < words && i+8 <= len(data); n++ {
		m := special(binary.LittleEndian.Uint64(data[i:]))
		if m == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(m) >> 3
		if data[i] == '"' {
			r.pos = i + 1
			return i, true
		}
		return i, false
	}
	return i, false
}

// longText consumes the rest of a string whose bytes before i are plain. It finds the end
// first and then checks the content: several simple passes are faster than one that does
// everything.
func (r *Reader) longText(i int) (escaped, ok bool) {
	end := closingQuote(r.data, i)
	escaped, fault := checkText(r.data[:end], i)
	switch {
	case fault < end && r.data[fault] == '\\':
		r.badEscape(fault)
	case fault < end:
		r.fail(fault, "control character in a string")
	case end == len(r.data):
		r.short("a string")
	default:
		r.pos = end + 1
		return escaped, true
	}
	return false, false
}

// closingQuote returns the offset of the first unescaped quote from i on, or len(data).
func closingQuote(data []byte, i int) int {
	for end := i; ; end++ {
		next := bytes.IndexByte(data[end:], '"')
		if next < 0 {
			return len(data)
		}
		end += next
		slashes := 0
		for end-slashes > i && data[end-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end
		}
	}
}

// checkText returns the offset of the first control character or invalid escape within a
// string from i on, or len(s), and whether there are escapes. It processes 64 bytes per
// step: with many escapes at random distances, that is one branch misprediction per 64
// bytes instead of one per escape.
func checkText(s []byte, i int) (escaped bool, fault int) {
	next := i // end of the last escape
	for ; i+64 <= len(s); i += 64 {
		slashes, control := slashMask(s[i : i+64])
		if control {
			break
		}
		if next > i {
			slashes &= math.MaxUint64 << (next - i)
		}
		for slashes != 0 {
			bit := bits.TrailingZeros64(slashes)
			n := 2
			if at := i + bit; at+1 >= len(s) || simpleEscapes[s[at+1]] == 0 {
				if n = escapeLen(s[at:]); n == 0 {
					return true, at
				}
			}
			escaped = true
			next = i + bit + n
			slashes &= math.MaxUint64 << bit << n
		}
	}
	for i = max(i, next); i < len(s) && s[i] >= ' '; i++ {
		if s[i] == '\\' {
			n := escapeLen(s[i:])
			if n == 0 {
				return true, i
			}
			escaped = true
			i += n - 1
		}
	}
	return escaped, min(i, len(s))
}

// slashMask returns a bit for each backslash among 64 bytes, and whether there are control
// characters.
func slashMask(s []byte) (mask uint64, control bool) {
	_ = s[63]
	var low uint64
	for k := 0; k < 64; k += 16 {
		v, w := binary.LittleEndian.Uint64(s[k:]), binary.LittleEndian.Uint64(s[k+8:])
		low |= (v-lows*' ')&^v | (w-lows*' ')&^w
		mask |= (zeros(v^lows*'\\')*gather>>56 | zeros(w^lows*'\\')*gather>>56<<8) << k
	}
	return mask, low&highs != 0
}

// gather moves the high bits of 8 bytes into the highest byte.
const gather = 0x0002040810204081

// zeros returns 0x80 in each byte of x that is 0, and 0 in the others.
func zeros(x uint64) uint64 {
	const sevens = lows * 0x7f
	return ^(x&sevens + sevens | x | sevens)
}

// badEscape reports the invalid byte of the escape at i.
func (r *Reader) badEscape(i int) {
	for n := i + 1; n < len(r.data); n++ {
		c := r.data[n]
		if n == i+1 && c == 'u' || n > i+1 && hexDigit(c) < 16 {
			continue
		}
		r.fail(n, "invalid escape sequence")
		return
	}
	r.short("an escape")
}

// decode consumes the string between two quotes, checks it and returns its text.
func (r *Reader) decode(start, end int) (string, bool) {
	src := r.data[start:end]
	buf := make([]byte, len(src)+8) // The text is never longer than its source, but is written in 8-byte words.
	i, j := 0, 0
	for i < len(src) {
		if i+8 <= len(src) {
			w := binary.LittleEndian.Uint64(src[i:])
			binary.LittleEndian.PutUint64(buf[j:], w)
			m := special(w)
			if m == 0 {
				i, j = i+8, j+8
				continue
			}
			n := bits.TrailingZeros64(m) >> 3
			i, j = i+n, j+n
		}
		switch c := src[i]; {
		case c != '\\' && c >= ' ':
			buf[j] = c
			i, j = i+1, j+1
		case c == '\\' && i+1 < len(src) && simpleEscapes[src[i+1]] != 0:
			buf[j] = simpleEscapes[src[i+1]]
			i, j = i+2, j+1
		case c == '\\' && escapeLen(src[i:]) == 6:
			char, size, ok := unicodeEscape(src[i:])
			r.Cleaned = r.Cleaned || !ok
			i, j = i+size, j+utf8.EncodeRune(buf[j:], char)
		default:
			_, ok := r.longText(start) // longText reports the error
			return "", ok
		}
	}
	r.pos = end + 1
	if !utf8.Valid(buf[:j]) {
		r.Cleaned = true
		return cleanText(buf[:j]), true
	}
	return unsafe.String(unsafe.SliceData(buf), j), true // buf is not shared
}

// cleanText returns text with U+FFFD for each byte that is not UTF-8.
func cleanText(s []byte) string {
	var b strings.Builder
	b.Grow(len(s) + 8)
	for len(s) > 0 {
		c, size := utf8.DecodeRune(s)
		b.WriteRune(c)
		s = s[size:]
	}
	return b.String()
}

// simpleEscapes maps the letter of a two-byte escape to its character.
var simpleEscapes = [256]byte{'n': '\n', '"': '"', '\\': '\\', 't': '\t', 'r': '\r', '/': '/', 'b': '\b', 'f': '\f'}

// escapeLen returns the length of the escape at the start of s, 0 if it is invalid.
func escapeLen(s []byte) int {
	if len(s) < 2 {
		return 0
	}
	if simpleEscapes[s[1]] != 0 {
		return 2
	}
	if s[1] == 'u' && len(s) >= 6 && hexDigit(s[2])|hexDigit(s[3])|hexDigit(s[4])|hexDigit(s[5]) < 16 {
		return 6
	}
	return 0
}

// unicodeEscape decodes the \u escape at the start of s, and the following one if they are
// a surrogate pair. ok is false, and c is U+FFFD, for NUL and unpaired surrogates, which Go
// text cannot hold.
func unicodeEscape(s []byte) (c rune, size int, ok bool) {
	c = unit(s)
	if c == 0 {
		return utf8.RuneError, 6, false
	}
	if !utf16.IsSurrogate(c) {
		return c, 6, true
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if c = utf16.DecodeRune(c, unit(s[6:])); c != utf8.RuneError {
			return c, 12, true
		}
	}
	return utf8.RuneError, 6, false
}

// unit decodes the four digits of a \u escape.
func unit(s []byte) rune {
	return rune(hexDigit(s[2]))<<12 | rune(hexDigit(s[3]))<<8 | rune(hexDigit(s[4]))<<4 | rune(hexDigit(s[5]))
}

// hexDigit returns the value of a hexadecimal digit; 16 or more for other bytes.
func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 0xf0
}

const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks, among the 8 bytes of w, those that end a plain run within a string: quote,
// backslash, control characters. The lowest mark is exact; higher ones may be false because
// borrows propagate upward.
func special(w uint64) uint64 {
	quote := w ^ lows*'"'
	slash := w ^ lows*'\\'
	return ((quote-lows)&^quote | (slash-lows)&^slash | (w-lows*' ')&^w) & highs
}
