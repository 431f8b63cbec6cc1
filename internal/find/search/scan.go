package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Token is a normalized word of a text.
type Token struct {
	// Term is the normalized form.
	Term string
	// Start and End are the byte offsets in the text.
	Start, End int
	// Extra tokens are other forms of the surrounding words, such as a whole identifier.
	// They do not count as words.
	Extra bool
}

// maxTerm is the maximum length of a term in bytes.
const maxTerm = 64

// Scan splits a text into words and calls emit for each, in order. The term is valid until
// emit returns.
//
// Words are folded: no case, no accents. Identifiers are split at underscores, dashes, case
// changes and between letters and digits; the whole identifier is an extra token. English
// words are stemmed; the full form is an extra token. Scripts without spaces between words
// are split into pairs of characters.
func Scan(text string, emit func(term []byte, start, end int, extra bool)) {
	s := scanner{text: text, emit: emit}
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if !wordByte(c) {
				i++
				continue
			}
			i = s.word(i)
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case isUnspaced(r):
			i = s.pairs(i)
		case unicode.IsLetter(r) || unicode.IsNumber(r):
			i = s.word(i)
		default:
			i += size
		}
	}
}

// Tokens returns the tokens of Scan as a slice.
func Tokens(text string) []Token {
	var all []Token
	Scan(text, func(term []byte, start, end int, extra bool) {
		all = append(all, Token{Term: string(term), Start: start, End: end, Extra: extra})
	})
	return all
}

type scanner struct {
	text  string
	emit  func(term []byte, start, end int, extra bool)
	cuts  []int
	part  []byte
	whole []byte
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// isUnspaced reports whether a character belongs to a script without spaces between words.
func isUnspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// inWord returns the length of the character at i if it continues a word, else 0.
// Underscores, dashes and apostrophes join words.
func (s *scanner) inWord(i int) int {
	c := s.text[i]
	if c < utf8.RuneSelf {
		if wordByte(c) {
			return 1
		}
		if (c == '_' || c == '-' || c == '\'') && i+1 < len(s.text) && (wordByte(s.text[i+1]) || c == '_' && s.text[i+1] == '_') {
			return 1
		}
		return 0
	}
	r, size := utf8.DecodeRuneInString(s.text[i:])
	if r == '’' && i+size < len(s.text) && wordByte(s.text[i+size]) {
		return size
	}
	if isUnspaced(r) || !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) {
		return 0
	}
	return size
}

// word emits the word that starts at i, and returns its end.
func (s *scanner) word(i int) int {
	end := i
	for end < len(s.text) {
		n := s.inWord(end)
		if n == 0 {
			break
		}
		end += n
	}
	s.split(i, end)
	if len(s.cuts) == 2 {
		s.emitWord(i, end)
		return end
	}
	s.whole = s.whole[:0]
	for k := 0; k+1 < len(s.cuts); k += 2 {
		s.emitWord(s.cuts[k], s.cuts[k+1])
		if len(s.whole) < maxTerm {
			s.whole = append(s.whole, s.part...)
		}
	}
	if len(s.whole) > 0 && len(s.whole) <= maxTerm {
		s.emit(s.whole, i, end, true)
	}
	return end
}

// emitWord emits one plain word: its stem, and the full form if it differs. The full form
// remains in s.part.
func (s *scanner) emitWord(start, end int) {
	s.part = Fold(s.part[:0], s.text[start:end])
	s.part = cutTerm(s.part)
	if len(s.part) == 0 {
		return
	}
	stem := s.part[:stemLen(s.part)]
	if endsInY(stem, s.part) {
		both := append(append(make([]byte, 0, maxTerm), stem[:len(stem)-1]...), 'i')
		s.emit(both, start, end, false)
		s.emit(s.part, start, end, true)
		return
	}
	s.emit(stem, start, end, false)
	if len(stem) != len(s.part) {
		s.emit(s.part, start, end, true)
	}
}

