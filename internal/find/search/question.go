package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// IsQuestion reports whether a query is a question in natural language: plain words, the
// first of which is a question word, or many of which are not common. Other queries are
// keywords, for which only texts with these words are relevant.
func (n *Node) IsQuestion() bool {
	if n == nil || n.Op != OpList {
		return false
	}
	rare := 0
	for _, kid := range n.Kids {
		if !kid.plain() || kid.Term.Prefix {
			return false
		}
		if !kid.Term.isCommon() {
			rare++
		}
	}
	return rare >= 4 || rare >= 2 && questionWords()[n.Kids[0].Term.Whole]
}

// wordSet returns a function that returns a set of words and their stems. The set is built
// when it is first needed.
func wordSet(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := make(map[string]bool)
		for _, word := range strings.Fields(words) {
			set[cutFold(word)] = true
			for _, token := range Tokens(word) {
				set[token.Term] = true
			}
		}
		return set
	})
}

var (
	// questionWords are the first words of questions, in English, German, French and
	// Spanish.
	questionWords = wordSet(`what when where who whom whose which why how did do does is are was were has have had can could should
		would will wann wo wer wen wem was welche welcher welches warum wieso wie hat haben ist sind war quand où qui que quel quelle
		quels quelles pourquoi comment combien est cuándo dónde quién qué cuál cuáles cómo cuánto cuánta`)
	// whenWords are words of questions for a time.
	whenWords = wordSet("when wann quand cuándo date year month day ago long since datum jahr monat tag seit année mois jour depuis fecha año mes día desde")
	// timeWords occur in texts that mention a time.
	timeWords = wordSet(`yesterday today tomorrow tonight ago last next since recently week weekend month year day night morning evening
		monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october
		november december gestern heute morgen vor letzte letzten letztes nächste woche wochenende monat jahr tag montag dienstag
		mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli oktober dezember hier aujourd'hui demain semaine
		mois année jour lundi mardi mercredi jeudi vendredi samedi dimanche ayer hoy mañana semana mes año día lunes martes miércoles
		jueves viernes sábado domingo`)
)

// Feature is a part of the score of a text for a question.
type Feature int

// Features. Those without a unit are from 0 to 1.
const (
	// FeatureWindow is the BM25 score of a text together with its neighbors, and
	// FeaturePrevious the score of the previous text.
	FeatureWindow Feature = iota
	FeaturePrevious
	// FeatureCoverage is the share of the question that the text and its neighbors cover.
	FeatureCoverage
	// FeatureFeedback is the share of words that are typical of the best texts.
	FeatureFeedback
	// FeatureSpeaker is 1 if the speaker is named in the question.
	FeatureSpeaker
	// FeatureDated is 1 if the question asks for a time and the text mentions one.
	FeatureDated
	// FeatureLength is the logarithm of the number of words.
	FeatureLength
	featureCount
)

// Features holds the features of a text.
type Features [featureCount]float64

// FeatureNames are the names of the features.
var FeatureNames = [featureCount]string{"window", "previous", "coverage", "feedback", "speaker", "dated", "length"}

// QuestionWeights returns the weights of the features.
func QuestionWeights() Features { return questionWeights }

// questionWeights are the weights of the features. They were learned from judged questions
// and rounded; make bench-recall measures the effect of each.
var questionWeights = Features{
	FeatureWindow:   1,
	FeaturePrevious: 0.7,
	FeatureCoverage: 15,
	FeatureFeedback: 2,
	FeatureSpeaker:  13,
	FeatureDated:    7,
	FeatureLength:   2,
}

// total returns the weighted sum.
func (f *Features) total(weights *Features) float64 {
	sum := 0.0
	for i, v := range f {
		sum += weights[i] * v
	}
	return sum
}

// Candidate is a text that may answer a question.
type Candidate struct {
	Placed
	Words []string
	// Weight is the weight of the words, by role.
	Weight float64
	Time   time.Time
	// Before and After are the counts of the neighbors, nearest first.
	Before, After []Counts

	Features        Features
	Score, Coverage float64
}

// RankQuestion scores the candidates for a question. The weights may be nil.
func (r *Ranker) RankQuestion(all []Candidate, weights *Features) {
	if weights == nil {
		weights = &questionWeights
	}
	q := r.withoutSpeakers(all)
	for i := range all {
		c := &all[i]
		f := &c.Features
		f[FeatureWindow], f[FeatureCoverage] = q.window(c)
		_, c.Coverage = r.window(c)
		if len(c.Before) > 0 {
			f[FeaturePrevious] = q.plainScore(c.Before[0])
		}
		f[FeatureLength] = math.Log1p(float64(len(c.Words)))
	}
	r.addSpeakers(q, all)
	r.addDates(all)
	addFeedback(all)
	for i := range all {
		c := &all[i]
		c.Score = c.Features.total(weights)
		if c.Score > 0 {
			c.Score *= r.bonus(c.Time)
		}
	}
}

