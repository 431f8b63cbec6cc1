package agui

import (
	"encoding/json"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/door/conversation"
)

// TestTranscript converts the messages of a run, and rejects those that cannot be sent.
func TestTranscript(t *testing.T) {
	const start = `{"threadId":"t","runId":"r","messages":[`
	for in, want := range map[string]string{
		start + `{"role":"user","content":"hello"}]}`: "user hello",
		start + `{"role":"system","content":"be kind"},{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"data","value":"aGk=","mimeType":"image/png"}}]}],"context":[{"description":"page","value":"home"}]}`:                "be kind\n\npage: home|user see",
		start + `{"role":"user","content":"6*7"},{"role":"reasoning","content":"hm"},{"role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"calc","arguments":"6*7"}}]},{"role":"tool","toolCallId":"c","content":"","error":"broken"}]}`: "user 6*7|assistant calc {}|toolResult calc broken true",
		`{"runId":"r","messages":[{"role":"user","content":"x"}]}`:    "threadId is required",
		`{"threadId":"t","messages":[{"role":"user","content":"x"}]}`: "runId is required",
		start + `]}`: "at least one message",
		start + `{"role":"robot","content":"x"}]}`:    "unknown role",
		start + `{"role":"user","content":{"a":1}}]}`: "neither a string nor a list",
		start + `{"role":"user","content":[{"type":"image","source":{"type":"url","value":"https://example.org/a.png"}}]}]}`: "URLs and files are not fetched",
		start + `{"role":"user","content":[{"type":"image","source":{"type":"data","value":"!","mimeType":"image/png"}}]}]}`: "not valid base64",
		start + `{"role":"user","content":[{"type":"video"}]}]}`:                                                             "unsupported part",
		start + `{"role":"user","content":"x"}],"resume":[{"interruptId":"i","status":"resolved"}]}`:                         "runs are not interrupted",
	} {
		var q request
		if err := json.Unmarshal([]byte(in), &q); err != nil {
			t.Fatal(err)
		}
		got, err := q.transcript()
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", in, err, want)
			}
			continue
		}
		if brief(got) != want {
			t.Errorf("%s\nis %s\nwant %s", in, brief(got), want)
		}
	}
}

// brief returns a transcript in short form.
func brief(t *conversation.Transcript) string {
	var all []string
	if system := t.Instructions(); system != "" {
		all = append(all, system)
	}
	for _, m := range t.Messages {
		line := string(m.Role)
		for _, p := range m.Parts {
			switch p := p.(type) {
			case firn.Text:
				line += " " + p.Text
			case firn.ToolCall:
				line += " " + p.Name + " " + string(p.Arguments)
			case firn.ToolResult:
				line += " " + p.Name + " " + firn.JoinText(p.Content)
				if p.IsError {
					line += " true"
				}
			}
		}
		all = append(all, line)
	}
	return strings.Join(all, "|")
}

// FuzzTranscript checks that no request panics, and that an accepted one has messages.
func FuzzTranscript(f *testing.F) {
	f.Add([]byte(`{"threadId":"t","runId":"r","messages":[{"role":"user","content":[{"type":"text"}]}]}`))
	f.Add([]byte(`{"threadId":"t","runId":"r","messages":[{"role":"assistant","toolCalls":[{}]},{"role":"tool"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var q request
		if json.Unmarshal(data, &q) != nil {
			return
		}
		if _, err := q.transcript(); err == nil && len(q.Messages) == 0 {
			t.Errorf("%s: accepted", data)
		}
	})
}
