package search

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestWeights(t *testing.T) {
	terms := Words("lock").Want.Positive()
	r := NewRanker(terms, []float64{10}, 1000, 10, noon)
	c := r.Count(TextOf("the lock is flaky"))
	score := func(role Role, calls bool) float64 {
		s, _ := r.Score(Weight(role, calls), c, nil, noon)
		return s
	}
	order := []float64{score(RoleSummary, false), score(RoleTitle, false), score(RoleUser, false), score(RoleAssistant, true), score(RoleAssistant, false)}
	for i := 1; i < len(order); i++ {
		if order[i] >= order[i-1] {
			t.Errorf("the scores are %v, want each below the one before", order)
		}
	}
}

func TestRank(t *testing.T) {
	terms := Words("flaky lock").Want.Positive()
	r := NewRanker(terms, []float64{5, 500}, 1000, 10, noon)
	score := func(text string, at time.Time, beside ...Neighbor) float64 {
		s, _ := r.Score(1, r.Count(TextOf(text)), beside, at)
		return s
	}
	old := noon.AddDate(-1, 0, 0)
	next := Neighbor{Counts: r.Count(TextOf("lock")), Distance: 1}
	far := Neighbor{Counts: r.Count(TextOf("lock")), Distance: 2}
	for name, order := range map[string][2]float64{
		"both words before one":             {score("flaky lock", old), score("flaky test", old)},
		"a rare word before a common":       {score("flaky test", old), score("lock test", old)},
		"a short text before a long":        {score("flaky test", old), score("flaky test "+strings.Repeat("more words ", 50), old)},
		"the newer of equals":               {score("flaky", noon), score("flaky", old)},
		"a better match before a newer one": {score("flaky lock", old), score("flaky", noon)},
		"with the word beside it":           {score("flaky", old, next), score("flaky", old)},
		"itself before beside it":           {score("flaky lock", old), score("flaky", old, next)},
		"near before far":                   {score("flaky", old, next), score("flaky", old, far)},
	} {
		if order[0] <= order[1] {
			t.Errorf("%s: %v", name, order)
		}
	}
	if _, all := r.Score(1, r.Count(TextOf("flaky lock")), nil, noon); all < 0.99 {
		t.Errorf("a text with all words covers %f", all)
	}
	if _, some := r.Score(1, r.Count(TextOf("lock")), nil, noon); some <= 0 || some > 0.3 {
		t.Errorf("a text with the common word covers %f", some)
	}
}

func TestSnip(t *testing.T) {
	terms := Words("needle thread").Want.Positive()
	long := strings.Repeat("hay is dry. ", 500) + "a needle and a Thread " + strings.Repeat("und Heu für alle. ", 500) + "needle"
	snippet, matches := Excerpt(long, terms, MaxSnippet, nil)
	if len(snippet) > MaxSnippet || !utf8.ValidString(snippet) || !strings.Contains(snippet, "needle and a Thread") {
		t.Errorf("the snippet has %d bytes: %s", len(snippet), snippet)
	}
	if !strings.HasPrefix(snippet, "…") || !strings.HasSuffix(snippet, "…") {
		t.Errorf("the snippet is not marked as truncated: %.20q", snippet)
	}
	if len(matches) < 2 || snippet[matches[0][0]:matches[0][1]] != "needle" || snippet[matches[1][0]:matches[1][1]] != "Thread" {
		t.Errorf("the matches are %v", matches)
	}
	if whole, _ := Excerpt("just a needle", terms, MaxSnippet, nil); whole != "just a needle" {
		t.Errorf("a short text becomes %q", whole)
	}
	masked, _ := Excerpt("a needle "+strings.Repeat("x", 30), terms, MaxSnippet, func(s string) string { return strings.ReplaceAll(s, "x", "") })
	if masked != "a needle" {
		t.Errorf("it becomes %q", masked)
	}
}

func FuzzSnip(f *testing.F) {
	f.Add("a needle in hay", "needle", 20)
	f.Add(strings.Repeat("é", 300), "e*", 64)
	f.Fuzz(func(t *testing.T, text, query string, most int) {
		if most < 16 || most > 4096 || !utf8.ValidString(text) {
			return
		}
		q, err := Parse(query, noon)
		if err != nil {
			return
		}
		snippet, matches := Excerpt(text, q.Want.Positive(), most, nil)
		if len(snippet) > most || !utf8.ValidString(snippet) {
			t.Fatalf("%d bytes of at most %d: %q", len(snippet), most, snippet)
		}
		for _, m := range matches {
			if m[0] < 0 || m[0] >= m[1] || m[1] > len(snippet) {
				t.Fatalf("a match at %v of %d", m, len(snippet))
			}
		}
	})
}

func TestNear(t *testing.T) {
	say := func(role Role, text string, at time.Time) Passage { return Passage{role, TextOf(text).Words, at} }
	long := "please look at the flaky lock test and tell me why it fails on linux but not on windows or anywhere else at all"
	for name, c := range map[string]struct {
		a, b Passage
		want bool
	}{
		"the same":                {say(RoleUser, long, noon), say(RoleUser, long, noon), true},
		"said again later":        {say(RoleUser, long, noon), say(RoleUser, long, noon.AddDate(0, 0, 1)), true},
		"nearly the same":         {say(RoleUser, long+" really and truly", noon), say(RoleUser, long+" really and", noon), true},
		"another":                 {say(RoleUser, long, noon), say(RoleUser, "something quite different that nobody would take for the other one", noon), false},
		"by another author":       {say(RoleUser, long, noon), say(RoleAssistant, long, noon), false},
		"short, at the same time": {say(RoleUser, "yes", noon), say(RoleUser, "yes", noon.Add(time.Second)), true},
		"short, said again":       {say(RoleUser, "yes", noon), say(RoleUser, "yes", noon.Add(time.Hour)), false},
	} {
		if got := IsCopy(c.a, c.b); got != c.want || IsCopy(c.b, c.a) != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}
