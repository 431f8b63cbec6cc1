package digest

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentences yields the sentences of a text, without fenced code. Surrounding white space is
// removed.
func Sentences(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		fenced := false
		for line := range strings.SplitSeq(text, "\n") {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
				fenced = !fenced
				continue
			}
			for !fenced && line != "" {
				end := sentenceEnd(line)
				if s := strings.TrimSpace(line[:end]); hasWord(s) && !yield(s) {
					return
				}
				line = strings.TrimSpace(line[end:])
			}
		}
	}
}

// sentenceEnd returns the end of the first sentence of a line: after punctuation followed
// by a space, or after full-width punctuation. List numbers and initials do not end a
// sentence.
func sentenceEnd(line string) int {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '.' || c == '!' || c == '?':
			end := i + 1
			for end < len(line) && strings.IndexByte(`.!?)"'`, line[end]) >= 0 {
				end++
			}
			if end == len(line) || line[end] == ' ' && !(c == '.' && abbreviated(line[:i])) {
				return end
			}
			i = end - 1
		case c >= 0xe3:
			r, width := utf8.DecodeRuneInString(line[i:])
			if r == '。' || r == '！' || r == '？' {
				return i + width
			}
			i += width - 1
		}
	}
	return len(line)
}

// abbreviated reports whether a period after this text does not end a sentence.
func abbreviated(before string) bool {
	word := before[strings.LastIndexByte(before, ' ')+1:]
	switch word {
	case "e.g", "i.e", "etc", "vs", "cf", "Mr", "Mrs", "Ms", "Dr", "St", "No", "approx":
		return true
	}
	// "1. Do this" and "J. Doe", but not "it has 3. Then" in the middle.
	return len(word) == 1 && (word == before || word[0] >= 'A' && word[0] <= 'Z' && word != "I")
}

// hasWord reports whether a text contains a letter or a digit.
func hasWord(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0
}

// tidy converts a text to one short line: without list or heading marks, with single
// spaces, at most n characters.
func tidy(text string, n int) string {
	text = strings.ToValidUTF8(firstRunes(strings.TrimSpace(text), n*4), "\uFFFD")
	text = strings.Join(strings.FieldsFunc(strings.ReplaceAll(text, "**", ""), blankOrControl), " ")
	for {
		before := text
		text = strings.TrimLeft(text, "#>*-+•– ")
		for _, box := range [...]string{"[x] ", "[X] ", "[ ] "} {
			text = strings.TrimPrefix(text, box)
		}
		if text == before {
			return ellipsis(text, n)
		}
	}
}

func blankOrControl(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// firstRunes returns a prefix of text with at least n runes, if there are so many, without
// examining the rest.
func firstRunes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:runeAt(text, n)]
}

// ellipsis shortens a text to n characters, at a space if one is near, and marks the cut.
func ellipsis(text string, n int) string {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text
	}
	if n <= 1 {
		return text[:runeAt(text, max(n, 0))]
	}
	cut := text[:runeAt(text, n-1)]
	if space := strings.LastIndexByte(cut, ' '); space > len(cut)*3/4 {
		cut = cut[:space]
	}
	return strings.TrimRight(cut, " ,;:") + "…"
}

// foldText reduces a text to its letters and digits in lower case, for comparison.
func foldText(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}
