package offline

import (
	"fmt"
	"strings"
	"unicode"
)

// stopWords are words without a meaning of their own.
var stopWords = wordSet(`a about after again all am an and any are as at be been but by can could did do does for from get give had has have he her here him his
	how i if in into is it its just know let like me more my no not now of off on one only or our out over please say she should so some tell than thank thanks that the
	their them then there these they this those to too under up us use was we were what when where which who why will with would you your yours i'm i'd i'll it's
	what's who's where's that's don't let's`)

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// wordsOf returns the significant words of a text, in lower case and in order, without
// duplicates.
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

// stem reduces a word to a simple stem.
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

// stems returns the stems of the significant words.
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

// isQuestion reports whether a sentence is a question.
func isQuestion(s string) bool {
	s = strings.TrimRight(s, ` "'”’)`)
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？")
}

// questionWords start questions, including those without a question mark.
var questionWords = wordSet(`what who whom whose when where which why how is are was were do does did can could should would will may shall am
	what's who's where's when's how's`)

// asks reports whether a message is a question, with or without a question mark.
func asks(text string) bool {
	first, _, _ := strings.Cut(strings.ToLower(text), " ")
	return isQuestion(text) || questionWords[strings.ReplaceAll(first, "’", "'")]
}

// excerpt returns a text on one line, truncated to n characters.
func excerpt(text string, n int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > n {
		return strings.TrimSpace(string(runes[:n-1])) + "…"
	}
	return string(runes)
}

// quote returns a text on one line in quotation marks.
func quote(text string) string { return "“" + excerpt(text, 300) + "”" }

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// list joins words with commas and "and".
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
