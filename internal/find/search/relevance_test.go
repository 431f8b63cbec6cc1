package search

import "testing"

// TestRankTexts checks that a text is relevant if it has most of a query, and not if it
// shares a word with it, however few texts there are.
func TestRankTexts(t *testing.T) {
	texts := []Text{TextOf("The user drinks green tea in the morning."), TextOf("Anna reviews the database changes"), TextOf("")}
	for query, want := range map[string]int{
		"which tea do I drink":              0,
		"who reviews database migrations":   1,
		"what is the weather like in Paris": -1,
		"please refactor the parser so that it handles nested comments and returns better errors for tea": -1,
		"": -1, "?": -1, "what is it": -1,
	} {
		for i, r := range RankTexts(query, texts) {
			if r < 0 || r > 1 || (r >= 0.25) != (i == want) {
				t.Errorf("%q: text %d has relevance %.2f", query, i, r)
			}
		}
	}
	if got := RankTexts("tea", nil); len(got) != 0 {
		t.Errorf("no texts are ranked %v", got)
	}
}
