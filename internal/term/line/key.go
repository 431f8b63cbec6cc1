package line

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// key is a key press: a named key, or typed or pasted text.
type key struct {
	name keyName
	text string
}

// keyName identifies a key, independent of its function.
type keyName int

const (
	keyText keyName = iota // text holds the typed text
	keyPaste
	keyEnter
	keyNewline // Enter with Alt or Shift, or Ctrl-J
	keyTab
	keyBackTab
	keyEscape
	keyBackspace
	keyDelete
	keyLeft
	keyRight
	keyUp
	keyDown
	keyHome
	keyEnd
	keyPageUp
	keyPageDown
	keyWordLeft
	keyWordRight
	keyWordBackspace // Alt-Backspace
	keyWordDelete    // Alt-d
	keyFirst         // Alt-<
	keyLast          // Alt->
	keyControl       // text is the letter, as in "A"
	keyReply         // an answer of the terminal; text is the sequence
	keyMouse         // text is the sequence after "<"
	keyUnknown
)

// maxPaste is the maximum size of a paste in bytes. The rest is dropped.
const maxPaste = 1 << 20

// decoder decodes the bytes that a terminal sends into keys. An incomplete sequence is kept
// until more bytes arrive, or until [decoder.flush] is called.
type decoder struct {
	rest    []byte
	pasting bool
	paste   []byte
}

