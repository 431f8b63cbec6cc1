package search

import (
	"cmp"
	"math"
	"slices"
)

// How much it counts what was talked about around a text: so much more if it
// was all that was asked for, and half of that so many items away.
const (
	themeWeight = 1.0
	themeReach  = 12
)

// Placed is a text that was counted, and where it stands.
type Placed struct {
	Counts
	// Session tells sessions apart, N is the place within one. A title holds for
	// the whole session, wherever it stands.
	Session int64
	N       int
	Title   bool
}

// Themes says for each of some texts how much of what was asked for is talked
// about around it, from 0 to 1, as far as the others of them tell. People do not
// repeat what they talk about: of two texts that have the same words, the one in
// a conversation about the others is meant.
func (r *Ranker) Themes(texts []Placed) []float64 {
	order := make([]int, len(texts))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(texts[a].Session, texts[b].Session), cmp.Compare(texts[a].N, texts[b].N))
	})
	near := make([]float64, len(texts)*len(r.terms)) // of each text, how near each term is
	for start := 0; start < len(order); {
		end := start + 1
		for end < len(order) && texts[order[end]].Session == texts[order[start]].Session {
			end++
		}
		session := order[start:end]
		r.nearest(texts, session, near)
		slices.Reverse(session)
		r.nearest(texts, session, near)
		start = end
	}
	themes := make([]float64, len(texts))
	for i := range themes {
		themes[i] = r.share(near[i*len(r.terms) : (i+1)*len(r.terms)])
	}
	return themes
}

// nearest goes along the texts of a session and notes how near each term is
// behind them, if that is nearer than what is noted.
func (r *Ranker) nearest(texts []Placed, session []int, near []float64) {
	for k := range r.terms {
		seen, titled, last := false, false, 0
		for _, i := range session {
			titled = titled || texts[i].Title && texts[i].has(k)
		}
		for _, i := range session {
			at := &near[i*len(r.terms)+k]
			if texts[i].has(k) {
				seen, last = true, texts[i].N
			}
			switch {
			case titled:
				*at = 1
			case seen:
				*at = max(*at, math.Exp2(-math.Abs(float64(texts[i].N-last))/themeReach))
			}
		}
	}
}

// has reports whether a term is in the text.
func (p *Placed) has(term int) bool { return term < len(p.Of) && p.Of[term] > 0 }

// share is how much of what was asked for there is, by how much there is of
// each term.
func (r *Ranker) share(of []float64) float64 {
	if r.total == 0 {
		return 0
	}
	sum := 0.0
	for k, n := range of {
		sum += n * r.rare[k]
	}
	return sum / r.total
}

// Themed is the score of a text with what is talked about around it.
func Themed(score, theme float64) float64 { return score * (1 + themeWeight*theme) }
