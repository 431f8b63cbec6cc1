package rawjson

// peek skips white space and returns the next byte, or 0 at the end and after an error. A
// NUL in the input is also returned as 0; it is invalid everywhere.
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

// skipFlat consumes a value that is not a container.
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

// skipDeep consumes an object or array. It uses one bit per open container, set for
// objects, instead of recursion, so a hostile line cannot overflow the stack.
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
		for { // Advance to the next value, leaving the containers that end here.
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

// skipName is Member without decoding the name.
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

// number consumes the number at pos.
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

// digits skips one or more digits from i on; it returns -1 if there is none.
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
		r.fail(i, "a number lacks a digit")
	}
	return -1
}

// literal consumes the given word at pos.
func (r *Reader) literal(word string) bool {
	for i := range len(word) {
		if r.pos+i >= len(r.data) {
			r.short(word)
			return false
		}
		if r.data[r.pos+i] != word[i] {
			r.fail(r.pos+i, "invalid literal")
			return false
		}
	}
	r.pos += len(word)
	return true
}

// unexpected records that something else was expected at pos.
func (r *Reader) unexpected(want string) {
	if r.err == nil {
		r.err = &SyntaxError{Offset: r.pos, Short: r.pos >= len(r.data), want: want}
	}
}

// short records that the input ended within something.
func (r *Reader) short(within string) {
	if r.err == nil {
		r.err = &SyntaxError{Offset: len(r.data), Short: true, within: within}
	}
}

// fail records an error at an offset.
func (r *Reader) fail(at int, what string) {
	if r.err == nil {
		r.err = &SyntaxError{Offset: at, what: what}
	}
}
