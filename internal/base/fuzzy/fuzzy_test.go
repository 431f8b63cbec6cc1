package fuzzy

import (
	"slices"
	"strings"
	"testing"
)

// TestRank checks which texts match, and in which order.
func TestRank(t *testing.T) {
	for _, c := range []struct {
		pattern string
		texts   []string
		want    []string
	}{
		{"", []string{"b", "a"}, []string{"b", "a"}},
		{"gpt5", []string{"openai/o4", "openai/gpt-4.1-2025", "openai/gpt-5", "openai/gpt-5-mini"}, []string{"openai/gpt-5", "openai/gpt-5-mini", "openai/gpt-4.1-2025"}},
		{"sonet", []string{"anthropic/claude-sonnet-5", "anthropic/claude-opus"}, []string{"anthropic/claude-sonnet-5"}},
		{"snwice", []string{"sewing machines in winter, with a nice view over the lake", "Snow and ice"}, []string{"Snow and ice", "sewing machines in winter, with a nice view over the lake"}},
		{"snwice", []string{"xsxxxxxxnxxxxxxxwxxxxxxixxxxxxcxxxxxxe"}, nil},
		// A word's start, then its middle; a path segment before a word in a segment.
		{"par", []string{"compare", "a parser"}, []string{"a parser", "compare"}},
		{"shop", []string{"/src/workshop", "/src/my-shop", "/src/shop"}, []string{"/src/shop", "/src/my-shop", "/src/workshop"}},
		// Adjacent letters before scattered ones, initials before letters within words.
		{"test", []string{"the end of a string test", "tree set"}, []string{"the end of a string test", "tree set"}},
		{"rtp", []string{"carton part", "Refactor the parser"}, []string{"Refactor the parser", "carton part"}},
		{"fb", []string{"afterburner", "fooBar"}, []string{"fooBar", "afterburner"}},
		// All words, in any order.
		{"ice snow", []string{"snow", "Snow and ice"}, []string{"Snow and ice"}},
		{"GRÖS", []string{"Größe", "größe ändern", "Grüße und so"}, nil},
		{"grö", []string{"Größe"}, []string{"Größe"}},
		{"zz", []string{"a", ""}, nil},
	} {
		got := Rank(c.texts, c.pattern, func(s string) []Field { return []Field{{Text: s, Weight: 100}} })
		if !slices.Equal(got, c.want) {
			t.Errorf("%q ranks %q, want %q", c.pattern, got, c.want)
		}
	}
}

// TestLongTexts checks that long and odd input is cut and does no harm.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("ab", 1<<20)
	if Score(long, "ab") == 0 || Score(long, long) == 0 || Score("ab", long) != 0 || Score(long+"x", "x") != 0 {
		t.Error("a long text is matched by its start only")
	}
	if Score("\xff\xfe", "\xff") == 0 || Score("a", "\n") != 0 {
		t.Error("invalid bytes are matched as one character")
	}
}

func FuzzScore(f *testing.F) {
	f.Add("Snow and ice", "snwice")
	f.Add("ẞİ", "i̇")
	f.Fuzz(func(t *testing.T, text, pattern string) {
		if s := Score(text, pattern); s < 0 || s > 0 && !inOrder(lower(cut(text, maxText)), lower(cut(pattern, maxPattern))) {
			t.Errorf("%q in %q scores %d", pattern, text, s)
		}
	})
}
