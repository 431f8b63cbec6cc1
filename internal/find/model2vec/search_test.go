package model2vec

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestQuadraticExpression checks that an expression that reads a text to its end for each
// place ends early, and that the places before are found.
func TestQuadraticExpression(t *testing.T) {
	e, err := (&builder{}).expression(".*b|.")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("a", maxText)
	places := e.places(text)
	if len(places) == 0 || len(places) > 2*maxReads {
		t.Errorf("%d places, want a few", len(places))
	}
	if got := e.replace(text, "xy"); len(got) != len(text)+len(places) {
		t.Errorf("the text has %d bytes after %d replacements", len(got), len(places))
	}
}

// FuzzExpression checks that places are found as package regexp finds them.
func FuzzExpression(f *testing.F) {
	for _, expression := range []string{"", "a*", "b*", `\s+`, `\bab`, "^a", "a$", "(?m)^a|b$", "(?i)A|b", `\B`, "x|", `'(?:s|t)| ?\pL+| ?\pN+|\s+`, `.*b|.`, "a{2,3}", `\Qa`, "(?s).", "é|."} {
		for _, text := range []string{"", "a", "aab abb", "a\nb\na", "é日a'sab 12", "a\xffb"} {
			f.Add(expression, text)
		}
	}
	f.Fuzz(func(t *testing.T, expression, text string) {
		if len(text) > 200 {
			return
		}
		native, err := regexp.Compile(expression)
		if err != nil {
			return
		}
		e, err := (&builder{}).expression(expression)
		if err != nil {
			return
		}
		got, want := e.countedPlaces(text, len(text)+1), native.FindAllStringIndex(text, -1)
		if len(got) < len(want) && len(text) > 8 { // too much was read
			want = want[:len(got)]
		}
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%q in %q: %v, want %v", expression, text, got, want)
		}
		if got := e.replace(text, strings.Repeat("x", maxInserted)); len(got) > grownStep(len(text))+len(text)+maxInserted {
			t.Errorf("%d bytes become %d", len(text), len(got))
		}
		if got, want := e.replace(text, "."), native.ReplaceAllLiteralString(text, "."); e.quick(text) && got != want {
			t.Errorf("%q in %q: %q, want %q", expression, text, got, want)
		}
	})
}
