package tool

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
)

// SearchNotes searches the notes of a workspace for those that share words with
// the query. A word counts more the fewer notes it is in, and half if it only
// begins like one of the query or the other way round; among equals the newer
// note comes first.
func SearchNotes(w *Workspace) Search {
	return func(ctx context.Context, query string, limit int) ([]Hit, error) {
		notes, err := Notes(w)
		if err != nil {
			return nil, err
		}
		wanted := uniqueWords(query)
		found, err := rank(ctx, notes, wanted)
		if err != nil {
			return nil, err
		}
		found = found[:min(len(found), max(limit, 0))]
		hits := make([]Hit, len(found))
		for i, n := range found {
			hits[i] = Hit{Source: n.Source, Where: fmt.Sprintf("line %d", n.Line), Text: n.Text, Time: n.Time}
		}
		return hits, nil
	}
}

// rank returns the notes that share words with those wanted, the best first.
func rank(ctx context.Context, notes []Note, wanted []string) ([]Note, error) {
	type scored struct {
		note  Note
		match []float64 // for each wanted word, how well it is met
		score float64
	}
	var found []scored
	frequency := make([]int, len(wanted))
	for i, note := range notes {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		s := scored{note: note, match: make([]float64, len(wanted))}
		met := false
		has := uniqueWords(note.Text)
		for j, word := range wanted {
			if s.match[j] = meets(word, has); s.match[j] > 0 {
				frequency[j]++
				met = true
			}
		}
		if met {
			found = append(found, s)
		}
	}
	for i := range found {
		for j, match := range found[i].match {
			if match > 0 {
				found[i].score += match * math.Log(1+float64(len(notes))/float64(frequency[j]))
			}
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.note.Time.Compare(a.note.Time))
	})
	ranked := make([]Note, len(found))
	for i, s := range found {
		ranked[i] = s.note
	}
	return ranked, nil
}

// minStem is how many bytes two words must have in common from their beginning
// to be taken for forms of one.
const minStem = 4

// meets says how well a word is met by others: wholly, half, or not.
func meets(word string, others []string) float64 {
	best := 0.0
	for _, other := range others {
		switch {
		case other == word:
			return 1
		case min(len(word), len(other)) >= minStem && (strings.HasPrefix(other, word) || strings.HasPrefix(word, other)):
			best = 0.5
		}
	}
	return best
}

// uniqueWords returns the words of a text in lower case, each once. Scripts
// that put no spaces between words are taken character by character. Words that
// are in every text are left out, unless there are no others.
func uniqueWords(text string) []string {
	var all, telling []string
	for _, word := range words(text) {
		if slices.Contains(all, word) {
			continue
		}
		all = append(all, word)
		if !common[word] {
			telling = append(telling, word)
		}
		if len(all) == maxWords {
			break
		}
	}
	if len(telling) == 0 {
		return all
	}
	return telling
}

// maxWords is how many words of a note or a query count.
const maxWords = 256

// common are words that say nothing about a text.
var common = map[string]bool{
	"a": true, "an": true, "and": true, "are": true, "as": true, "at": true, "be": true, "but": true, "by": true, "did": true,
	"do": true, "for": true, "from": true, "has": true, "have": true, "how": true, "i": true, "in": true, "is": true, "it": true,
	"me": true, "my": true, "of": true, "on": true, "or": true, "our": true, "that": true, "the": true, "this": true, "to": true,
	"was": true, "we": true, "were": true, "what": true, "when": true, "where": true, "which": true, "who": true, "with": true,
	"you": true, "your": true,
}

func words(text string) []string {
	var found []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			found = append(found, word.String())
			word.Reset()
		}
	}
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer):
			flush()
			found = append(found, string(r))
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			word.WriteRune(r)
		default:
			flush()
		}
	}
	flush()
	return found
}
