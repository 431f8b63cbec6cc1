package route

import (
	"fmt"
	"strings"

	"firn.dev"
)

// maxName is the maximum length of a path element in bytes.
const maxName = 200

// FileName returns a file name for the key: a relative path with slashes, which
// [FromFileName] parses. The names are unique, even on file systems that ignore case or
// Unicode normalization, and none is reserved on any system.
//
// Colons become commas; everything except lowercase letters, digits, dashes, dots, @ and +
// becomes %xx. Nearly all keys result in one element. File systems do not support names as
// long as the longest keys, and a hash could not be parsed, so a name longer than 200 bytes
// continues in another element: all but the last end in =, all but the first start with it.
// A name is never the directory of another.
func FileName(k Key) string {
	s := k.String()
	var b strings.Builder
	room := maxName - 1
	put := func(token string) {
		if len(token) > room {
			b.WriteString("=/=")
			room = maxName - 2
		}
		b.WriteString(token)
		room -= len(token)
	}
	for i := range len(s) {
		put(nameToken(s[i], i == len(s)-1))
	}
	return b.String()
}

// nameToken encodes one byte of a key in a file name. Windows drops a trailing dot.
func nameToken(c byte, last bool) string {
	switch {
	case c == ':':
		return ","
	case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '@', c == '+', c == '.' && !last:
		return string(rune(c))
	}
	return string([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
}

// FromFileName parses a name made by [FileName] and rejects all others.
func FromFileName(name string) (Key, error) {
	if len(name) > 4*maxKey {
		return Key{}, fmt.Errorf("%w file name %.80q: too long for the name of a key", firn.ErrInvalid, name)
	}
	s := strings.ReplaceAll(name, "=/=", "")
	s = DecodeID(strings.ReplaceAll(s, ",", ":"))
	k, err := Parse(s)
	if err != nil {
		return Key{}, fmt.Errorf("read the key of file name %.80q: %w", name, err)
	}
	if FileName(k) != name {
		return Key{}, fmt.Errorf("%w file name %.80q: not the canonical name of key %s", firn.ErrInvalid, name, k)
	}
	return k, nil
}
