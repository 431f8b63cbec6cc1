package search

import (
	"math"
	"testing"
	"time"
)

// themes returns the themes of texts.
func themes(t *testing.T, query string, texts []Placed, messages ...string) []float64 {
	t.Helper()
	terms := Words(query).Want.Positive()
	frequency := make([]float64, len(terms))
	for i := range frequency {
		frequency[i] = 2 // all are equally rare
	}
	r := NewRanker(terms, frequency, 100, 5, time.Time{})
	for i := range texts {
		texts[i].Counts = r.Count(TextOf(messages[i]))
	}
	return r.Themes(texts)
}

func TestThemes(t *testing.T) {
	got := themes(t, "kitchen tiles", []Placed{
		{Session: 1, N: 1}, {Session: 1, N: 2}, // both words in adjacent texts
		{Session: 1, N: 1000},           // far away in the same session
		{Session: 2, N: 2},              // another session
		{Session: 3, N: 1, Title: true}, // a title applies to the whole session
		{Session: 3, N: 1000},
	}, "The kitchen is old.", "Green tiles!", "More tiles.", "Roof tiles.", "Kitchen", "Which tiles?")
	near := (1 + math.Exp2(-1.0/themeReach)) / 2
	for i, want := range []float64{near, near, 0.5, 0.5, 0.5, 1} {
		if math.Abs(got[i]-want) > 0.001 {
			t.Errorf("the theme of text %d is %.3f, want %.3f", i, got[i], want)
		}
	}
	if all, half, none := WithTheme(2, 1), WithTheme(2, 0.5), WithTheme(2, 0); !(all > half && half > none && none == 2) {
		t.Errorf("themed scores are %v, %v, %v", all, half, none)
	}
}
