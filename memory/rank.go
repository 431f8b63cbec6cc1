package memory

import (
	"math"
	"slices"
)

// ranking says how well texts fit a query: the rarer the words that they share
// with it, the better.
type ranking struct {
	wanted []string
	// worth is how much each wanted word counts, most what a text can reach.
	worth map[string]float64
	most  float64
	mean  float64
}

// Constants of the ranking: a text that is longer than others must share more
// (by how much is lengthWeight), a word of the title counts titleWeight times,
// of a long query the rarest words are enough, and a word that no note has counts
// unknownWorth at most.
const (
	lengthWeight = 0.3
	titleWeight  = 1.5
	enoughWords  = 6
	unknownWorth = 1.5
)

// rank makes a ranking for a query among pieces.
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
		// Among few notes every word is in many of them; and a word that is in
		// none does not say that nothing fits.
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

// score is how well a text fits, from 0 to 1, and how far ahead of others it
// comes, which its title helps.
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
