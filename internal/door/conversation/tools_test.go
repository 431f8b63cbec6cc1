package conversation

import (
	"encoding/json"
	"strings"
	"testing"

	"firn.dev/wire"
)

func TestCheckTools(t *testing.T) {
	schema := json.RawMessage(`{"type":"object"}`)
	for want, tools := range map[string][]wire.ToolSpec{
		"":                        {{Name: "a-b_c.D1", Schema: schema}, {Name: "b"}, {Name: "c", Schema: json.RawMessage("null")}},
		"tool 2 has no name":      {{Name: "a"}, {}},
		"invalid tool name":       {{Name: "a b"}},
		"at most 128":             {{Name: strings.Repeat("a", 129)}},
		"two tools are called":    {{Name: "a"}, {Name: "b"}, {Name: "a"}},
		"are not a JSON object":   {{Name: "a", Schema: json.RawMessage("3")}},
		"of tool \"a\" are not a": {{Name: "a", Schema: json.RawMessage("[]")}},
	} {
		err := CheckTools(tools)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("CheckTools(%v) is %v, want %q", tools, err, want)
		}
	}
}
