package route

import (
	"fmt"
	"strings"

	"firn.dev"
)

// maxName bounds an element of a file name in bytes.
const maxName = 200

// FileName makes a name for a file about the key: a relative path with slashes,
// which [FromFileName] reads back. No two keys have the same one, also where
// file systems do not tell cases or Unicode forms apart, and no name is special
// to any system.
//
// Colons become commas; all but lower-case letters, digits, dashes, dots, @ and
// + become %xx. Nearly all keys make one element. No file system takes names as
// long as the longest keys, and a hash could not be read back, so what goes
// beyond 200 bytes goes on in another element: all but the last end in =, all
// but the first begin with it. A name is never the directory of another.
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

// nameToken spells one byte of a key in a file name. Windows forgets a dot at
// the end.
func nameToken(c byte, last bool) string {
	switch {
	case c == ':':
		return ","
	case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '@', c == '+', c == '.' && !last:
		return string(rune(c))
	}
	return string([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
}

// FromFileName reads a name that [FileName] made, and refuses all others.
func FromFileName(name string) (Key, error) {
	if len(name) > 4*maxKey {
		return Key{}, fmt.Errorf("%w file name %.80q: it is too long to be that of a key", firn.ErrInvalid, name)
	}
	s := strings.ReplaceAll(name, "=/=", "")
	s = Unspell(strings.ReplaceAll(s, ",", ":"))
	k, err := Parse(s)
	if err != nil {
		return Key{}, fmt.Errorf("read the key of file name %.80q: %w", name, err)
	}
	if FileName(k) != name {
		return Key{}, fmt.Errorf("%w file name %.80q: it is not how the name of key %s is written", firn.ErrInvalid, name, k)
	}
	return k, nil
}
