package search

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"firn.dev"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// show formats a node with its structure.
func show(n *Node) string {
	if n == nil {
		return "nothing"
	}
	if n.Op == OpTerm {
		s := strings.Join(n.Term.Parts, "+")
		if n.Term.Prefix {
			s += "*"
		}
		if n.Term.Quoted {
			s = `"` + s + `"`
		}
		return s
	}
	var kids []string
	for _, kid := range n.Kids {
		kids = append(kids, show(kid))
	}
	return map[Op]string{OpAnd: "and", OpOr: "or", OpNot: "not", OpList: "list"}[n.Op] + "(" + strings.Join(kids, " ") + ")"
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "nothing",
		"   ":                   "nothing",
		"lock":                  "lock",
		"lock test":             "list(lock test)",
		`"lock test"`:           `"lock+test"`,
		`"lock test`:            `"lock+test"`,
		`""`:                    "nothing",
		"lock AND test":         "and(lock test)",
		"a1 OR b1 AND c1":       "or(a+1 and(b+1 c+1))",
		"(aa OR bb) AND cc":     "and(or(aa bb) cc)",
		"(aa OR bb":             "or(aa bb)",
		"aa NOT bb":             "list(aa not(bb))",
		"aa -bb":                "list(aa not(bb))",
		"aa - bb":               "list(aa bb)",
		`aa -"bb cc"`:           `list(aa not("bb+cc"))`,
		"aa AND":                "aa",
		"AND OR aa":             "aa",
		"aa NOT":                "aa",
		"and or not":            "list(and or not)",
		"gett*":                 "gett*",
		"running*":              "running*",
		"getUser*":              "get+user*",
		"role:user aa":          "aa",
		"aa http://x.y/z":       "list(aa http+x+y+z)",
		"std::vector":           "std+vector",
		"NOT NOT aa":            "not(not(aa))",
		"東京":                    "東京",
		"都":                     "都*",
		"(((aa)))":              "aa",
		"() aa":                 "aa",
		`path:"my dir/x" aa`:    "aa",
		"aa OR (NOT bb AND cc)": "or(aa and(not(bb) cc))",
		"x-y":                   "x+y",
		"it's":                  "it",
		"aa && bb || cc":        "or(and(aa bb) cc)",
	} {
		q, err := Parse(text, noon)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := show(q.Want); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestParseFilters(t *testing.T) {
	q, err := Parse(`ROLE:User role:tool tool:bash agent:a key:agent:a:b source:codex path:"src/wal" session:0198c5a2 since:7d until:2026-11-14 in:all x`, noon)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(q.Roles, q.Tools, q.Agents, q.Keys, q.Sources, q.Paths, q.Sessions, q.Since.Format(time.DateOnly), q.Until.Format(time.DateTime), q.In)
	if want := "[user tool] [bash] [a] [agent:a:b] [codex] [src/wal] [0198c5a2]2026-11-082026-11-14 00:00:00all"; got != want {
		t.Errorf("the filters are %s, want %s", got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"NOT aa":                         "add words to search for",
		"-aa -bb":                        "add words to search for",
		"aa OR NOT bb":                   "add words to search for",
		"aa )":                           "without a (",
		"role:boss":                      "role: must be",
		"role:":                          "needs a value",
		"in:attic":                       "in: is talk, tools or all",
		"since:whenever":                 "expected a date",
		"session:abc":                    "four characters",
		"path:///":                       "needs a name",
		"aa NOT role:user":               "cannot be negated",
		"a*":                             "two letters",
		"\xff":                           "valid text",
		strings.Repeat("x ", 5000):       "at most 4096 bytes",
		strings.Repeat("x ", 65):         "more than 64 words",
		strings.Repeat("(", 60) + "a":    "deep",
		strings.Repeat("NOT ", 60) + "a": "in a row",
	} {
		if _, err := Parse(text, noon); !errors.Is(err, firn.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want one with %q", text, err, want)
		}
	}
}

// TestHolds checks the semantics of queries.
func TestHolds(t *testing.T) {
	text := TextOf("The quick brown fox jumps over getUserName in write.go at 東京都")
	for query, want := range map[string]bool{
		"fox": true, "cat": false, "cat fox": true, "fox AND cat": false, "fox OR cat": true, "fox NOT cat": true, "fox NOT quick": false,
		`"quick brown"`: true, `"brown quick"`: false, `cat "quick brown"`: false, `fox "quick brown"`: true, "jump": true, "jumped": true,
		"getusername": true, "user_name": true, "getUser*": true, "write.go": true, "東京": true, "京都": true, "京東": false, "都": true, "qui*": true,
		"the": true, "the cat": false, "fox AND (cat OR NOT dog)": true, "fox AND (cat OR NOT quick)": false, "(NOT cat) AND fox": true,
		"NOT NOT fox": true, "fox AND (NOT cat NOT dog)": true,
	} {
		q, err := Parse(query, noon)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		if got := q.Want.Holds(text); got != want {
			t.Errorf("%s holds: %t, want %t", query, got, want)
		}
	}
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]string{
		"today": "2026-11-15 00:00:00", "yesterday": "2026-11-14 00:00:00", "7d": "2026-11-08 12:00:00", "2w": "2026-11-01 12:00:00", "12h": "2026-11-15 00:00:00",
		"2026-01-02": "2026-01-02 00:00:00", "2026-01-02T03:04": "2026-01-02 03:04:00", "2026-01": "2026-01-01 00:00:00", "2026": "2026-01-01 00:00:00", "2026-01-02T03:04:05Z": "2026-01-02 03:04:05",
	} {
		if got, err := ParseTime(text, noon); err != nil || got.Format(time.DateTime) != want {
			t.Errorf("%s is %s, %v, want %s", text, got.Format(time.DateTime), err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{`aa "bb cc" dd* -ee`, "(aa OR bb) AND NOT cc", "role:user since:7d x", "都 ((", `path:"a b"`, "NOT NOT NOT x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text, noon)
		if err != nil {
			if !errors.Is(err, firn.ErrInvalid) {
				t.Fatalf("%v", err)
			}
			return
		}
		q.Want.Holds(TextOf("the quick brown fox"))
		for _, term := range q.Want.Positive() {
			if len(term.Parts) == 0 {
				t.Fatal("a term without words")
			}
		}
		if q.Want != nil {
			q.Want.Split()
		}
	})
}
