package window_test

import (
	"context"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/window"
)

// TestMessageDuringAnswerComesAfter checks that a user message sent while an answer is being
// written appears after the answer and the results of its calls.
func TestMessageDuringAnswerComesAfter(t *testing.T) {
	first, second := firn.NewEntry(firn.UserText("first").Body), firn.NewEntry(firn.UserText("second").Body)
	third, known := firn.NewEntry(firn.UserText("third").Body), window.WithLastSeen(firn.NewEntry(firn.AssistantText("known").Body), first.ID)
	title := firn.NewEntry(&firn.Title{Name: "x"})
	call := firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopToolUse,
		Parts: []firn.Part{firn.Text{Text: "look"}, firn.ToolCall{ID: "1", Name: "ls"}}})
	result := firn.NewEntry(&firn.Message{Role: firn.RoleToolResult,
		Parts: []firn.Part{firn.ToolResult{CallID: "1", Name: "ls", Content: []firn.Part{firn.Text{Text: "result"}}}}})
	answer := firn.NewEntry(firn.AssistantText("answer").Body)
	answer.Body.(*firn.Message).Usage = &firn.Usage{Total: 1000}
	for name, c := range map[string]struct {
		entries []firn.Entry
		want    string
	}{
		"meanwhile":      {[]firn.Entry{first, title, second, window.WithLastSeen(answer, title.ID)}, "first|answer|second"},
		"knows it":       {[]firn.Entry{first, second, window.WithLastSeen(answer, second.ID)}, "first second|answer|[firn] Go on."},
		"no mark":        {[]firn.Entry{first, second, answer}, "first second|answer|[firn] Go on."},
		"unknown":        {[]firn.Entry{first, second, window.WithLastSeen(answer, "nobody")}, "first second|answer|[firn] Go on."},
		"before a call":  {[]firn.Entry{first, second, window.WithLastSeen(call, first.ID), result}, "first|look|result|second"},
		"during a call":  {[]firn.Entry{first, call, second, result, window.WithLastSeen(answer, call.ID)}, "first|look|result|answer|second"},
		"twice":          {[]firn.Entry{first, second, known, third, window.WithLastSeen(answer, known.ID)}, "first|known|second|answer|third"},
		"and then again": {[]firn.Entry{first, second, window.WithLastSeen(call, first.ID), result, answer}, "first|look|result|second|answer|[firn] Go on."},
	} {
		t.Run(name, func(t *testing.T) {
			st := memstore.New(memstore.Options{})
			defer st.Close()
			if _, err := st.Append(context.Background(), "s", store.Start, c.entries...); err != nil {
				t.Fatal(err)
			}
			path, err := window.Collect(st.ReadBack(context.Background(), "s", store.End))
			if err != nil {
				t.Fatal(err)
			}
			w := window.Build(path, window.Options{Profile: window.Anthropic()})
			var got []string
			for _, it := range w.Items {
				text := it.Message.Text()
				if r, ok := it.Message.Parts[0].(firn.ToolResult); ok {
					text = firn.JoinText(r.Content)
				}
				got = append(got, strings.ReplaceAll(text, "\n", " "))
			}
			if joined := strings.Join(got, "|"); joined != c.want {
				t.Errorf("the model receives %s, want %s", joined, c.want)
			}
			if name == "meanwhile" && w.Tokens.Since == 0 {
				t.Error("the message sent meanwhile is not counted")
			}
		})
	}
}
