package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxAsked is the length of the part of a text that AskedShare looks at.
const maxAsked = 4 << 10

// AskedShare returns the share of a text that is questions, from 0 to 1, by the letters of
// its sentences. It looks at the beginning of a long text.
func AskedShare(text string) float64 {
	if len(text) > maxAsked {
		text = text[:maxAsked]
	}
	if !strings.ContainsAny(text, "?？") {
		return 0
	}
	asked, all, here := 0, 0, 0
	for i, r := range text {
		switch r {
		case '?', '？':
			if endsSentence(text[i+utf8.RuneLen(r):]) {
				asked, here = asked+here, 0
			}
		case '.', '!', ':':
			if endsSentence(text[i+1:]) {
				here = 0
			}
		case '\n', '。', '！':
			here = 0
		default:
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				here++
				all++
			}
		}
	}
	return float64(asked) / float64(max(all, 1))
}

// endsSentence reports whether a sentence ends before the rest of a text: at its end, or before a
// space, a quotation mark, a bracket or another mark.
func endsSentence(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || unicode.IsSpace(r) || !unicode.IsLetter(r) && !unicode.IsDigit(r) && r < utf8.RuneSelf && r != '/' && r != '=' && r != '&' || r > 0x2e80
}
