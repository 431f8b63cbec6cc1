package window_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"firn.dev"
	"firn.dev/window"
)

// An agent crashed while a tool ran. The window built from its log is still valid and lists
// the repairs.
func ExampleBuild() {
	entries := []firn.Entry{
		{Body: &firn.Header{Session: "demo", Version: 3}},
		{ID: "a", Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "What is in this folder?"}}}},
		{ID: "b", Parent: "a", Body: &firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{
			firn.ToolCall{ID: "call_1", Name: "ls", Arguments: json.RawMessage(`{"path":"."}`)},
		}}},
		{ID: "c", Parent: "b", Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "Are you there?"}}}},
	}
	path, err := window.Collect(newestFirst(entries))
	if err != nil {
		fmt.Println(err)
		return
	}
	w := window.Build(path, window.Options{System: "You are helpful.", Profile: window.Anthropic()})
	for _, item := range w.Items {
		fmt.Println(item.Message.Role, item.From)
	}
	for _, repair := range w.Repairs {
		fmt.Println(repair.Rule, repair.Entry, repair.What)
	}
	fmt.Println("tokens:", w.Tokens.Total, "estimated:", w.Tokens.Estimated)
	// Output:
	// user [a]
	// assistant [b]
	// toolResult [b]
	// user [c]
	// pair b call call_1 has no result; a placeholder was added
	// tokens: 33 estimated: true
}

// newestFirst yields entries as a store's ReadBack does.
func newestFirst(entries []firn.Entry) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		for i, e := range slices.Backward(entries) {
			if !yield(firn.NewRecord(firn.Pos(i), firn.Pos(i+1), e), nil) {
				return
			}
		}
	}
}
