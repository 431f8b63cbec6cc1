// Package rawjson is JSON as the bytes that stand there: it is read field by field,
// in one pass, without building what nobody asked for.
//
// A [Reader] walks over one JSON value. It is strict: every byte it walks over
// is checked, whether the value is decoded, captured raw or skipped, so a line
// that was read to its end is JSON. It is exact: keys match in their own case,
// numbers can be had as the bytes that stand there. It is patient with text:
// what is JSON but cannot be Go text (invalid UTF-8, half a surrogate pair,
// NUL) reads as U+FFFD and sets [Reader.Cleaned].
//
// The package also writes strings as JavaScript's JSON.stringify does
// ([AppendString]), makes raw values fit to be written ([Clean],
// [AppendValue]) and saves what is whole from a damaged line ([Split]). It
// knows nothing of sessions.
package rawjson

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is how deep objects and arrays may be nested.
const MaxDepth = 512

// Kind is the kind of a JSON value.
type Kind byte

// The kinds of values. None is what Reader.Kind tells at the end of the input
// and where no value can begin.
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
// After Member or Element the value must be consumed: by the method for its
// kind, by Raw or by Skip. A method that asks for another kind than the value
// is of returns false and leaves the value there. The first error stays: from
// then on every method returns false or nothing, and Err and End tell it.
//
// A Reader is a plain value. A copy of it is a bookmark: assigning it back
// returns to the place, in whatever container that was.
type Reader struct {
	data []byte
	// text is data as a string if strings may be cut from it.
	text string
	key  []byte
	// keyAt is where key stands in data, -1 if it had to be decoded.
	keyAt int
	pos   int
	depth int
	// first is set between the opening of a container and its first member.
	first bool
	err   *SyntaxError
	// Cleaned is set when a string or key had something in it that had to be
	// replaced by U+FFFD. Skipped and raw values do not count.
	Cleaned bool
}

// New makes a reader of data. The strings it returns are copies.
func New(data []byte) Reader { return Reader{data: data} }

// NewShared makes a reader of data that copies data as a whole and cuts strings
// without escapes from the copy: fewer allocations, but any one of the strings
// keeps all of the copy alive. For short lines of which most is kept.
func NewShared(data []byte) Reader { return Reader{data: data, text: string(data)} }

// SyntaxError says where the input stops being JSON.
type SyntaxError struct {
	// Offset is the place of the first byte that cannot be.
	Offset int
	// Short is set if the input ended too early and was right so far.
	Short bool
	// One of them says what is wrong. They are put into words only when asked
	// for: Split fails a lot, on purpose.
	what, want, within string
}

// What says what is wrong.
func (e *SyntaxError) What() string {
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

// Error says what is wrong and where.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.What(), e.Offset) }

// Err returns the first error.
func (r *Reader) Err() error {
	if r.err == nil {
		return nil // not a nil *SyntaxError in an interface
	}
	return r.err
}

// Offset is the place in the input that the reader has come to.
func (r *Reader) Offset() int { return r.pos }

// End checks that nothing but white space follows and returns the first error.
func (r *Reader) End() error {
	if r.err == nil {
		r.space()
		if r.pos < len(r.data) {
			r.fail(r.pos, "something follows the value")
		}
	}
	return r.Err()
}

// Kind tells the kind of the next value without consuming it.
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

// Object opens an object. Go on with Member until it returns false.
func (r *Reader) Object() bool { return r.open('{') }

// Array opens an array. Go on with Element until it returns false.
func (r *Reader) Array() bool { return r.open('[') }

func (r *Reader) open(bracket byte) bool {
	if r.peek() != bracket {
		return false
	}
	if r.depth++; r.depth > MaxDepth {
		r.fail(r.pos, "it is nested too deep")
		return false
	}
	r.pos++
	r.first = true
	return true
}

// Member goes on to the next member of the object that was opened last: its
// name is then in Key and its value comes next. At the end of the object it
// closes it and returns false.
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

// Element goes on to the next element of the array that was opened last. At
// the end of the array it closes it and returns false.
func (r *Reader) Element() bool { return r.next(']') }

// next steps over the comma before a member or element, or over the bracket
// that closes the container.
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

// Key is the name of the current member. It is valid until the next call of
// Member and must not be changed.
func (r *Reader) Key() []byte { return r.key }

// KeyText is the name of the current member, to keep.
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

// Int consumes a number that is written as a whole number and fits.
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

// Float consumes a number that a float64 can hold.
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

// Raw consumes a value of any kind and returns the bytes that it is written
// with: a part of the input, to be copied by those who keep it. It is nil if
// there is an error.
func (r *Reader) Raw() []byte {
	r.space()
	start := r.pos
	if r.Skip(); r.err != nil {
		return nil
	}
	return r.data[start:r.pos:r.pos]
}

// Lookahead returns the text of the first member with that name of the object that
// comes next, empty if there is none or it is no text. The reader stays where it is.
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

// Valid checks that line is one JSON object and nothing else but white space.
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
