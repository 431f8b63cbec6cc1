package digest

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentences yields the sentences of a text, without those in fenced code.
// White space around them is gone; inside they are as they were.
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
				if s := strings.TrimSpace(line[:end]); wordy(s) && !yield(s) {
					return
				}
				line = strings.TrimSpace(line[end:])
			}
		}
	}
}

// sentenceEnd is where the first sentence of a line ends: behind a full stop
// and the like that is followed by a space, or behind one of those that need
// none. A number in a list and the initial of a name are no sentences.
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

// abbreviated reports whether a full stop behind this does not end a sentence.
func abbreviated(before string) bool {
	word := before[strings.LastIndexByte(before, ' ')+1:]
	switch word {
	case "e.g", "i.e", "etc", "vs", "cf", "Mr", "Mrs", "Ms", "Dr", "St", "No", "approx":
		return true
	}
	// "1. Do this" and "J. Doe", but not "it has 3. Then" in the middle.
	return len(word) == 1 && (word == before || word[0] >= 'A' && word[0] <= 'Z' && word != "I")
}

// wordy reports whether there is a letter or a digit in it.
func wordy(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) >= 0
}

// tidy makes one short line of a text: no marks of lists or headings before
// it, single spaces, at most n characters.
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

// firstRunes is a beginning of text of at least n runes if there are so many,
// found without looking at the rest.
func firstRunes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return text[:runeAt(text, n)]
}

// ellipsis cuts a text to n characters, at a space if one is near, and marks
// the cut.
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

// folded is what two texts have in common that say the same: letters and
// digits, in lower case.
func folded(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}
