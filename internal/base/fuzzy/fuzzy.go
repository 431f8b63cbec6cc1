// Package fuzzy ranks texts by how well they match typed letters. The letters must occur in
// order; others may be between them. It has no state.
package fuzzy

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// Scores of a matched letter, and of letters that are skipped between two matched ones.
const (
	letter   = 16
	inRun    = 8  // directly after the letter before it
	segment  = 12 // first letter of the text or of a path segment
	wordHead = 10 // first letter of a word
	hump     = 7  // first capital or digit within a word
	wordTail = 2  // the last letter ends a word
	gap      = 3  // the first skipped letter
	gapMore  = 1  // each further one
)

// least is the average score per letter below which a match is dropped: its letters are
// scattered over the text.
const least = 12

// Longer texts and patterns are cut.
const (
	maxText    = 512
	maxPattern = 64
)

// none is the score of a letter that cannot be matched.
const none = -1 << 20

// Score returns how well a text matches a pattern without regard to case, or 0 if it does
// not. Word starts, path segments and adjacent letters count more.
func Score(text, pattern string) int {
	t, p := cut(text, maxText), lower(cut(pattern, maxPattern))
	heads, t := headScores(t), lower(t)
	if len(p) == 0 || !inOrder(t, p) {
		return 0
	}
	// row[j] is the best score of the letters so far if the last of them is t[j].
	row, last := make([]int, len(t)), make([]int, len(t))
	for i, r := range p {
		row, last = last, row
		skipped := none // the best score if at least one letter is skipped before t[j]
		for j := range t {
			if j >= 2 {
				skipped = max(skipped-gapMore, last[j-2]-gap)
			}
			switch {
			case t[j] != r:
				row[j] = none
			case i == 0:
				row[j] = letter + heads[j]
			case j == 0:
				row[j] = none
			default:
				row[j] = letter + max(last[j-1]+max(inRun, heads[j]), skipped+heads[j])
			}
		}
	}
	best := none
	for j, score := range row {
		if j == len(t)-1 || !isWord(t[j+1]) {
			score += wordTail
		}
		best = max(best, score)
	}
	if best < least*len(p) {
		return 0
	}
	return best
}

// headScores returns the extra score of each letter: that of the start of a path segment, of
// a word or of a part of it.
func headScores(t []rune) []int {
	scores := make([]int, len(t))
	for j, r := range t {
		if !isWord(r) {
			continue
		}
		switch {
		case j == 0, t[j-1] == '/', t[j-1] == '\\':
			scores[j] = segment
		case !isWord(t[j-1]):
			scores[j] = wordHead
		case unicode.IsUpper(r) && !unicode.IsUpper(t[j-1]), unicode.IsDigit(r) && !unicode.IsDigit(t[j-1]):
			scores[j] = hump
		}
	}
	return scores
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// inOrder reports whether all letters occur in a text, in their order.
func inOrder(text, letters []rune) bool {
	next := 0
	for _, r := range text {
		if next < len(letters) && r == letters[next] {
			next++
		}
	}
	return next == len(letters)
}

// cut returns at most the given number of characters.
func cut(text string, most int) []rune {
	runes := make([]rune, 0, min(len(text), most))
	for _, r := range text {
		if len(runes) == most {
			break
		}
		runes = append(runes, r)
	}
	return runes
}

// lower returns lower-case letters; there are as many.
func lower(runes []rune) []rune {
	low := make([]rune, len(runes))
	for i, r := range runes {
		low[i] = unicode.ToLower(r)
	}
	return low
}

// Field is a text of an item and its weight, in percent. Exact fields match only by a part
// of them.
type Field struct {
	Text   string
	Weight int
	Exact  bool
}

// Rank returns the items whose fields match all words of a pattern, best first; equal ones
// keep their order. A word may match in any field. Without words, it returns all items.
func Rank[T any](items []T, pattern string, fields func(T) []Field) []T {
	words := strings.Fields(pattern)
	if len(words) == 0 {
		return items
	}
	type match struct {
		item  T
		score int
	}
	var matches []match
	for _, item := range items {
		if score := scoreAll(fields(item), words); score > 0 {
			matches = append(matches, match{item, score})
		}
	}
	slices.SortStableFunc(matches, func(a, b match) int { return cmp.Compare(b.score, a.score) })
	ranked := make([]T, len(matches))
	for i, m := range matches {
		ranked[i] = m.item
	}
	return ranked
}

// scoreAll returns the sum of the best scores of all words, or 0 if a word matches no field.
func scoreAll(fields []Field, words []string) (sum int) {
	for _, w := range words {
		best := 0
		for _, f := range fields {
			if f.Exact && !strings.Contains(strings.ToLower(f.Text), strings.ToLower(w)) {
				continue
			}
			best = max(best, Score(f.Text, w)*f.Weight)
		}
		if best == 0 {
			return 0
		}
		sum += best
	}
	return sum
}
