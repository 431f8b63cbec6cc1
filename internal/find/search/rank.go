package search

import (
	"math"
	"slices"
	"time"
)

// Parameters k1 and b of BM25: saturation of the term frequency, and length normalization.
const (
	saturation = 1.2
	lengthBias = 0.5
)

// Weights of words in adjacent items, at a distance of one and two. They often contain the
// topic of a text, as a question does for its answer.
const (
	besideWeight  = 0.35
	besideWeight2 = 0.15
)

// commonWeight is the weight of common words.
const commonWeight = 0.1

// Ranker scores texts for a query.
type Ranker struct {
	terms []Term
	// frequency is the number of texts with each term, rare its weight.
	frequency, rare []float64
	// idle marks common terms, if there are others; total is the weight of the other terms.
	idle  []bool
	total float64
	mean  float64
	now   time.Time
}

// NewRanker returns a ranker. frequency is the number of texts with each term, all the
// number of texts, and mean the average number of words of a text.
func NewRanker(terms []Term, frequency []float64, all, mean float64, now time.Time) *Ranker {
	r := &Ranker{terms: terms, frequency: frequency, rare: make([]float64, len(terms)), idle: make([]bool, len(terms)), mean: max(mean, 1), now: now}
	distinctive := slices.ContainsFunc(terms, func(t Term) bool { return !t.isCommon() })
	for i, f := range frequency {
		f = min(f, all)
		r.rare[i] = math.Log(1 + (all-f+0.5)/(f+0.5))
		if r.idle[i] = distinctive && terms[i].isCommon(); r.idle[i] {
			r.rare[i] *= commonWeight
			continue
		}
		r.total += r.rare[i]
	}
	return r
}

// Rare returns the weight of a term.
func (r *Ranker) Rare(term int) float64 { return r.rare[term] }

// Counts is how often each term occurs in a text, and the number of its words.
type Counts struct {
	Of    []float64
	Words int
}

// Count counts the terms in a text.
func (r *Ranker) Count(t Text) Counts {
	c := Counts{Of: make([]float64, len(r.terms)), Words: len(t.Words)}
	for i, term := range r.terms {
		c.Of[i] = float64(term.Count(t))
	}
	return c
}

// Neighbor is a text near another one, at a distance of one or two.
type Neighbor struct {
	Counts
	Distance int
}

// Score returns the score of a text with a weight, and the share of the query that it or
// its neighbors cover, from 0 to 1. Newer texts score slightly higher.
func (r *Ranker) Score(weight float64, c Counts, beside []Neighbor, at time.Time) (score, coverage float64) {
	score, coverage = r.sum(weight, c, beside)
	return score * r.bonus(at), coverage
}

// bonus returns the factor for the age of a text.
func (r *Ranker) bonus(at time.Time) float64 {
	return 1 + recency*math.Exp2(-max(r.now.Sub(at).Hours(), 0)/halfLife)
}

// sum returns the score and the coverage of a text, regardless of its age.
func (r *Ranker) sum(weight float64, c Counts, beside []Neighbor) (score, coverage float64) {
	for i := range r.terms {
		tf := weight * r.normal(c, i)
		for _, b := range beside {
			share := besideWeight
			if b.Distance > 1 {
				share = besideWeight2
			}
			tf += share * r.normal(b.Counts, i)
		}
		if tf > 0 {
			score += r.rare[i] * tf * (saturation + 1) / (tf + saturation)
			if !r.idle[i] {
				coverage += r.rare[i] * min(tf, 1)
			}
		}
	}
	if r.total > 0 {
		coverage /= r.total
	}
	return score, coverage
}

// The bonus of new texts, and its half-life in hours.
const (
	recency  = 0.05
	halfLife = 24 * 60
)

// normal returns the term frequency normalized by the length of the text.
func (r *Ranker) normal(c Counts, i int) float64 {
	if i >= len(c.Of) || c.Of[i] == 0 {
		return 0
	}
	return c.Of[i] / (1 - lengthBias + lengthBias*float64(c.Words)/r.mean)
}