// minSpoken is the number of texts that must begin with a name before it is taken for a
// speaker's.
const minSpoken = 3

// withoutSpeakers returns a ranker that ignores the names of speakers. Chats imported as
// plain text begin each message with its sender, whose name says who spoke rather than what
// it is about.
func (r *Ranker) withoutSpeakers(all []Candidate) *Ranker {
	q := *r
	q.rare, q.idle, q.total = slices.Clone(r.rare), slices.Clone(r.idle), r.total
	for i, t := range r.terms {
		if len(t.Parts) != 1 || t.Prefix || r.idle[i] {
			continue
		}
		first, has := 0, 0
		for k := range all {
			if !all[k].has(i) {
				continue
			}
			has++
			if len(all[k].Words) > 1 && all[k].Words[0] == t.Parts[0] {
				first++
			}
		}
		if first >= minSpoken && 2*first >= has && q.total > q.rare[i] {
			q.total -= q.rare[i]
			q.rare[i], q.idle[i] = 0, true
		}
	}
	return &q
}

// addSpeakers adds the features of speakers: the terms that q ignores.
func (r *Ranker) addSpeakers(q *Ranker, all []Candidate) {
	for i, t := range r.terms {
		if r.idle[i] || !q.idle[i] {
			continue
		}
		for k := range all {
			if c := &all[k]; len(c.Words) > 0 && c.Words[0] == t.Parts[0] {
				c.Features[FeatureSpeaker] = 1
			}
		}
	}
}

// addDates adds the feature of texts that mention a time, if the question asks for one.
func (r *Ranker) addDates(all []Candidate) {
	if !slices.ContainsFunc(r.terms, func(t Term) bool { return whenWords()[t.Whole] }) {
		return
	}
	times := timeWords()
	for k := range all {
		if slices.ContainsFunc(all[k].Words, func(w string) bool { return times[w] }) {
			all[k].Features[FeatureDated] = 1
		}
	}
}

// Feedback: the number of texts and of words taken from them.
const (
	feedbackTexts = 8
	feedbackWords = 15
)

// addFeedback adds the feedback of the best texts: words that are frequent in them and rare
// in the others are probably about the same topic.
func addFeedback(all []Candidate) {
	order := make([]int, len(all))
	frequency := make(map[string]float64)
	for i := range all {
		order[i] = i
		seen := make(map[string]bool)
		for _, w := range all[i].Words {
			if !seen[w] {
				seen[w] = true
				frequency[w]++
			}
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(all[b].Features[FeatureWindow], all[a].Features[FeatureWindow]), cmp.Compare(a, b))
	})
	type weighted struct {
		word   string
		weight float64
	}
	gathered := make(map[string]float64)
	for _, i := range order[:min(len(order), feedbackTexts)] {
		for _, w := range all[i].Words {
			if len(w) > 2 && !commonWords[w] {
				f := frequency[w]
				gathered[w] += all[i].Features[FeatureWindow] / float64(len(all[i].Words)) * math.Log(1+(float64(len(all))-f+0.5)/(f+0.5))
			}
		}
	}
	words := make([]weighted, 0, len(gathered))
	for w, v := range gathered {
		words = append(words, weighted{w, v})
	}
	slices.SortFunc(words, func(a, b weighted) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.word, b.word))
	})
	words = words[:min(len(words), feedbackWords)]
	total := 0.0
	share := make(map[string]float64, len(words))
	for _, w := range words {
		total += w.weight
	}
	for _, w := range words {
		share[w.word] = w.weight / max(total, 1e-9)
	}
	for i := range all {
		counted := make(map[string]bool)
		for _, w := range all[i].Words {
			if v := share[w]; v > 0 && !counted[w] {
				counted[w] = true
				all[i].Features[FeatureFeedback] += v
			}
		}
	}
}

// window returns the BM25 score of a text with its neighbors, and its coverage.
func (r *Ranker) window(c *Candidate) (score, coverage float64) {
	beside := make([]Neighbor, 0, 4)
	for _, side := range [2][]Counts{c.Before, c.After} {
		for k, counts := range side[:min(len(side), 2)] {
			beside = append(beside, Neighbor{Counts: counts, Distance: k + 1})
		}
	}
	return r.sum(c.Weight, c.Counts, beside)
}

// plainScore returns the BM25 score of a text without neighbors.
func (r *Ranker) plainScore(c Counts) float64 {
	score, _ := r.sum(1, c, nil)
	return score
}
