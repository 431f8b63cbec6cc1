package search

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestAskedShare checks the share of texts that is questions.
func TestAskedShare(t *testing.T) {
	for text, want := range map[string]float64{
		"":                                 0,
		"We moved in May.":                 0,
		"Did we move in May?":              1,
		"Wow! Did you?":                    0.67,
		"abcd. efgh?":                      0.5,
		"abcd?! efgh":                      0.5,
		"\"abcd?\" efgh":                   0.5,
		"https://a.example/?q=1 is a page": 0,
		"x := a?b:c":                       0,
		"abcd?\nefgh":                      0.5,
		"¿Cuándo? Ayer.":                   0.6,
		"你好吗？是":                            0.75,
	} {
		if got := AskedShare(text); math.Abs(got-want) > 0.01 {
			t.Errorf("%q: %.2f, want %.2f", text, got, want)
		}
	}
}

// FuzzAskedShare checks that every share is one.
func FuzzAskedShare(f *testing.F) {
	f.Add("Did we? Yes.")
	f.Add("\xff?\xff")
	f.Add(strings.Repeat("日", maxAsked/utf8.UTFMax) + "?")
	f.Fuzz(func(t *testing.T, text string) {
		if share := AskedShare(text); share < 0 || share > 1 {
			t.Errorf("%q: %v", text, share)
		}
	})
}
