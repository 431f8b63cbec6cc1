package prose

import (
	"slices"
	"strings"
	"unicode"

	"firn"
)

// The functions of this file find words in what was said, without an index.

// Words takes a text apart into words, each once, in small letters. Words of
// one or two letters say little and are left out, unless there are no others.
func Words(text string) []string {
	all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	slices.Sort(all)
	all = slices.Compact(all)
	long := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return len([]rune(w)) < 3 })
	if len(long) > 0 {
		return long
	}
	return all
}

// Rate says how well a text fits: the share of the words that are in it, and
// where the first of them is.
func Rate(text string, words []string) (score float64, at int) {
	low := strings.ToLower(text)
	at = len(low)
	n := 0
	for _, w := range words {
		if i := strings.Index(low, w); i >= 0 {
			n++
			at = min(at, i)
		}
	}
	return float64(n) / float64(len(words)), at
}

// Around cuts a text to so many bytes near a place in it.
func Around(text string, at, most int) string {
	if len(text) <= most {
		return text
	}
	start := max(0, min(at, len(text))-most/4)
	for start > 0 && start < len(text) && text[start]&0xc0 == 0x80 { // not within a rune
		start--
	}
	cut := firn.CutText(text[start:], most)
	if start > 0 {
		cut = "…" + cut
	}
	if start+most < len(text) {
		cut += "…"
	}
	return cut
}
