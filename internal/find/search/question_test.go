package search

import (
	"cmp"
	"slices"
	"testing"
	"time"
)

// TestIsQuestion checks that questions are distinguished from keywords.
func TestIsQuestion(t *testing.T) {
	for text, want := range map[string]bool{
		"When did we move into the new flat?":    true,
		"what color are the tiles":               true,
		"Wann sind wir umgezogen?":               true,
		"flaky lock test":                        false,
		"deadlock":                               false,
		"flaky lock test in the gateway package": true,
		`what "exact phrase" was it`:             false,
		"what AND why":                           false,
		"pre*":                                   false,
	} {
		q, err := Parse(text, time.Now())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := q.Want.IsQuestion(); got != want {
			t.Errorf("%q is a question: %v, want %v", text, got, want)
		}
	}
}

// rankTexts ranks the texts of one session for a question, best first.
func rankTexts(t *testing.T, question string, texts ...string) []int {
	t.Helper()
	q, err := Parse(question, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	terms := q.Want.Positive()
	all := make([]Candidate, len(texts))
	frequency := make([]float64, len(terms))
	r := NewRanker(terms, frequency, 1, 1, time.Now())
	for i, text := range texts {
		words := TextOf(text)
		all[i] = Candidate{Placed: Placed{Counts: r.Count(words), Session: 1, N: i + 1}, Words: words.Words, Weight: 1, Asks: AskedShare(text)}
		for k, n := range all[i].Of {
			if n > 0 {
				frequency[k]++
			}
		}
	}
	r = NewRanker(terms, frequency, float64(20*len(texts)), 12, time.Now())
	for i := range all {
		if i > 0 {
			all[i].Before = []Counts{all[i-1].Counts}
		}
		if i+1 < len(all) {
			all[i].After = []Counts{all[i+1].Counts}
		}
	}
	r.RankQuestion(all, nil)
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(all[b].Score, all[a].Score)
	})
	return order
}

// TestRankQuestion ranks short conversations. The text that answers must be among the first
// two: another one may have more words of the question.
func TestRankQuestion(t *testing.T) {
	for name, c := range map[string]struct {
		question string
		texts    []string
		best     int
	}{
		"an answer follows its question": {"Which color did we choose for the kitchen walls?", []string{
			"The weather was terrible, so we stayed at home.", "Which color shall we take for the walls of the kitchen?",
			"Let us go with the pale green one.", "Good. The train leaves at nine.", "I will bring sandwiches and tea.",
		}, 2},
		"similar words": {"What did the doctor say about my illness?", []string{
			"We bought a new lamp for the desk.", "The physician told me that the disease will pass within two weeks.",
			"My brother plays the guitar in a band.", "The shop around the corner sells bread.",
		}, 1},
		"a time is asked for": {"When did the deployment of the gateway fail?", []string{
			"The deployment of the gateway should be simple.", "The gateway deployment failed last tuesday, at night.",
			"Deployment of the gateway: see the handbook, which is long.", "We had lunch together.",
		}, 1},
		"the speaker is named": {"What instrument does Anna play?", []string{
			"Ben: I play an instrument in an orchestra.", "Anna: I play the cello since I was a child.", "Ben: Anna, which instrument do you like?",
			"Anna: The weather is nice today.", "Anna: See you soon then, bye.", "Ben: See you.",
		}, 1},
		"a question is no answer": {"Which rose did grandmother plant by the gate?", []string{
			"Which rose did grandmother plant by the gate, do you know it?", "Grandmother did plant the rose by the gate: it is a Damask rose.",
			"Did grandmother plant a rose by the gate, and which?", "The kettle is on.", "Bring the newspaper, please.",
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			order := rankTexts(t, c.question, c.texts...)
			if at := slices.Index(order, c.best); at > 1 {
				t.Errorf("the answer is number %d: %v", at+1, order)
			}
		})
	}
}

// TestRelated finds words that are similar to those of a question.
func TestRelated(t *testing.T) {
	q, err := Parse("what did the doctor say", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	terms := q.Want.Positive()
	r := NewRanker(terms, make([]float64, len(terms)), 1000, 10, time.Now())
	related := r.Related()
	if !slices.ContainsFunc(related, func(w Related) bool { return w.Word == Tokens("physician")[0].Term }) {
		t.Errorf("words related to a doctor: %v", related)
	}
	if len(related) > maxRelated {
		t.Errorf("%d related words", len(related))
	}
}
