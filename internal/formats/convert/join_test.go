package convert

import (
	"fmt"
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
)

// TestJoinAcrossUnrelatedLines checks that pieces of a response are combined even if an
// unrelated line is between them; that line is moved after the results.
func TestJoinAcrossUnrelatedLines(t *testing.T) {
	piece := func(call string, usage *firn.Usage) firn.Entry {
		return firn.NewEntry(&firn.Message{
			Role: firn.RoleAssistant, StopReason: firn.StopToolUse, Usage: usage, Parts: []firn.Part{firn.ToolCall{ID: call, Name: "read", Arguments: []byte("{}")}},
			Extra: firn.Fields{{Name: dialect.ResponseID, Value: []byte(`"msg_1"`)}},
		})
	}
	result := func(call string) firn.Entry {
		return firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: call, Name: "read"}}})
	}
	text := transcript(t,
		id(firn.UserText("go"), "ask"), id(piece("a", &firn.Usage{Input: 1}), "one"), id(firn.NewEntry(&firn.Custom{Type: "note"}), "aside"),
		id(piece("b", nil), "two"), id(result("b"), "rb"), under(id(result("a"), "ra"), "one"), under(id(firn.AssistantText("done"), "end"), "ra"),
	)
	var got []string
	for item, err := range joined(source(native.NewTool(), text).Entries(&Report{}), dialect.Pi) {
		if err != nil {
			t.Fatal(err)
		}
		e, parts := item.Entry, 0
		if m, ok := e.Body.(*firn.Message); ok {
			parts = len(m.Parts)
		}
		got = append(got, fmt.Sprintf("%s under %q: %d", e.ID, e.Parent, parts))
	}
	want := []string{`ask under "": 1`, `one under "ask": 2`, `aside under "one": 0`, `rb under "aside": 1`, `ra under "rb": 1`, `end under "ra": 1`}
	if len(got) < len(want) || !slices.Equal(got[len(got)-len(want):], want) {
		t.Errorf("it is reported as\n%q\nwant\n%q", got, want)
	}
}
