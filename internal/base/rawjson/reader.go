// Package rawjson reads raw JSON field by field, in one pass, without building values that
// are not needed.
//
// A [Reader] walks over one JSON value. It is strict: every byte is checked, whether the
// value is decoded, captured raw or skipped, so a line that was read to its end is valid
// JSON. It is exact: keys match case-sensitively, and numbers are available as their raw
// bytes. It is lenient with text: valid JSON that cannot be Go text (invalid UTF-8,
// unpaired surrogates, NUL) is read as U+FFFD and sets [Reader.Cleaned].
//
// The package also writes strings as JavaScript's JSON.stringify does ([AppendString]),
// sanitizes raw values ([Clean], [AppendValue]) and recovers the intact objects of a
// damaged line ([Split]). It does not depend on sessions.
package rawjson

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is the maximum nesting depth of objects and arrays.
const MaxDepth = 512

// Kind is the kind of a JSON value.
type Kind byte

// The kinds of values. Reader.Kind returns None at the end of the input and where no value
// can begin.
const (
	None   Kind = 0
	Object Kind = '{'
	Array  Kind = '['
	String Kind = '"'
	Number Kind = '0'
	Bool   Kind = 't'
	Null   Kind = 'n'
)

// Reader walks over one JSON value:
//
//	r := rawjson.New(line)
//	if r.Object() {
//		for r.Member() {
//			switch string(r.Key()) {
//			case "id":
//				id, ok = r.Text()
//			default:
//				r.Skip()
//			}
//		}
//	}
//	err := r.End()
//
// After Member or Element, the value must be consumed by the method for its kind, by Raw or
// by Skip. A method for another kind returns false and does not consume the value. The
// first error is sticky: from then on every method returns false or a zero value, and Err
// and End return the error.
//
// A Reader is a plain value. A copy is a bookmark: assigning it back returns to its
// position, in any container.
type Reader struct {
	data []byte
	// text is data as a string if strings may be sliced from it.
	text string
	key  []byte
	// keyAt is the offset of key in data, -1 if it had to be decoded.
	keyAt int
	pos   int
	depth int
	// first is set between the opening of a container and its first member.
	first bool
	err   *SyntaxError
	// Cleaned is set when part of a string or key was replaced by U+FFFD. Skipped and raw
	// values do not count.
	Cleaned bool
}

// New returns a reader of data. The strings that it returns are copies.
func New(data []byte) Reader { return Reader{data: data} }

// NewShared returns a reader that copies data as a whole and slices strings without escapes
// from the copy. This saves allocations, but each string keeps the whole copy alive. Use it
// for short lines of which most is kept.
func NewShared(data []byte) Reader { return Reader{data: data, text: string(data)} }

// SyntaxError describes invalid JSON.
type SyntaxError struct {
	// Offset is the offset of the first invalid byte.
	Offset int
	// Short is set if the input ended early and was valid so far.
	Short bool
	// One of them describes the error. The message is formatted only on demand, because
	// Split fails often by design.
	what, want, within string
}

// Reason returns a description of the error without its offset.
func (e *SyntaxError) Reason() string {
	switch {
	case e.within != "":
		return "it ends within " + e.within
	case e.Short:
		return "it ends before " + e.want
	case e.want != "":
		return e.want + " is missing"
	}
	return e.what
}

// Error returns a description of the error with its offset.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Reason(), e.Offset) }

// Err returns the first error.
func (r *Reader) Err() error {
	if r.err == nil {
		return nil // not a nil *SyntaxError in an interface
	}
	return r.err
}

// Offset returns the current offset in the input.
func (r *Reader) Offset() int { return r.pos }

// End checks that only white space follows and returns the first error.
func (r *Reader) End() error {
	if r.err == nil {
		r.space()
		if r.pos < len(r.data) {
			r.fail(r.pos, "trailing data after the value")
		}
	}
	return r.Err()
}

// Kind returns the kind of the next value without consuming it.
func (r *Reader) Kind() Kind {
	switch c := r.peek(); c {
	case '{', '[', '"', 'n', 't':
		return Kind(c)
	case 'f':
		return Bool
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return Number
	}
	return None
}

// Object opens an object. Call Member next, until it returns false.
func (r *Reader) Object() bool { return r.open('{') }

