package openaiapi

import (
	"encoding/json"
	"testing"

	"firn.dev/internal/door/conversation"
	"firn.dev/internal/formats/dialect/native"
)

// FuzzRequests parses arbitrary requests: each is rejected, or is a complete conversation
// that can be stored.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		`{"messages":[{"role":"user","content":"hi"}]}`,
		`{"messages":[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"[]"}}]},{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"x"}]}]}`,
		`{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,aGk="}]},{"type":"function_call","call_id":"c","name":"n","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"o"}]}`,
		`{"input":"\u0000","conversation":{"id":5},"tool_choice":{"type":"function"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var chat chatRequest
		if json.Unmarshal(body, &chat) == nil && chat.check() == nil {
			if talk, err := chat.talk(); err == nil {
				whole(t, talk)
			}
		}
		var q responseRequest
		if json.Unmarshal(body, &q) == nil && q.check() == nil {
			if talk, err := input(q.Input); err == nil {
				whole(t, talk)
			}
		}
	})
}

// whole checks that a parsed conversation can be stored.
func whole(t *testing.T, c *conversation.Transcript) {
	for _, e := range conversation.New(protocol, nil).Entries(c) {
		line, err := native.New().Append(nil, e)
		if err != nil || !json.Valid(line) {
			t.Errorf("cannot be stored: %s, %v", line, err)
		}
	}
}
