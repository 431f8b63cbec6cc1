package search

import (
	"cmp"
	"math"
	"slices"
)

// themeWeight is the bonus if the surrounding text covers the whole query; it is halved at
// a distance of themeReach items.
const (
	themeWeight = 1.0
	themeReach  = 12
)

// Placed is a counted text and its location.
type Placed struct {
	Counts
	// Session identifies the session, N is the position within it. A title applies to the
	// whole session.
	Session int64
	N       int
	Title   bool
}

// Themes returns for each text how much of the query the surrounding texts cover, from 0 to
// 1, based on the given texts only. People rarely repeat the topic of a conversation: of
// two texts with the same words, the one whose context covers the rest of the query is more
// relevant.
func (r *Ranker) Themes(texts []Placed) []float64 {
	order := make([]int, len(texts))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(texts[a].Session, texts[b].Session), cmp.Compare(texts[a].N, texts[b].N))
	})
	near := make([]float64, len(texts)*len(r.terms)) // for each text, the proximity of each term
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

// nearest walks along the texts of a session and updates the proximity of the terms before
// each.
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

// share returns the covered share of the query, given the proximity of each term.
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

// WithTheme returns the score of a text including its theme.
func WithTheme(score, theme float64) float64 { return score * (1 + themeWeight*theme) }
