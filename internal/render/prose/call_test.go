package prose

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestCallTitle(t *testing.T) {
	cases := []struct{ tool, arguments, want string }{
		{"x", `{"path":"a b.txt","from":3,"deep":{"x":1}}`, `x a b.txt 3 {"x":1}`},
		{"x", `{"b":"first","a":"then"}`, "x first then"},
		{"x", `{}`, "x"},
		{"x", ``, "x"},
		{"x", `[1]`, "x [1]"},
		{"x", `{"a":"` + strings.Repeat("é", 99) + `"}`, "x " + strings.Repeat("é", maxSubject-1) + "…"},
		{"x", `{"a":"x`, "x"},
		{"edit_file", `{"path":"a.go","edits":[{"old_text":"a","new_text":"b"}]}`, "edit_file a.go"},
		{"write_file", `{"path":"a.go","content":"x","append":true}`, "write_file a.go (append)"},
		{"shell", `{"command":"make","background":true}`, "shell make (in the background)"},
		{"shell", `{"command":"make","background":false,"timeout":60}`, "shell make (timeout 60 s)"},
	}
	for _, c := range cases {
		if got := CallTitle(c.tool, json.RawMessage(c.arguments)); got != c.want {
			t.Errorf("%s %s is shown as %q, want %q", c.tool, c.arguments, got, c.want)
		}
	}
}

// TestCallDetails checks that title and details together show every argument.
func TestCallDetails(t *testing.T) {
	long := "echo " + strings.Repeat("x", 80) + "; rm -rf /"
	cases := []struct {
		tool, arguments string
		diff            bool
		want            []string
	}{
		{"shell", `{"command":"make test","timeout":60}`, false, nil},
		{"shell", `{"command":"` + long + `","background":true}`, false, []string{long}},
		{"shell", `{"command":"` + long + `","background":false}`, false, []string{long}},
		{"shell", `{"command":"cd a\n\trm b"}`, false, []string{"cd a", "    rm b"}},
		{"shell", `{"command":"echo a;   rm b"}`, false, []string{"echo a;   rm b"}},
		{"edit_file", `{"path":"a","edits":[1]}`, true, nil},
		{"edit_file", `{"path":"a","edits":[1]}`, false, []string{"path: a", "edits: [1]"}},
		{"mail", `{"to":"a","text":"` + long + `"}`, false, []string{"to: a", "text: " + long}},
		{"mail", `["` + long + `"]`, false, []string{`["` + long + `"]`}},
		{"x", `{}`, false, nil},
	}
	for _, c := range cases {
		if got := CallDetails(c.tool, json.RawMessage(c.arguments), c.diff); !slices.Equal(got, c.want) {
			t.Errorf("%s %s has the details %q, want %q", c.tool, c.arguments, got, c.want)
		}
	}
}
