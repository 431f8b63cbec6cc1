package rawjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape returns the text of a string that was checked before, given as the
// bytes between its quotes.
func (r *Reader) unescape(s []byte) string {
	var b strings.Builder
	b.Grow(len(s))
	valid := utf8.Valid(s)
	for from := 0; ; {
		i := backslash(s, from)
		if valid {
			b.Write(s[from:i])
		} else {
			r.writeInvalid(&b, s[from:i])
		}
		if i == len(s) {
			return b.String()
		}
		if c := simple[s[i+1]]; c != 0 {
			b.WriteByte(c)
			from = i + 2
			continue
		}
		c, size, ok := unicodeEscape(s[i:])
		if !ok {
			r.Cleaned = true
		}
		b.WriteRune(c)
		from = i + size
	}
}

// backslash returns the place of the next backslash from i on, or len(s). In
// text they stand so close that setting up bytes.IndexByte costs more.
func backslash(s []byte, i int) int {
	for i+8 <= len(s) {
		x := binary.LittleEndian.Uint64(s[i:]) ^ lows*'\\'
		if m := (x - lows) &^ x & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(s) && s[i] != '\\' {
		i++
	}
	return i
}

// writeInvalid adds bytes without escapes, with U+FFFD for each byte that is
// not UTF-8.
func (r *Reader) writeInvalid(b *strings.Builder, s []byte) {
	for len(s) > 0 {
		c, size := utf8.DecodeRune(s)
		if c == utf8.RuneError && size == 1 {
			r.Cleaned = true
		}
		b.WriteRune(c)
		s = s[size:]
	}
}

// unicodeEscape reads the \u escape at the beginning of s, and the one after
// it if the two are a surrogate pair. It is not ok, and U+FFFD, if it stands
// for NUL or half a pair, which cannot be kept in Go text.
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

// unit reads the four digits of a \u escape.
func unit(s []byte) rune {
	return rune(hexDigit(s[2]))<<12 | rune(hexDigit(s[3]))<<8 | rune(hexDigit(s[4]))<<4 | rune(hexDigit(s[5]))
}

// Clean makes a raw value, as [Reader.Raw] returns it, fit for every reader of
// JSON: invalid UTF-8, escapes for NUL and for half a surrogate pair become
// \ufffd. If there is nothing to do it returns raw itself.
func Clean(raw []byte) (clean []byte, changed bool) {
	valid := utf8.Valid(raw)
	at := nextBad(raw, 0, valid)
	if at == len(raw) {
		return raw, false
	}
	clean = make([]byte, 0, len(raw)+16)
	from := 0
	for at < len(raw) {
		clean = append(clean, raw[from:at]...)
		clean = append(clean, `\ufffd`...)
		if raw[at] == '\\' {
			from = at + 6
		} else {
			from = at + 1
		}
		at = nextBad(raw, from, valid)
	}
	return append(clean, raw[from:]...), true
}

// nextBad returns the place of the next escape or byte that Clean replaces, or
// len(raw). The value was checked before, so backslashes begin whole escapes.
func nextBad(raw []byte, i int, valid bool) int {
	for i < len(raw) {
		run := bytes.IndexByte(raw[i:], '\\')
		if run < 0 {
			run = len(raw) - i
		}
		if !valid {
			if bad := firstInvalid(raw[i : i+run]); bad >= 0 {
				return i + bad
			}
		}
		if i += run; i+1 >= len(raw) {
			break
		}
		if raw[i+1] != 'u' || len(raw)-i < 6 {
			i += 2
			continue
		}
		_, size, ok := unicodeEscape(raw[i:])
		if !ok {
			return i
		}
		i += size
	}
	return len(raw)
}

// firstInvalid returns the place of the first byte that is not UTF-8, or -1.
func firstInvalid(s []byte) int {
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRune(s[i:])
		if c == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}
