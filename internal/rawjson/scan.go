package rawjson

import (
	"encoding/binary"
	"math/bits"
)

// peek steps over white space and returns the next byte, or 0 at the end and
// after an error. A NUL in the input reads as 0 too; it fits nowhere either.
func (r *Reader) peek() byte {
	if r.pos < len(r.data) && r.data[r.pos] > ' ' && r.err == nil {
		return r.data[r.pos]
	}
	if r.err != nil {
		return 0
	}
	r.space()
	if r.pos < len(r.data) {
		return r.data[r.pos]
	}
	return 0
}

func (r *Reader) space() {
	for r.pos < len(r.data) {
		switch r.data[r.pos] {
		case ' ', '\t', '\r', '\n':
			r.pos++
		default:
			return
		}
	}
}

// Skip consumes a value of any kind. It checks the value as if it were decoded.
func (r *Reader) Skip() {
	switch r.peek() {
	case '{', '[':
		r.skipDeep()
	default:
		r.skipFlat()
	}
}

// skipFlat consumes a value that is no container.
func (r *Reader) skipFlat() {
	switch c := r.peek(); {
	case c == '"':
		r.scanText()
	case c == '-' || c >= '0' && c <= '9':
		r.number()
	case c == 't':
		r.literal("true")
	case c == 'f':
		r.literal("false")
	case c == 'n':
		r.literal("null")
	default:
		r.unexpected("a value")
	}
}

// skipDeep consumes an object or array. It keeps a bit for each open
// container, set for objects, and not a call: a hostile line cannot blow the stack.
func (r *Reader) skipDeep() {
	var objects [MaxDepth/64 + 1]uint64
	outside := r.depth
	for r.err == nil {
		switch c := r.peek(); c {
		case '{', '[':
			if !r.open(c) {
				return
			}
			if c == '{' {
				objects[r.depth/64] |= 1 << (r.depth % 64)
			} else {
				objects[r.depth/64] &^= 1 << (r.depth % 64)
			}
		default:
			r.skipFlat()
		}
		for { // to the next value, out of the containers that end here
			if r.depth == outside {
				return
			}
			if objects[r.depth/64]>>(r.depth%64)&1 == 1 {
				if r.skipName() {
					break
				}
			} else if r.Element() {
				break
			}
			if r.err != nil {
				return
			}
		}
	}
}

// skipName is Member without the name.
func (r *Reader) skipName() bool {
	if !r.next('}') {
		return false
	}
	if r.peek() != '"' {
		r.unexpected("a name")
		return false
	}
	if _, ok := r.scanText(); !ok {
		return false
	}
	if r.peek() != ':' {
		r.unexpected("a colon")
		return false
	}
	r.pos++
	return true
}

// scanText consumes the string that begins at pos and reports whether it has
// escapes in it. The inner loop looks at eight bytes in one step and deals with
// what is common; the rest of the outer one with what is not.
func (r *Reader) scanText() (escaped, ok bool) {
	data := r.data
	i := r.pos + 1
	for {
		for i+8 <= len(data) {
			m := special(binary.LittleEndian.Uint64(data[i:]))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
			if data[i] == '"' {
				r.pos = i + 1
				return escaped, true
			}
			if data[i] != '\\' || i+1 >= len(data) || simple[data[i+1]] == 0 {
				break
			}
			escaped = true
			i += 2
		}
		i = plain(data, i)
		if i >= len(data) {
			r.short("a string")
			return false, false
		}
		if data[i] == '"' {
			r.pos = i + 1
			return escaped, true
		}
		if data[i] != '\\' {
			r.fail(i, "a control character is within a string")
			return false, false
		}
		n := escapeLen(data[i:])
		if n == 0 {
			r.badEscape(i)
			return false, false
		}
		escaped = true
		i += n
	}
}

