package grep

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// hint is an ASCII word that lines must contain in order to match. JSON may escape its
// characters, as \u0041 does, but this is rare.
//
// The word is found by its rarest pair of adjacent letters.
type hint struct {
	word []byte
	// pair is the index of that pair in the word.
	pair int
}

// newHint returns a hint for a word of at least two letters.
func newHint(word string) *hint {
	h := &hint{word: []byte(word)}
	for i := range len(word) - 1 {
		if rarity(word[i])+rarity(word[i+1]) > rarity(word[h.pair])+rarity(word[h.pair+1]) {
			h.pair = i
		}
	}
	return h
}

// rarity returns the rank of a byte by its rarity in transcripts.
func rarity(b byte) int {
	const common = "etaoinsrl\"cdumphgfb,:0124536789_-.k{}[]yvwxTjES/ARIz()CqOPNDMLBUFHGWKVYQ"
	if i := strings.IndexByte(common, b); i >= 0 {
		return i
	}
	return len(common)
}

// in reports whether lines may contain the word.
func (h *hint) in(lines []byte) bool { return h.containsPlain(lines) || h.containsEscaped(lines) }

// containsPlain reports whether lines contain the word unescaped.
func (h *hint) containsPlain(lines []byte) bool {
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

// containsEscaped reports whether lines contain the escape of a letter of the word.
func (h *hint) containsEscaped(lines []byte) bool {
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

// pairAt returns the index of the first place where two bytes are adjacent, or -1. It tests
// 64 places at a time, eight per machine word. If both bytes are common, as backslashes are
// in JSON, this is ten times as fast as testing each occurrence of the first.
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

// both returns a word in which the high bit of a byte is set for each of eight places where
// the second byte follows the first. The bytes are passed repeated eight times.
func both(text []byte, first, second uint64) uint64 {
	// A byte of this is zero where both match, and a bit is borrowed only from a zero.
	other := (binary.LittleEndian.Uint64(text) ^ first) | (binary.LittleEndian.Uint64(text[1:]) ^ second)
	return (other - ones) &^ other
}
