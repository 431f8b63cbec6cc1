package grep

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// hint is a word of plain ASCII that lines must have in order to match. JSON may spell
// characters of it by their numbers, as \u0041 does, which is rare.
//
// It is looked for by two of its letters that stand beside each other: those that are rarest.
type hint struct {
	word []byte
	// pair is where those letters are in it.
	pair int
}

// newHint makes one of a word of two letters or more.
func newHint(word string) *hint {
	h := &hint{word: []byte(word)}
	for i := range len(word) - 1 {
		if rarity(word[i])+rarity(word[i+1]) > rarity(word[h.pair])+rarity(word[h.pair+1]) {
			h.pair = i
		}
	}
	return h
}

// rarity is how rare a byte is in transcripts, by its rank among others.
func rarity(b byte) int {
	const common = "etaoinsrl\"cdumphgfb,:0124536789_-.k{}[]yvwxTjES/ARIz()CqOPNDMLBUFHGWKVYQ"
	if i := strings.IndexByte(common, b); i >= 0 {
		return i
	}
	return len(common)
}

// in reports whether the word may stand in lines.
func (h *hint) in(lines []byte) bool { return h.spelt(lines) || h.numbered(lines) }

// spelt reports whether the word stands in lines as it is.
func (h *hint) spelt(lines []byte) bool {
	for from := 0; ; from++ {
		at := pairAt(lines[from:], h.word[h.pair], h.word[h.pair+1])
		if at < 0 {
			return false
		}
		from += at
		if begin := from - h.pair; begin >= 0 && bytes.HasPrefix(lines[begin:], h.word) {
			return true
		}
	}
}

// numbered reports whether the number of a letter of the word stands in lines.
func (h *hint) numbered(lines []byte) bool {
	const digits = 4
	var number [digits / 2]byte
	for {
		at := pairAt(lines, '\\', 'u')
		if at < 0 || len(lines) < at+2+digits {
			return false
		}
		lines = lines[at+2:]
		if _, err := hex.Decode(number[:], lines[:digits]); err == nil && number[0] == 0 && bytes.IndexByte(h.word, number[1]) >= 0 {
			return true
		}
	}
}

const (
	ones  = 0x0101010101010101
	highs = ones << 7
)

// pairAt is where two bytes first stand beside each other; -1 if nowhere. It tries 64
// places at a time, eight to a word of the processor: where both bytes are common, as
// backslashes are in JSON, that is ten times as fast as to look at each of the first.
func pairAt(text []byte, first, second byte) int {
	at, x, y := 0, ones*uint64(first), ones*uint64(second)
	for ; at+64 < len(text); at += 64 {
		t := (*[65]byte)(text[at:])
		found := both(t[0:9], x, y) | both(t[8:17], x, y) | both(t[16:25], x, y) | both(t[24:33], x, y) |
			both(t[32:41], x, y) | both(t[40:49], x, y) | both(t[48:57], x, y) | both(t[56:65], x, y)
		if found&highs != 0 {
			break
		}
	}
	if i := bytes.Index(text[at:], []byte{first, second}); i >= 0 {
		return at + i
	}
	return -1
}

// both has the high bit of a byte set if at one of eight places the first of two bytes
// stands, and the second after it. The bytes are given eight times each.
func both(text []byte, first, second uint64) uint64 {
	// A byte of this is zero where both stand, and only from a zero is a bit borrowed.
	other := (binary.LittleEndian.Uint64(text) ^ first) | (binary.LittleEndian.Uint64(text[1:]) ^ second)
	return (other - ones) &^ other
}
