package search

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// formatWords returns the words of a text, and after a bar their other forms.
func formatWords(text string) string {
	t := TextOf(text)
	return strings.Join(t.Words, " ") + " | " + strings.Join(t.Extra, " ")
}

func TestScan(t *testing.T) {
	for text, want := range map[string]string{
		"":                                " | ",
		"...":                             " | ",
		"The quick fox":                   "the quick fox | ",
		"getUserName":                     "get user nam | name getusername",
		"get_user_name":                   "get user nam | name getusername",
		"HTTPServer2":                     "http server 2 | httpserver2",
		"userIDs":                         "user ids | userids",
		"e-mail":                          "e mail | email",
		"internal/journal/write.go":       "internal journal writ go | write",
		"don't Anna's Anna’s":             "dont anna anna | ",
		"tries tried try trying":          "tri tri tri try | tries tried try trying",
		"runs running run":                "run run run | runs running",
		"make makes making made":          "mak mak mak mad | make makes making made",
		"configuration configure":         "configur configur | configuration configure",
		"deployments deployed":            "deploy deploy | deployments deployed",
		"class classes pass bus is":       "class class pass bus is | classes",
		"Łódź STRASSE straße Œuvre":       "lodz strass strass oeuvr | strasse strasse oeuvre",
		"Ｆｕｌｌ ２":                          "full 2 | ",
		"東京都":                             "東京 京都 都 | ",
		"go東京x":                           "go 東京 京 x | ",
		"a3f9c2d4e5b6a7f8":                "a3f9c2d4e5b6a7f8 | ",
		"été \u00e9te\u0301 \u0435\u0308": "ete ete е | ",
		"ΑΊΑΣ αιας":                       "αιασ αιασ | ",
	} {
		if got := formatWords(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestScanIsBounded checks the maximum length of terms.
func TestScanIsBounded(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 10_000), strings.Repeat("é", 10_000), strings.Repeat("aB", 500), strings.Repeat("_", 5000) + "a"} {
		for _, token := range Tokens(text) {
			if len(token.Term) > maxTerm || !utf8.ValidString(token.Term) {
				t.Errorf("a term of %d bytes", len(token.Term))
			}
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, text := range []string{"getUserName", "東京都 is", "a_b-c'd", "e\u0301\xff", "ﬁ ẞ", "’s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, token := range Tokens(text) {
			if token.Start < 0 || token.End > len(text) || token.Start >= token.End {
				t.Fatalf("%q is at %d to %d of %d", token.Term, token.Start, token.End, len(text))
			}
			if token.Term == "" || len(token.Term) > maxTerm || strings.ContainsAny(token.Term, " \"\n\x00") {
				t.Fatalf("a term is %q", token.Term)
			}
			if !token.Extra && token.Start < last {
				t.Fatalf("words are not in order")
			}
			if !token.Extra {
				last = token.Start
			}
		}
	})
}
