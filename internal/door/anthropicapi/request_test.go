package anthropicapi

import (
	"encoding/json"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/door/conversation"
	"firn.dev/internal/formats/dialect/native"
)

// TestTranscript checks how content becomes messages.
func TestTranscript(t *testing.T) {
	for body, want := range map[string]string{
		`{"messages":[{"role":"user","content":"hi"}]}`: "user: hi",
		`{"system":[{"type":"text","text":"Be kind.","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"document","source":{"type":"text","data":"b"}}]}]}`:                                                                                                      "system: Be kind. | user: a\nb",
		`{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"c","name":"f","input":[]}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","is_error":true,"content":"bad"},{"type":"text","text":"y"}]}]}`: `user: x | assistant: call f {} | toolResult: f bad true | user: y`,
		`{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url"}}]}]}`:                                        "error: messages.0: images must be sent as base64; URLs and files are not fetched",
		`{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"?"}}]}]}`: "error: messages.0: an image is not valid base64",
		`{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64"}}]}]}`:                                  "error: messages.0: only documents of plain text are supported",
		`{"messages":[{"role":"robot","content":"x"}]}`:                                                                              `error: messages.0: unknown role "robot"`,
		`{"messages":[{"role":"user","content":5}]}`:                                                                                 "error: messages.0: the content is neither a string nor a list of blocks",
		`{"system":[{"type":"image"}],"messages":[{"role":"user","content":"x"}]}`:                                                   `error: system: only text is allowed, not "image"`,
		`{"messages":[{"role":"user","content":"x"}],"thinking":{"type":"bogus"}}`:                                                   `error: thinking: unknown type "bogus"`,
		`{"messages":[]}`: "error: messages: at least one message is required",
		`{"messages":[{"role":"user","content":"x"}],"output_config":{"format":{}}}`: "error: output_format: only text output is supported",
	} {
		var q request
		if err := json.Unmarshal([]byte(body), &q); err != nil {
			t.Fatal(err)
		}
		if got := described(q.transcript()); got != want {
			t.Errorf("%s\nis  %s\nnot %s", body, got, want)
		}
	}
}

// described returns a conversation in short form.
func described(c *conversation.Transcript, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var lines []string
	if s := c.Instructions(); s != "" {
		lines = append(lines, "system: "+s)
	}
	for _, m := range c.Messages {
		line := string(m.Role) + ": " + m.Text()
		for _, p := range m.Parts {
			switch p := p.(type) {
			case firn.ToolCall:
				line += "call " + p.Name + " " + string(p.Arguments)
			case firn.ToolResult:
				line += p.Name + " " + firn.JoinText(p.Content) + " " + map[bool]string{true: "true", false: "false"}[p.IsError]
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " | ")
}

// TestUserWithoutSessionID checks that the session of a client is not part of its user.
func TestUserWithoutSessionID(t *testing.T) {
	for id, want := range map[string]string{
		"ada":                                "ada",
		"user_1a_account_2-b_session_3-c":    "user_1a_account_2-b",
		"acme_session_a":                     "acme_session_a",
		`{"session_id":"3","device_id":"1"}`: `{"device_id":"1"}`,
		`{`:                                  `{`,
	} {
		if got := stableUser(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

// FuzzRequests parses arbitrary requests: each is rejected, or is a conversation that can be
// stored.
func FuzzRequests(f *testing.F) {
	for _, seed := range []string{
		`{"messages":[{"role":"user","content":"hi"}],"metadata":{"user_id":"{\"session_id\":1}","x":5}}`,
		`{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":null}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}]}]}`,
		`{"messages":[{"role":"system","content":"\u0000"}],"thinking":{"type":"enabled","budget_tokens":-1},"tool_choice":{"type":"any"},"tools":[{}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var q request
		if json.Unmarshal(body, &q) != nil {
			return
		}
		q.metadata()
		q.options(conversation.Choice{})
		c, err := q.transcript()
		if err != nil {
			return
		}
		for _, e := range conversation.New("anthropic", nil).Entries(c) {
			if line, err := native.New().Append(nil, e); err != nil || !json.Valid(line) {
				t.Errorf("cannot be stored: %s, %v", line, err)
			}
		}
	})
}
