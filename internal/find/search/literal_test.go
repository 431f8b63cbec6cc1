package search_test

import (
	"testing"

	"firn.dev/internal/find/search"
)

// TestLiteral checks which texts contain a literal.
func TestLiteral(t *testing.T) {
	for _, c := range []struct {
		query, text string
		want        bool
	}{
		{"vermilion gherkin", "Here is the **vermilion**  gherkin.", true},
		{"vermilion gherkin", "a gherkin, vermilion", false},
		{"running", "they run", false},
		{"runni", "Running on", true},
		{"cat", "concatenate", false},
		{"what did the fox say", "What did the fox say?", true},
		{"what did the fox say", "the fox did say what", false},
		{"fmt.Println(", "use fmt.Println(x)", true},
		{"fmt.Println(", "use fmt Println", false},
		{"cafe", "le Café noir", true},
		{"实数", "为实数。", true},
		{"数", "为实数。", true},
		{"OR NOT (", "or not ( at all", true},
	} {
		l, ok := search.NewLiteral(c.query)
		if !ok || l.In(c.text) != c.want {
			t.Errorf("%q in %q: %t, want %t", c.query, c.text, ok && l.In(c.text), c.want)
		}
	}
	if _, ok := search.NewLiteral(" ?! "); ok {
		t.Error("punctuation is a literal")
	}
}
