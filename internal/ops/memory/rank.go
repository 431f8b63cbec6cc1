package memory

import (
	"math"
	"slices"
)

// ranking scores texts against a query: shared rare terms count more.
type ranking struct {
	wanted []string
	// worth is the weight of each query term, most the maximum score of a text.
	worth map[string]float64
	most  float64
	mean  float64
}

// The constants of the ranking: lengthWeight penalizes long texts, a title term counts
// titleWeight times, for a long query the rarest terms suffice, and a term that occurs in
// no note counts at most unknownWorth.
const (
	lengthWeight = 0.3
	titleWeight  = 1.5
	enoughWords  = 6
	unknownWorth = 1.5
)

// rank returns a ranking for a query among pieces.
func rank(wanted []string, pieces []piece) ranking {
	r := ranking{wanted: wanted, worth: make(map[string]float64), mean: 1}
	in := make(map[string]int)
	total := 0
	for _, p := range pieces {
		total += len(p.said)
		for _, word := range p.said {
			in[word]++
		}
	}
	if len(pieces) > 0 {
		r.mean = max(1, float64(total)/float64(len(pieces)))
	}
	var all []float64
	for _, word := range wanted {
		n, df := float64(len(pieces)), float64(in[word])
		worth := math.Log(1 + (n-df+0.5)/(df+0.5))
		// Among few notes every term is frequent, and a term that occurs in none does not
		// mean that nothing matches.
		if worth = max(worth, 0.2) + 0.5; df == 0 {
			worth = min(worth, unknownWorth)
		}
		r.worth[word] = worth
		all = append(all, r.worth[word])
	}
	slices.SortFunc(all, func(a, b float64) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	for _, worth := range all[:min(len(all), enoughWords)] {
		r.most += worth
	}
	return r
}

// score returns how well a text matches, from 0 to 1, and its rank, which also considers
// the title.
func (r ranking) score(titled, said []string) (fit, rank float64) {
	if r.most == 0 {
		return 0, 0
	}
	for _, word := range said {
		worth := r.worth[word]
		fit += worth
		if worth > 0 && slices.Contains(titled, word) {
			worth *= titleWeight
		}
		rank += worth
	}
	longer := math.Log2(max(1, float64(len(said))/r.mean))
	whole := r.most * (1 + lengthWeight*longer)
	return min(1, fit/whole), rank / whole
}
