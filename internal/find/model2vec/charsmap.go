package model2vec

import (
	"encoding/binary"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// charsmap is a table of SentencePiece that maps characters to others: a double array, whose
// values are offsets of texts that end with a zero.
type charsmap struct {
	units []uint32
	texts []byte
}

// parseCharsmap reads a table: the length of the double array in bytes, the array, the texts.
func parseCharsmap(data []byte) (*charsmap, error) {
	if len(data) < 4 {
		return nil, errors.New("its table is too short")
	}
	n := int64(binary.LittleEndian.Uint32(data))
	if n%4 != 0 || n == 0 || n > int64(len(data)-4) {
		return nil, errors.New("its table does not have the length that it states")
	}
	m := &charsmap{units: make([]uint32, n/4), texts: data[4+n:]}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(data[4+4*i:])
	}
	return m, nil
}

// offsetOf returns the distance of the children of a unit.
func offsetOf(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }

// find returns the text of the shortest key at the beginning of a text.
func (m *charsmap) find(text string) (string, bool) {
	at := offsetOf(m.units[0])
	for i := range len(text) {
		c := uint32(text[i])
		if at ^= c; c == 0 || int64(at) >= int64(len(m.units)) {
			return "", false
		}
		unit := m.units[at]
		if unit&(1<<31|0xff) != c {
			return "", false
		}
		if at ^= offsetOf(unit); int64(at) >= int64(len(m.units)) {
			return "", false
		}
		if unit>>8&1 == 1 {
			return m.text(m.units[at] & (1<<31 - 1))
		}
	}
	return "", false
}

// text returns the text at an offset.
func (m *charsmap) text(at uint32) (string, bool) {
	if int64(at) >= int64(len(m.texts)) {
		return "", false
	}
	text, _, _ := strings.Cut(string(m.texts[at:min(len(m.texts), int(at)+maxMapped)]), "\x00")
	return text, true
}

const (
	// maxMapped is the length of the longest text of a character.
	maxMapped = 256
	// maxCluster is the length of a character with its marks above which each of them is
	// mapped alone.
	maxCluster = 6
)

// normalize maps the characters of a text, those with marks as one.
func (m *charsmap) normalize(text string) string {
	var out strings.Builder
	most := grownStep(len(text))
	for text != "" && out.Len() < most {
		n := cluster(text)
		if n < maxCluster {
			if mapped, ok := m.find(text[:n]); ok {
				out.WriteString(mapped)
				text = text[n:]
				continue
			}
		}
		m.mapEach(&out, text[:n], most)
		text = text[n:]
	}
	return out.String()
}

// mapEach maps each character alone, until the result has most bytes.
func (m *charsmap) mapEach(out *strings.Builder, text string, most int) {
	for _, r := range text {
		if out.Len() >= most {
			return
		}
		one := string(r)
		if mapped, ok := m.find(one); ok {
			one = mapped
		}
		out.WriteString(one)
	}
}

// cluster returns the length of the first character of a text with its marks.
func cluster(text string) int {
	_, n := utf8.DecodeRuneInString(text)
	for n < len(text) {
		r, size := utf8.DecodeRuneInString(text[n:])
		if !unicode.IsMark(r) {
			break
		}
		n += size
	}
	return n
}
