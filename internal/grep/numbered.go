package grep

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
)

// numbered reports whether JSON text spells a character of a word by its number, as
// \u0041 does. The word is of plain ASCII.
func numbered(text, word []byte) bool {
	for {
		at := numberAt(text)
		if at < 0 {
			return false
		}
		text = text[at+len(`\u`):]
		var number [2]byte
		if len(text) < 2*len(number) {
			return false
		}
		if _, err := hex.Decode(number[:], text[:2*len(number)]); err == nil && number[0] == 0 && bytes.IndexByte(word, number[1]) >= 0 {
			return true
		}
	}
}

// numberAt is where a backslash and a u first stand in a text; -1 if nowhere. Nearly every line
// of JSON has backslashes, and nearly none of them is followed by a u: eight places are
// tried at a time, which takes a fraction of what looking for each backslash would.
func numberAt(text []byte) int {
	const (
		ones        = 0x0101010101010101
		highs       = ones << 7
		backslashes = ones * '\\'
		us          = ones * 'u'
	)
	at := 0
	for ; at+9 <= len(text); at += 8 {
		here := text[at : at+9]
		// A byte is zero where both stand; the second line is zero if none is.
		wrong := binary.LittleEndian.Uint64(here) ^ backslashes | binary.LittleEndian.Uint64(here[1:]) ^ us
		if (wrong-ones)&^wrong&highs != 0 {
			break
		}
	}
	if i := bytes.Index(text[at:], []byte(`\u`)); i >= 0 {
		return at + i
	}
	return -1
}
