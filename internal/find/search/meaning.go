package search

import (
	"cmp"
	"slices"

	"firn.dev/internal/find/meaning"
)

// Prepare prepares what the first question needs. A short process can call it in the
// background while it opens its files.
func Prepare() { meaning.Prepare() }

// Related is a word that is similar to a term of a query.
type Related struct {
	Word string
	// Term is the index of the term.
	Term       int
	Similarity float64
}

// The number of words related to a term and to a query, and their least similarity.
const (
	relatedPerTerm = 5
	maxRelated     = 12
	leastRelated   = 0.5
)

// Related returns words that are similar to the terms of a query, those of the rarest terms
// first.
func (r *Ranker) Related() []Related {
	table := meaning.Builtin()
	var all []Related
	for i, t := range r.terms {
		w, ok := r.wordOf(table, i)
		if !ok {
			continue
		}
		for _, near := range table.Near(w, relatedPerTerm, leastRelated) {
			text := table.Text(near.Word)
			known := slices.ContainsFunc(r.terms, func(other Term) bool { return len(other.Parts) == 1 && other.Parts[0] == text })
			if !known && text != t.Whole {
				all = append(all, Related{text, i, near.Similarity})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Related) int {
		return cmp.Compare(b.Similarity*r.rare[b.Term], a.Similarity*r.rare[a.Term])
	})
	return all[:min(len(all), maxRelated)]
}

// wordOf returns the word of a term that has a meaning of its own.
func (r *Ranker) wordOf(table *meaning.Table, term int) (meaning.Word, bool) {
	t := r.terms[term]
	if r.idle[term] || len(t.Parts) != 1 || t.Prefix || t.isCommon() {
		return 0, false
	}
	return table.Find(t.Parts[0])
}

// similarWords remembers how similar words are to the terms of a query.
type similarWords struct {
	table *meaning.Table
	terms []Term
	words []meaning.Word
	known []bool
	cache map[string]similarWord
}

type similarWord struct {
	word meaning.Word
	ok   bool
	// similar is the similarity to each term, from 0 to 1; nil if it is not similar to any.
	similar []float64
}

func (s *similarWords) of(word string) similarWord {
	one, ok := s.cache[word]
	if ok {
		return one
	}
	if one.word, one.ok = s.table.Find(word); one.ok && commonWords[word] {
		one.ok = false
	}
	for i, t := range s.terms {
		v := 0.0
		switch {
		case len(t.Parts) == 1 && t.Parts[0] == word:
			v = 1
		case one.ok && s.known[i]:
			v = max(0, (s.table.Rough(s.words[i], one.word)-leastSimilar)/(1-leastSimilar))
		}
		if v > 0 {
			if one.similar == nil {
				one.similar = make([]float64, len(s.terms))
			}
			one.similar[i] = v
		}
	}
	s.cache[word] = one
	return one
}

// leastSimilar is the similarity below which words have nothing in common.
const leastSimilar = 0.3

// addMeaning adds the features of meaning.
func (r *Ranker) addMeaning(all []Candidate) {
	table := meaning.Builtin()
	s := similarWords{table: table, terms: r.terms, words: make([]meaning.Word, len(r.terms)), known: make([]bool, len(r.terms)), cache: make(map[string]similarWord)}
	var asked []meaning.Word
	for i := range r.terms {
		if s.words[i], s.known[i] = r.wordOf(table, i); s.known[i] {
			asked = append(asked, s.words[i])
		}
	}
	question := table.Topic(asked)
	var words []meaning.Word
	best := make([]float64, len(r.terms))
	for k := range all {
		c := &all[k]
		words = words[:0]
		clear(best)
		for _, word := range c.Words {
			one := s.of(word)
			if one.ok {
				words = append(words, one.word)
			}
			for i, v := range one.similar {
				best[i] = max(best[i], v)
			}
		}
		sum := 0.0
		for i, v := range best {
			if !r.idle[i] {
				sum += r.rare[i] * v
			}
		}
		c.Features[FeatureMeaning] = sum / max(r.total, 1e-9)
		c.Features[FeatureTopic] = max(0, question.Similarity(table.Topic(words)))
	}
}