const (
	escape     = 0x1b
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// feed decodes bytes and returns the completed keys.
func (d *decoder) feed(b []byte) []key {
	d.rest = append(d.rest, b...)
	var keys []key
	for len(d.rest) > 0 {
		if d.pasting {
			k, ok := d.pasted()
			if !ok {
				break
			}
			keys = append(keys, k)
			continue
		}
		k, n := next(d.rest)
		if n == 0 {
			break
		}
		if string(d.rest[:n]) == pasteStart {
			d.pasting, d.paste = true, nil
		} else {
			keys = append(keys, k)
		}
		d.rest = d.rest[n:]
	}
	return keys
}

// waiting reports whether the pending bytes may be a key on their own: a lone Escape.
func (d *decoder) waiting() bool { return len(d.rest) > 0 && !d.pasting }

// answering reports whether the pending bytes are the beginning of an answer of the
// terminal, which no key sends.
func (d *decoder) answering() bool {
	return bytes.HasPrefix(d.rest, []byte(osc+"1")) || bytes.HasPrefix(d.rest, []byte("\x1b[?"))
}

// flush ends a pending sequence. A lone Escape becomes a key; other incomplete sequences
// are discarded.
func (d *decoder) flush() []key {
	if !d.waiting() {
		return nil
	}
	first, answering := d.rest[0], d.answering()
	d.rest = nil
	if first == escape && !answering {
		return []key{{name: keyEscape}}
	}
	return nil
}

// pasted consumes pasted bytes up to the end marker.
func (d *decoder) pasted() (key, bool) {
	if i := strings.Index(string(d.rest), pasteEnd); i >= 0 {
		d.keep(d.rest[:i])
		k := key{name: keyPaste, text: cleanInput(string(d.paste))}
		d.rest, d.paste, d.pasting = d.rest[i+len(pasteEnd):], nil, false
		return k, true
	}
	// The marker may be split: keep its beginning.
	n := max(len(d.rest)-len(pasteEnd)+1, 0)
	d.keep(d.rest[:n])
	d.rest = append([]byte(nil), d.rest[n:]...)
	return key{}, false
}

func (d *decoder) keep(b []byte) {
	if room := maxPaste - len(d.paste); len(b) > room {
		b = b[:max(room, 0)]
	}
	d.paste = append(d.paste, b...)
}

// cleanInput normalizes typed or pasted text: lines end with \n, and control characters are
// removed.
func cleanInput(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

// next decodes one key and returns its length in bytes; 0 if it is incomplete.
func next(b []byte) (key, int) {
	switch c := b[0]; {
	case c == escape:
		return afterEscape(b)
	case c == '\r':
		return key{name: keyEnter}, 1
	case c == '\n':
		return key{name: keyNewline}, 1
	case c == '\t':
		return key{name: keyTab}, 1
	case c == 0x7f || c == 0x08:
		return key{name: keyBackspace}, 1
	case c < 0x20:
		return key{name: keyControl, text: string(rune(c + '@'))}, 1
	}
	return typed(b)
}

// typed decodes text up to the next control character.
func typed(b []byte) (key, int) {
	n := 0
	for n < len(b) && b[n] >= 0x20 && b[n] != 0x7f {
		if !utf8.FullRune(b[n:]) {
			break
		}
		_, size := utf8.DecodeRune(b[n:])
		n += size
	}
	if n == 0 {
		return key{}, 0
	}
	return key{name: keyText, text: cleanInput(string(b[:n]))}, n
}

// afterEscape decodes input that starts with Escape: a key with Alt, or a sequence.
func afterEscape(b []byte) (key, int) {
	if len(b) == 1 {
		return key{}, 0
	}
	switch b[1] {
	case '[':
		return sequence(b)
	case ']':
		return command(b)
	case 'O':
		if len(b) == 2 {
			return key{}, 0
		}
		return key{name: letterKey(b[2], 0)}, 3
	case escape:
		return key{name: keyEscape}, 1
	case '\r', '\n':
		return key{name: keyNewline}, 2
	case 0x7f, 0x08:
		return key{name: keyWordBackspace}, 2
	}
	if alt, ok := altKeys[b[1]]; ok {
		return key{name: alt}, 2
	}
	if !utf8.FullRune(b[1:]) {
		return key{}, 0
	}
	_, size := utf8.DecodeRune(b[1:])
	return key{name: keyUnknown}, 1 + size
}

// altKeys maps letters to the keys that they are with Alt.
var altKeys = map[byte]keyName{
	'b': keyWordLeft, 'B': keyWordLeft, 'f': keyWordRight, 'F': keyWordRight,
	'd': keyWordDelete, 'D': keyWordDelete, '<': keyFirst, '>': keyLast,
}

// sequence decodes ESC [ parameters letter.
func sequence(b []byte) (key, int) {
	n := 2
	for n < len(b) && b[n] >= 0x20 && b[n] <= 0x3f {
		n++
	}
	if n == len(b) {
		if n > 64 { // no key sends a sequence this long
			return key{name: keyUnknown}, n
		}
		return key{}, 0
	}
	final := b[n]
	if final < 0x40 || final > 0x7e { // truncated: another sequence follows
		return key{name: keyUnknown}, n
	}
	if b[2] == '?' { // only answers have it
		return key{name: keyReply, text: string(b[2 : n+1])}, n + 1
	}
	if b[2] == '<' { // the mouse, if it was switched on
		return key{name: keyMouse, text: string(b[3 : n+1])}, n + 1
	}
	params := numbers(string(b[2:n]))
	switch {
	case isRelease(string(b[2:n])):
		return key{name: keyUnknown}, n + 1
	case final == '~' && params[0] == 27: // modifyOtherKeys
		return codeKey(params[2], params[1]), n + 1
	case final == '~':
		return key{name: numberKey(params)}, n + 1
	case final == 'u': // the kitty keyboard protocol
		return codeKey(params[0], params[1]), n + 1
	}
	return key{name: letterKey(final, params[1])}, n + 1
}

// numbers parses the parameters of a sequence; missing ones are zero.
func numbers(text string) [3]int {
	var n [3]int
	for i, word := range strings.SplitN(text, ";", len(n)) {
		word, _, _ = strings.Cut(word, ":")
		if v, err := strconv.Atoi(word); err == nil {
			n[i] = v
		}
	}
	return n
}

// letterKey returns the key of a sequence that ends with a letter.
func letterKey(final byte, mod int) keyName {
	switch final {
	case 'A':
		return keyUp
	case 'B':
		return keyDown
	case 'C':
		if modified(mod) {
			return keyWordRight
		}
		return keyRight
	case 'D':
		if modified(mod) {
			return keyWordLeft
		}
		return keyLeft
	case 'H':
		return keyHome
	case 'F':
		return keyEnd
	case 'M':
		return keyEnter // on the number pad
	case 'Z':
		return keyBackTab
	}
	return keyUnknown
}

// numberKey returns the key of a sequence that ends with a tilde.
func numberKey(params [3]int) keyName {
	switch params[0] {
	case 1, 7:
		return keyHome
	case 3:
		if modified(params[1]) {
			return keyWordDelete
		}
		return keyDelete
	case 4, 8:
		return keyEnd
	case 5:
		return keyPageUp
	case 6:
		return keyPageDown
	}
	return keyUnknown
}
