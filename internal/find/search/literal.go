package search

import (
	"strings"
	"unicode"
)

// Literal is a text to find as it is written: its words one after the other, without query
// syntax and without stems. Case, accents and white space do not matter. If it has no
// punctuation, punctuation between the words of a text does not matter either; Markdown is
// full of it. A match begins at the start of a word.
type Literal struct {
	// exact is set if the punctuation of the text must match too.
	exact bool
	text  string
	// Terms are for the excerpts of the texts.
	Terms []Term
	// words are the first tokens and their full forms.
	words [][2]string
}

// maxNeedles is the number of words for which a row is checked before its text is read.
const maxNeedles = 8

// NewLiteral returns a literal, or false if there is no word in the text.
func NewLiteral(text string) (*Literal, bool) {
	l := &Literal{}
	var last Token
	for _, token := range Tokens(text) {
		if token.Extra {
			continue
		}
		last = token
		if len(l.words) < maxNeedles {
			l.words = append(l.words, [2]string{token.Term, cutFold(text[token.Start:token.End])})
		}
		if t, ok := newTerm(text[token.Start:token.End], false, false); ok && len(l.Terms) < MaxWords {
			l.Terms = append(l.Terms, t)
		}
	}
	if len(l.words) == 0 {
		return nil, false
	}
	if t, ok := newTerm(text[last.Start:last.End], true, false); ok { // it may be the start of a word
		l.Terms = append(l.Terms, t)
	}
	l.text = foldLine(strings.TrimSpace(text), true)
	if l.exact = strings.ContainsFunc(l.text, func(r rune) bool { return r != ' ' && !isWordRune(r) }); !l.exact {
		l.text = foldLine(text, false)
	}
	return l, true
}

// Needles returns strings for each word of which one must occur in the normalized words of a
// text, each of which has a space before it.
func (l *Literal) Needles() (all [][2]string) {
	for _, w := range l.words {
		n := [2]string{" " + w[0], " " + w[1]}
		if strings.ContainsFunc(w[0], isUnspaced) { // pairs of characters have no starts of words
			n = w
		}
		all = append(all, n)
	}
	return all
}

// In reports whether a text contains the literal.
func (l *Literal) In(text string) bool {
	if l.exact || strings.ContainsFunc(l.text, isUnspaced) {
		return strings.Contains(foldLine(text, l.exact), l.text)
	}
	return strings.Contains(" "+foldLine(text, false), " "+l.text)
}

func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

// foldLine returns a text in lower case, without accents, and with single spaces. Without
// punctuation, other characters than letters and digits are spaces too.
func foldLine(text string, punctuation bool) string {
	var b []byte
	space := false
	for _, r := range text {
		switch {
		case isWordRune(r):
			if space && len(b) > 0 {
				b = append(b, ' ')
			}
			space = false
			if r < 0x80 {
				b = append(b, byte(unicode.ToLower(r)))
			} else {
				b = foldRune(b, r)
			}
		case punctuation && !unicode.IsSpace(r):
			if space && len(b) > 0 {
				b = append(b, ' ')
			}
			space = false
			b = append(b, string(r)...)
		default:
			space = true
		}
	}
	return string(b)
}
