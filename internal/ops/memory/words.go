package memory

import (
	"strings"
	"sync"
	"unicode"
)

// fold removes the accents of common Latin letters, because people often omit them in
// queries.
func fold(text string) string {
	plain := true
	for i := range len(text) {
		plain = plain && text[i] < 0x80
	}
	if plain {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unicode.Is(unicode.Mn, r) {
			continue
		}
		if to, ok := folded()[r]; ok {
			b.WriteString(to)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// folded maps letters with accents to their replacements.
var folded = sync.OnceValue(func() map[rune]string {
	return foldings(map[string]string{
		"a": "àáâãäåāăą", "c": "çćĉċč", "d": "ďđ", "e": "èéêëēĕėęě", "g": "ĝğġģ", "h": "ĥħ", "i": "ìíîïĩīĭįı", "j": "ĵ", "k": "ķ",
		"l": "ĺļľŀł", "n": "ñńņňŉ", "o": "òóôõöøōŏő", "r": "ŕŗř", "s": "śŝşš", "t": "ţťŧ", "u": "ùúûüũūŭůűų", "w": "ŵ", "y": "ýÿŷ", "z": "źżž",
		"A": "ÀÁÂÃÄÅĀĂĄ", "C": "ÇĆĈĊČ", "D": "ĎĐ", "E": "ÈÉÊËĒĔĖĘĚ", "G": "ĜĞĠĢ", "H": "ĤĦ", "I": "ÌÍÎÏĨĪĬĮİ", "J": "Ĵ", "K": "Ķ",
		"L": "ĹĻĽĿŁ", "N": "ÑŃŅŇ", "O": "ÒÓÔÕÖØŌŎŐ", "R": "ŔŖŘ", "S": "ŚŜŞŠ", "T": "ŢŤŦ", "U": "ÙÚÛÜŨŪŬŮŰŲ", "W": "Ŵ", "Y": "ÝŶŸ", "Z": "ŹŻŽ",
		"ss": "ß", "ae": "æ", "oe": "œ",
	})
})

func foldings(lists map[string]string) map[rune]string {
	table := make(map[rune]string)
	for to, from := range lists {
		for _, r := range from {
			table[r] = to
		}
	}
	return table
}

func notWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// unspaced reports whether r belongs to a script without spaces between words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}

// maxWords is the maximum number of words of a text that count.
const maxWords = 512

// terms returns the significant words of a text, each once, in lower case, without accents
// and stemmed. Text in scripts without spaces is split into pairs of characters.
func terms(text string) []string {
	var found []string
	seen := make(map[string]bool)
	add := func(word string) {
		if word == "" || common()[word] || len(found) == maxWords {
			return
		}
		if word = stem(word); !seen[word] {
			seen[word] = true
			found = append(found, word)
		}
	}
	for word := range strings.FieldsFuncSeq(strings.ToLower(fold(text)), notWord) {
		start := 0
		var before rune
		for i, r := range word {
			if !unspaced(r) {
				before = 0
				continue
			}
			add(word[start:i])
			if before != 0 {
				add(string(before) + string(r))
			} else if len(word) == len(string(r)) {
				add(word)
			}
			before, start = r, i+len(string(r))
		}
		add(word[start:])
	}
	return found
}

// common are stop words.
var common = lazySet("a an and are as at be been but by can could did do does for from had has have he her him his how i if in into is it its " +
	"just me my no not of on or our please she should so some than that the their them then there these they this to too us was we were what " +
	"when where which who will with would you your im ive dont about also any")

// lazySet returns a function that splits the words on its first call.
func lazySet(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool { return set(words) })
}

func set(words string) map[string]bool {
	all := make(map[string]bool)
	for word := range strings.FieldsSeq(words) {
		all[word] = true
	}
	return all
}

// stem removes the most common English suffixes, so that the forms of a word match. The
// result need not be a word.
func stem(word string) string {
	if len(word) < 4 {
		return word
	}
	for _, e := range endings {
		if rest, ok := strings.CutSuffix(word, e.from); ok && len(rest) >= e.least {
			word = rest + e.to
			break
		}
	}
	if n := len(word); n > 3 && word[n-1] == word[n-2] && strings.IndexByte("bdgmnprt", word[n-1]) >= 0 {
		word = word[:n-1] // running, runn, run
	}
	if len(word) > 3 {
		word = strings.TrimSuffix(word, "e")
	}
	return word
}

var endings = []struct {
	from, to string
	least    int
}{
	{"ations", "", 4}, {"ation", "", 4}, {"ments", "", 4}, {"ment", "", 4}, {"ingly", "", 3}, {"ings", "", 3}, {"ing", "", 3},
	{"ies", "y", 2}, {"ied", "y", 2}, {"edly", "", 3}, {"ed", "", 3}, {"ers", "", 4}, {"er", "", 4},
	{"sses", "ss", 2}, {"ss", "ss", 2}, {"us", "us", 2}, {"is", "is", 2}, {"ly", "", 4}, {"es", "", 3}, {"s", "", 3},
}

// likeness returns the similarity of two texts, from 0 to 1: the share of their terms that
// both have.
func likeness(a, b []string) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	both := shared(a, b)
	return float64(both) / float64(len(a)+len(b)-both)
}

// cover returns the share of a that is in b, from 0 to 1.
func cover(a, b []string) float64 {
	if len(a) == 0 {
		return 0
	}
	return float64(shared(a, b)) / float64(len(a))
}

func shared(a, b []string) int {
	has := make(map[string]bool, len(b))
	for _, word := range b {
		has[word] = true
	}
	n := 0
	for _, word := range a {
		if has[word] {
			n++
		}
	}
	return n
}
