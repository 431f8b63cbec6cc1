package offline

import (
	"fmt"
	"strings"
	"unicode"
)

// stopWords say nothing on their own.
var stopWords = wordSet(`a about after again all am an and any are as at be been but by can could did do does for from get give had has have he her here him his
	how i if in into is it its just know let like me more my no not now of off on one only or our out over please say she should so some tell than thank thanks that the
	their them then there these they this those to too under up us use was we were what when where which who why will with would you your yours i'm i'd i'll it's
	what's who's where's that's don't let's`)

// fillers are words that only begin a request.
var fillers = wordSet(`please can could would will you hi hello hey i want need to like help me so well ok okay`)

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// wordsOf are the words of a text that say something, in lower case, each
// once, in order.
func wordsOf(text string) []string {
	var words []string
	seen := make(map[string]bool)
	for _, w := range strings.FieldsFunc(strings.ToLower(text), notWord) {
		w = strings.Trim(w, "'’-._")
		if w == "" || stopWords[strings.ReplaceAll(w, "’", "'")] || seen[w] {
			continue
		}
		seen[w] = true
		words = append(words, w)
	}
	return words
}

func notWord(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("'’-._", r)
}

// stem makes forms of a word alike, in a simple way.
func stem(word string) string {
	word = strings.TrimSuffix(strings.TrimSuffix(word, "'s"), "’s")
	for _, ending := range [...]string{"ing", "ed", "es", "s"} {
		if short, ok := strings.CutSuffix(word, ending); ok && len(short) >= 3 {
			return strings.TrimSuffix(short, "e")
		}
	}
	if len(word) > 3 {
		return strings.TrimSuffix(word, "e")
	}
	return word
}

// stems are the stems of the words that say something.
func stems(text string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range wordsOf(text) {
		set[stem(w)] = true
	}
	return set
}

// shared counts the stems that two sets have in common.
func shared(a, b map[string]bool) int {
	if len(b) < len(a) {
		a, b = b, a
	}
	n := 0
	for w := range a {
		if b[w] {
			n++
		}
	}
	return n
}

// isQuestion reports whether a sentence asks something.
func isQuestion(s string) bool {
	s = strings.TrimRight(s, ` "'”’)`)
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？")
}

// questionWords begin questions, also those that lack their mark.
var questionWords = wordSet(`what who whom whose when where which why how is are was were do does did can could should would will may shall am
	what's who's where's when's how's`)

// asks reports whether a message asks something, with or without its mark.
func asks(text string) bool {
	first, _, _ := strings.Cut(strings.ToLower(text), " ")
	return isQuestion(text) || questionWords[strings.ReplaceAll(first, "’", "'")]
}

// excerpt is a text on one line, of at most n characters.
func excerpt(text string, n int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > n {
		return strings.TrimSpace(string(runes[:n-1])) + "…"
	}
	return string(runes)
}

// quote puts a text into quotation marks, on one line.
func quote(text string) string { return "“" + excerpt(text, 300) + "”" }

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// list joins words as people do.
func list(words []string) string {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}