// cutTerm shortens a term to maxTerm bytes, at a character boundary.
func cutTerm(term []byte) []byte {
	if len(term) <= maxTerm {
		return term
	}
	n := maxTerm
	for n > 0 && !utf8.RuneStart(term[n]) {
		n--
	}
	return term[:n]
}

// maxBends is the maximum number of changes between letters and digits in a word that is
// split. Words with more are hashes.
const maxBends = 4

// split finds the plain words in text[start:end] and stores their start and end offsets in
// s.cuts. A hash is not split.
func (s *scanner) split(start, end int) {
	s.cuts = append(s.cuts[:0], start)
	bends := 0
	before := kindNone
	for i := start; i < end; {
		r, size := rune(s.text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s.text[i:])
		}
		kind := kindOf(r)
		switch {
		case kind == kindJoint:
			s.close(i, i+size)
		case before == kindNone || before == kindJoint || kind == kindMark:
		case kind == kindUpper && before == kindLower:
			s.close(i, i)
		case kind == kindUpper && before == kindUpper && s.lowerFollows(i+size, end):
			s.close(i, i)
		case (kind == kindDigit) != (before == kindDigit):
			bends++
			s.close(i, i)
		}
		if kind != kindMark {
			before = kind
		}
		i += size
	}
	s.close(end, end)
	s.cuts = s.cuts[:len(s.cuts)-1]
	if bends > maxBends || len(s.cuts) == 0 || end-start > 2*maxTerm {
		s.cuts = append(s.cuts[:0], start, end)
	}
}

// close ends the current plain word, unless it is empty, and starts the next.
func (s *scanner) close(end, next int) {
	begun := len(s.cuts) - 1
	if s.cuts[begun] == end {
		s.cuts[begun] = next
		return
	}
	s.cuts = append(s.cuts, end, next)
}

// lowerFollows reports whether a lower-case letter is at i: then a word starts one letter
// before it, as in HTTPServer. A plural s does not count: IDs.
func (s *scanner) lowerFollows(i, end int) bool {
	if i >= end {
		return false
	}
	if s.text[i] == 's' && (i+1 == end || !wordByte(s.text[i+1])) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(s.text[i:])
	return unicode.IsLower(r)
}

type charKind byte

const (
	kindNone charKind = iota
	kindLower
	kindUpper
	kindDigit
	kindJoint
	kindMark
)

func kindOf(r rune) charKind {
	switch {
	case r >= 'a' && r <= 'z':
		return kindLower
	case r >= 'A' && r <= 'Z':
		return kindUpper
	case r >= '0' && r <= '9':
		return kindDigit
	case r == '_' || r == '-':
		return kindJoint
	case r == '\'' || r == '’':
		return kindMark
	case r < utf8.RuneSelf:
		return kindMark
	case unicode.IsMark(r):
		return kindMark
	case unicode.IsUpper(r):
		return kindUpper
	case unicode.IsNumber(r):
		return kindDigit
	}
	return kindLower
}

// pairs emits overlapping pairs of characters of a run without spaces, and the last
// character alone, so that every character starts a token.
func (s *scanner) pairs(i int) int {
	for {
		_, size := utf8.DecodeRuneInString(s.text[i:])
		next := i + size
		if next >= len(s.text) {
			s.pair(i, next)
			return next
		}
		r, more := utf8.DecodeRuneInString(s.text[next:])
		if !isUnspaced(r) && !unicode.IsMark(r) {
			s.pair(i, next)
			return next
		}
		s.pair(i, next+more)
		i = next
	}
}

func (s *scanner) pair(start, end int) {
	s.part = Fold(s.part[:0], s.text[start:end])
	if len(s.part) > 0 {
		s.emit(s.part, start, end, false)
	}
}

// FoldText returns the folded letters and digits of a text.
func FoldText(text string) string {
	return strings.ToValidUTF8(string(Fold(nil, text)), "")
}
