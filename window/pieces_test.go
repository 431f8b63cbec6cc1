package window_test

import (
	"encoding/json"
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/window"
)

// piece returns one part of an answer that a tool wrote as several entries.
func piece(id, answer string, usage *firn.Usage, parts ...firn.Part) firn.Entry {
	m := &firn.Message{Role: firn.RoleAssistant, Parts: parts, Usage: usage}
	if answer != "" {
		m.Extra = firn.Fields{{Name: firn.ResponseIDField, Value: json.RawMessage(`"` + answer + `"`)}}
	}
	return firn.Entry{ID: firn.EntryID(id), Body: m}
}

func result(id, call string) firn.Entry {
	return firn.Entry{ID: firn.EntryID(id), Body: &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: call, Name: "t"}}}}
}

func TestPieces(t *testing.T) {
	call := func(id string) firn.ToolCall {
		return firn.ToolCall{ID: id, Name: "t", Arguments: json.RawMessage(`{}`)}
	}
	user := firn.Entry{ID: "u", Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "go"}}}}
	usage := &firn.Usage{Input: 1}
	cases := map[string]struct {
		entries []firn.Entry
		want    []string
	}{
		"one answer in pieces": {
			[]firn.Entry{user, piece("a", "m", usage, firn.Text{Text: "x"}), piece("b", "m", nil, call("1")), piece("c", "m", nil, call("2")), result("r", "1"), result("s", "2")},
			[]string{"u", "a b c", "r", "s"},
		},
		"a call that ran before the next one": {
			[]firn.Entry{user, piece("a", "m", usage, call("1")), result("r", "1"), piece("b", "m", nil, call("2")), result("s", "2")},
			[]string{"u", "a b", "r", "s"},
		},
		"two answers of one name": {
			[]firn.Entry{user, piece("a", "m", usage, call("1")), result("r", "1"), piece("b", "m", usage, firn.Text{Text: "y"})},
			[]string{"u", "a", "r", "b"},
		},
		"answers without a name": {
			[]firn.Entry{user, piece("a", "", nil, firn.Text{Text: "x"}), piece("b", "", nil, firn.Text{Text: "y"})},
			[]string{"u", "a", "b"},
		},
		"the user between them": {
			[]firn.Entry{piece("a", "m", usage, firn.Text{Text: "x"}), user, piece("b", "m", nil, firn.Text{Text: "y"})},
			[]string{"a", "u", "b"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := window.Build(window.Path{Entries: c.entries}, window.Options{})
			var got []string
			for _, it := range w.Items {
				var from string
				for i, id := range it.From {
					if i > 0 {
						from += " "
					}
					from += string(id)
				}
				got = append(got, from)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("the window consists of %q, want %q", got, c.want)
			}
			again := window.Build(window.Path{Entries: c.entries}, window.Options{Profile: window.Anthropic()})
			for _, it := range again.Items {
				if it.Synthetic && it.Message.Role == firn.RoleToolResult {
					t.Errorf("a result was added: %+v", it)
				}
			}
		})
	}
}