// Array opens an array. Call Element next, until it returns false.
func (r *Reader) Array() bool { return r.open('[') }

func (r *Reader) open(bracket byte) bool {
	if r.peek() != bracket {
		return false
	}
	if r.depth++; r.depth > MaxDepth {
		r.fail(r.pos, "nested too deeply")
		return false
	}
	r.pos++
	r.first = true
	return true
}

// Member advances to the next member of the innermost open object: Key returns its name,
// and its value is next. At the end of the object it closes the object and returns false.
func (r *Reader) Member() bool {
	if !r.next('}') {
		return false
	}
	if r.peek() != '"' {
		r.unexpected("a name")
		return false
	}
	start := r.pos + 1
	escaped, ok := r.scanText()
	if !ok {
		return false
	}
	r.key, r.keyAt = r.data[start:r.pos-1], start
	if escaped || !utf8.Valid(r.key) {
		key, _ := r.decode(start, r.pos-1)
		r.key, r.keyAt = []byte(key), -1
	}
	if r.peek() != ':' {
		r.unexpected("a colon")
		return false
	}
	r.pos++
	return true
}

// Element advances to the next element of the innermost open array. At the end of the array
// it closes the array and returns false.
func (r *Reader) Element() bool { return r.next(']') }

// next consumes the comma before a member or element, or the bracket that closes the
// container.
func (r *Reader) next(closing byte) bool {
	c := r.peek()
	switch {
	case c == closing:
		r.pos++
		r.depth--
		r.first = false
		return false
	case r.first:
		r.first = false
		return r.err == nil
	case c == ',':
		r.pos++
		return true
	}
	if closing == '}' {
		r.unexpected("a comma or the end of the object")
	} else {
		r.unexpected("a comma or the end of the array")
	}
	return false
}

// Key returns the name of the current member. It is valid until the next call of Member and
// must not be modified.
func (r *Reader) Key() []byte { return r.key }

// KeyText returns the name of the current member as a string.
func (r *Reader) KeyText() string {
	if r.text != "" && r.keyAt >= 0 {
		return r.text[r.keyAt : r.keyAt+len(r.key)]
	}
	return string(r.key)
}

// Null consumes a null.
func (r *Reader) Null() bool { return r.peek() == 'n' && r.literal("null") }

// Bool consumes true or false.
func (r *Reader) Bool() (value, ok bool) {
	switch r.peek() {
	case 't':
		return true, r.literal("true")
	case 'f':
		return false, r.literal("false")
	}
	return false, false
}

// Int consumes a number that is written as an integer and fits into an int64.
func (r *Reader) Int() (int64, bool) {
	if r.Kind() != Number {
		return 0, false
	}
	start := r.pos
	if !r.number() {
		return 0, false
	}
	n, err := strconv.ParseInt(string(r.data[start:r.pos]), 10, 64)
	if err != nil {
		r.pos = start
		return 0, false
	}
	return n, true
}

// Float consumes a number that fits into a float64.
func (r *Reader) Float() (float64, bool) {
	if r.Kind() != Number {
		return 0, false
	}
	start := r.pos
	if !r.number() {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(r.data[start:r.pos]), 64)
	if err != nil {
		r.pos = start
		return 0, false
	}
	return f, true
}

// Raw consumes a value of any kind and returns its raw bytes, a slice of the input that
// must be copied to be kept. It returns nil on error.
func (r *Reader) Raw() []byte {
	r.space()
	start := r.pos
	if r.Skip(); r.err != nil {
		return nil
	}
	return r.data[start:r.pos:r.pos]
}

// Lookahead returns the text of the first member with the given name in the next object, or
// "" if there is none or it is not a string. It does not consume anything.
func (r Reader) Lookahead(name string) string {
	if !r.Object() {
		return ""
	}
	for r.Member() {
		if string(r.Key()) == name {
			text, _ := r.Text()
			return text
		}
		r.Skip()
	}
	return ""
}

// Valid checks that line is one JSON object, surrounded only by white space.
func Valid(line []byte) error {
	r := New(line)
	if r.peek() != '{' {
		r.unexpected("an object")
		return r.Err()
	}
	r.Skip()
	return r.End()
}

// IsBlank reports whether line is only white space.
func IsBlank(line []byte) bool { return len(bytes.TrimLeft(line, " \t\r\n")) == 0 }
