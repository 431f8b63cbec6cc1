package search

import (
	"math"
	"slices"
	"time"
)

// The constants of BM25: how soon more of a word stops to count, and how much
// long texts are held back.
const (
	saturation = 1.2
	lengthBias = 0.5
)

// How much a word in the items beside a text counts, next and next but one. It
// is what a text is about that it does not say itself: the question before the
// answer.
const (
	besideWeight  = 0.35
	besideWeight2 = 0.15
)

// idleWeight is what a word counts that every question has.
const idleWeight = 0.1

// Ranker says how well texts answer a query.
type Ranker struct {
	terms []Term
	rare  []float64
	// idle says which terms say nothing of a text, if there are others; total is
	// what those others are worth together.
	idle  []bool
	total float64
	mean  float64
	now   time.Time
}

// NewRanker makes a ranker: frequency is how many of all texts have each of the
// terms, mean how many words a text has.
func NewRanker(terms []Term, frequency []float64, all, mean float64, now time.Time) *Ranker {
	r := &Ranker{terms: terms, rare: make([]float64, len(terms)), idle: make([]bool, len(terms)), mean: max(mean, 1), now: now}
	telling := slices.ContainsFunc(terms, func(t Term) bool { return !t.idle() })
	for i, f := range frequency {
		f = min(f, all)
		r.rare[i] = math.Log(1 + (all-f+0.5)/(f+0.5))
		if r.idle[i] = telling && terms[i].idle(); r.idle[i] {
			r.rare[i] *= idleWeight
			continue
		}
		r.total += r.rare[i]
	}
	return r
}

// Rare says how much a term counts.
func (r *Ranker) Rare(term int) float64 { return r.rare[term] }

// Counts are how often each term is in a text, and how many words it has.
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

// Beside is a text that stands near another one, at a distance of one or two.
type Beside struct {
	Counts
	Distance int
}

// Score says how well a text of a weight fits, and how much of what was asked
// for it has itself or beside it, from 0 to 1. Of texts that fit as well, the
// newer one has a little more.
func (r *Ranker) Score(weight float64, c Counts, beside []Beside, at time.Time) (score, coverage float64) {
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
	return score * (1 + recency*math.Exp2(-max(r.now.Sub(at).Hours(), 0)/halfLife)), coverage
}

// Newer texts get so much more, which halves in so many hours.
const (
	recency  = 0.05
	halfLife = 24 * 60
)

// normal is how often a term is in a text, less in a long one.
func (r *Ranker) normal(c Counts, i int) float64 {
	if i >= len(c.Of) || c.Of[i] == 0 {
		return 0
	}
	return c.Of[i] / (1 - lengthBias + lengthBias*float64(c.Words)/r.mean)
}
