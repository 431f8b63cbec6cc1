package search

import (
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
	// FeatureSpeaker is 1 if the speaker is named in the question.
	FeatureSpeaker
	// FeatureDated is 1 if the question asks for a time and the text mentions one.
	FeatureDated
	// FeatureLength is the logarithm of the number of words.
	FeatureLength
	// FeatureMeaning is the share of the question for which the text has similar words, and
	// FeatureTopic the similarity of the question and the text as a whole.
	FeatureMeaning
	FeatureTopic
	// FeatureSession is the greatest FeatureWindow of the session.
	FeatureSession
	// FeatureAsks is the share of the text that is questions. Questions rarely answer one.
	FeatureAsks
	// FeatureVector is the similarity of the vectors of an embeddings model, if there is one.
	FeatureVector
	featureCount
)

// Features holds the features of a text.
type Features [featureCount]float64

// FeatureNames are the names of the features.
var FeatureNames = [featureCount]string{"window", "previous", "coverage", "speaker", "dated", "length", "meaning", "topic", "session", "asks", "vector"}

// QuestionWeights returns the weights of the features.
func QuestionWeights() Features { return questionWeights }

// questionWeights are the weights of the features. They were learned from judged questions
// and rounded; make bench-recall measures the effect of each.
var questionWeights = Features{
	FeatureWindow:   1,
	FeaturePrevious: 1.1,
	FeatureCoverage: 10,
	FeatureSpeaker:  21,
	FeatureDated:    12,
	FeatureLength:   4,
	FeatureMeaning:  13,
	FeatureTopic:    14,
	FeatureSession:  2,
	FeatureAsks:     -4,
	FeatureVector:   20, // not learned, since there is no model without settings
}

// total returns the weighted sum.
func (f *Features) total(weights *Features) float64 {
	sum := 0.0
	for i, v := range f {
		sum += weights[i] * v
	}
	return sum
}

// Parts returns what each feature adds to the score, by name.
func (f *Features) Parts() map[string]float64 {
	parts := make(map[string]float64)
	for i, v := range f {
		if v *= questionWeights[i]; v != 0 {
			parts[FeatureNames[i]] = v
		}
	}
	return parts
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
	// Asks is the share of the text that is questions.
	Asks float64
	// Similar is the similarity of its vector to the question's, by rank, from 0 to 1.
	Similar float64

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
		f[FeatureVector], f[FeatureAsks] = c.Similar, c.Asks
		f[FeatureLength] = math.Log1p(float64(len(c.Words)))
	}
	r.addSpeakers(q, all)
	r.addDates(all)
	q.addMeaning(all)
	addSessions(all)
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

// addSessions adds the feature of the session of each text: the best text of a session says
// what the others are about.
func addSessions(all []Candidate) {
	best := make(map[int64]float64)
	for i := range all {
		best[all[i].Session] = max(best[all[i].Session], all[i].Features[FeatureWindow])
	}
	for i := range all {
		all[i].Features[FeatureSession] = best[all[i].Session]
	}
}
