package rawjson

import (
	"bytes"
	"unicode/utf8"
)

// Clean sanitizes a raw value, as returned by [Reader.Raw], for other JSON readers: invalid
// UTF-8 and escapes for NUL and unpaired surrogates become \ufffd. If nothing needs to be
// replaced, it returns raw itself.
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

// nextBad returns the offset of the next escape or byte that Clean replaces, or len(raw).
// The value was checked before, so every backslash starts a complete escape.
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

// firstInvalid returns the offset of the first byte that is not UTF-8, or -1.
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