// badEscape tells which byte of the escape at i is wrong.
func (r *Reader) badEscape(i int) {
	for n := i + 1; n < len(r.data); n++ {
		c := r.data[n]
		if n == i+1 && c == 'u' || n > i+1 && hexDigit(c) < 16 {
			continue
		}
		r.fail(n, "an escape is not one of JSON's")
		return
	}
	r.short("an escape")
}

// simple maps the letter of a two-byte escape to what it stands for.
var simple = [256]byte{'n': '\n', '"': '"', '\\': '\\', 't': '\t', 'r': '\r', '/': '/', 'b': '\b', 'f': '\f'}

// escapeLen is the length of the escape at the beginning of s, 0 if it is none.
func escapeLen(s []byte) int {
	if len(s) < 2 {
		return 0
	}
	if simple[s[1]] != 0 {
		return 2
	}
	if s[1] == 'u' && len(s) >= 6 && hexDigit(s[2])|hexDigit(s[3])|hexDigit(s[4])|hexDigit(s[5]) < 16 {
		return 6
	}
	return 0
}

// hexDigit is the worth of a hexadecimal digit; 16 or more for other bytes.
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

// special marks, among the 8 bytes of w, those that end a plain run within a
// string: quote, backslash, control characters. The lowest mark is right;
// higher ones may be wrong, because a borrow runs upwards.
func special(w uint64) uint64 {
	quote := w ^ lows*'"'
	slash := w ^ lows*'\\'
	return ((quote-lows)&^quote | (slash-lows)&^slash | (w-lows*' ')&^w) & highs
}

// plain returns the place of the first byte from i on that ends a plain run
// within a string, or len(s). Eight bytes are looked at in one step.
func plain(s []byte, i int) int {
	for i+8 <= len(s) {
		if m := special(binary.LittleEndian.Uint64(s[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(s) && s[i] >= ' ' && s[i] != '"' && s[i] != '\\' {
		i++
	}
	return i
}

// number consumes the number that begins at pos.
func (r *Reader) number() bool {
	i := r.pos
	if r.data[i] == '-' {
		i++
	}
	if i < len(r.data) && r.data[i] == '0' {
		i++
	} else if i = r.digits(i); i < 0 {
		return false
	}
	if i < len(r.data) && r.data[i] == '.' {
		if i = r.digits(i + 1); i < 0 {
			return false
		}
	}
	if i < len(r.data) && r.data[i]|0x20 == 'e' {
		i++
		if i < len(r.data) && (r.data[i] == '+' || r.data[i] == '-') {
			i++
		}
		if i = r.digits(i); i < 0 {
			return false
		}
	}
	r.pos = i
	return true
}

// digits steps over one digit or more from i on; -1 if there is none.
func (r *Reader) digits(i int) int {
	start := i
	for i < len(r.data) && r.data[i] >= '0' && r.data[i] <= '9' {
		i++
	}
	if i > start {
		return i
	}
	if i >= len(r.data) {
		r.short("a number")
	} else {
		r.fail(i, "a digit is missing in a number")
	}
	return -1
}

// literal consumes the word that must stand at pos.
func (r *Reader) literal(word string) bool {
	for i := range len(word) {
		if r.pos+i >= len(r.data) {
			r.short(word)
			return false
		}
		if r.data[r.pos+i] != word[i] {
			r.fail(r.pos+i, "a word is not one of JSON's")
			return false
		}
	}
	r.pos += len(word)
	return true
}

// unexpected notes that something else was wanted at pos.
func (r *Reader) unexpected(want string) {
	if r.err == nil {
		r.err = &SyntaxError{Offset: r.pos, Short: r.pos >= len(r.data), want: want}
	}
}

// short notes that the input ended within something.
func (r *Reader) short(within string) {
	if r.err == nil {
		r.err = &SyntaxError{Offset: len(r.data), Short: true, within: within}
	}
}

// fail notes what is wrong with the byte at that place.
func (r *Reader) fail(at int, what string) {
	if r.err == nil {
		r.err = &SyntaxError{Offset: at, what: what}
	}
}
