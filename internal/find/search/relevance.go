package search

import (
	"math"
	"slices"
	"time"
)

// Weights of the relevance of a text. They were learned by logistic regression from judged
// questions, half of which were asked of conversations that do not answer them.
const (
	relevanceCoverage = 4.7
	relevanceScore    = 0.2
	relevanceBias     = -3.7
	// leastTexts is the number of texts in these conversations. Among more texts, more have
	// words of the query by chance. Among fewer, every word is frequent.
	leastTexts = 600
)

// LeastRelevance is the relevance that the best text for a question must have to be
// mentioned without a request. With it, something is mentioned for less than 5 % of the
// questions that have no answer; make bench-recall measures it.
const LeastRelevance = 0.65

// Relevance returns the estimated probability that one of a number of texts is about a query,
// from its coverage and its BM25 score. Unlike the score, it is comparable between queries.
func Relevance(coverage, score, texts float64) float64 {
	odds := relevanceCoverage*coverage + relevanceScore*score + relevanceBias - math.Log(max(texts/leastTexts, 1))
	return 1 / (1 + math.Exp(-odds))
}

// Relevance is Relevance for the query of the ranker. One word says too little to be sure,
// unless it is rare or there are few texts, and is not as short as in "go on".
func (r *Ranker) Relevance(coverage, score, texts float64) float64 {
	v, distinctive, rare := Relevance(coverage, score, texts), 0, false
	for i, t := range r.terms {
		if !t.isCommon() {
			distinctive++
			rare = len(t.Whole) > 2 && (r.frequency[i] <= rareTexts || texts <= fewTexts)
		}
	}
	if distinctive == 0 || distinctive == 1 && !rare {
		v = min(v, oneWordRelevance)
	}
	return v
}

const (
	// rareTexts is the number of texts up to which a word in them is rare. Among at most
	// fewTexts, a word is not found by chance.
	rareTexts, fewTexts = 3, 100
)

// oneWordRelevance is the greatest relevance for a query of one word.
const oneWordRelevance = 0.5

// floorRelevance is the relevance of the other texts that are mentioned.
const floorRelevance = 0.25

// Relevant returns the hits to mention without a request: none unless one of them is relevant.
func Relevant(hits []Hit) []Hit {
	best := 0.0
	for _, h := range hits {
		best = max(best, h.Relevance)
	}
	if best < LeastRelevance {
		return nil
	}
	return slices.DeleteFunc(hits, func(h Hit) bool { return h.Relevance < floorRelevance })
}

// RankTexts returns the relevance of texts that are not indexed, such as notes, for the
// words of a query. It is on the same scale as that of hits.
func RankTexts(query string, texts []Text) []float64 {
	all := make([]float64, len(texts))
	q := Words(query)
	if q.Want == nil {
		return all
	}
	terms := q.Want.Positive()
	frequency, words := make([]float64, len(terms)), 0
	counter := &Ranker{terms: terms}
	counts := make([]Counts, len(texts))
	for i, t := range texts {
		counts[i] = counter.Count(t)
		words += len(t.Words)
		for k, n := range counts[i].Of {
			if n > 0 {
				frequency[k]++
			}
		}
	}
	mean := float64(words) / float64(max(len(texts), 1))
	r := NewRanker(terms, frequency, float64(max(len(texts), leastTexts)), mean, time.Time{})
	for i, c := range counts {
		if score, coverage := r.sum(Weight(RoleUser, false), c, nil); coverage > 0 {
			all[i] = Relevance(coverage, score, float64(len(texts)))
		}
	}
	return all
}
