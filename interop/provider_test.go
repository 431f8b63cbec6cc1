package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// provider plays a provider of models: it keeps what it is sent, and always
// gives the same answer, as a stream.
type provider struct {
	server *httptest.Server
	answer string

	mu       sync.Mutex
	requests []map[string]json.RawMessage
}

func newProvider(t *testing.T, answer string) *provider {
	t.Helper()
	f := &provider{answer: answer}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", f.handler(f.anthropic))
	mux.HandleFunc("POST /v1/chat/completions", f.handler(f.openAI))
	f.server = httptest.NewServer(mux)
	t.Cleanup(f.server.Close)
	return f
}

// url is the base address for an API, as pi wants it.
func (f *provider) url(api string) string {
	if api == "openai-completions" {
		return f.server.URL + "/v1"
	}
	return f.server.URL
}

// handler keeps the request and sends the events of an answer.
func (f *provider) handler(events func() []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request map[string]json.RawMessage
		if err == nil {
			err = json.Unmarshal(body, &request)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f.mu.Lock()
		f.requests = append(f.requests, request)
		f.mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, strings.Join(events(), "\n\n")+"\n\n")
	}
}

func (f *provider) anthropic() []string {
	text, _ := json.Marshal(f.answer)
	var events []string
	for _, e := range [][2]string{
		{"message_start", `"message":{"id":"msg_1","type":"message","role":"assistant","model":"fake-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}`},
		{"content_block_start", `"index":0,"content_block":{"type":"text","text":""}`},
		{"content_block_delta", fmt.Sprintf(`"index":0,"delta":{"type":"text_delta","text":%s}`, text)},
		{"content_block_stop", `"index":0`},
		{"message_delta", `"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":3}`},
		{"message_stop", `"x":0`},
	} {
		events = append(events, fmt.Sprintf("event: %s\ndata: {\"type\":%q,%s}", e[0], e[0], e[1]))
	}
	return events
}

func (f *provider) openAI() []string {
	text, _ := json.Marshal(f.answer)
	const chunk = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"fake-1",`
	return []string{
		chunk + fmt.Sprintf(`"choices":[{"index":0,"delta":{"role":"assistant","content":%s},"finish_reason":null}]}`, text),
		chunk + `"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		chunk + `"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13}}`,
		"data: [DONE]",
	}
}

// flat tells what the only request says, a line for each thing said, without
// the system prompt.
func (f *provider) flat(t *testing.T) []string {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.requests) != 1 {
		t.Fatalf("the provider was asked %d times, want once", len(f.requests))
	}
	var messages []wireMessage
	if err := json.Unmarshal(f.requests[0]["messages"], &messages); err != nil {
		t.Fatalf("the request has messages that are none: %v\n%s", err, f.requests[0]["messages"])
	}
	var flat []string
	for _, m := range messages {
		if m.Role != "system" && m.Role != "developer" {
			flat = append(flat, m.flat(t)...)
		}
	}
	return flat
}

// wireMessage is a message of either API.
type wireMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func (m wireMessage) flat(t *testing.T) []string {
	t.Helper()
	var flat []string
	for _, b := range blocks(t, m.Content) {
		line := b.flat(t)
		switch {
		case m.Role == "tool":
			line = flatResult(m.ToolCallID, line)
		case b.Type == "text" || b.Type == "image":
			line = m.Role + ": " + line
		}
		flat = append(flat, line)
	}
	for _, c := range m.ToolCalls {
		flat = append(flat, flatCall(c.ID, c.Function.Name, json.RawMessage(c.Function.Arguments)))
	}
	return flat
}

// block is a piece of the content of a message.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Source    struct {
		MediaType string `json:"media_type"`
	} `json:"source"`
}

// blocks reads content, which may be a plain string or nothing.
func blocks(t *testing.T, content json.RawMessage) []block {
	t.Helper()
	var text string
	if len(content) == 0 || string(content) == "null" {
		return nil
	}
	if json.Unmarshal(content, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	var all []block
	if err := json.Unmarshal(content, &all); err != nil {
		t.Fatalf("content that is none: %v\n%s", err, content)
	}
	return all
}

func (b block) flat(t *testing.T) string {
	t.Helper()
	switch b.Type {
	case "text":
		return b.Text
	case "image":
		return "[" + b.Source.MediaType + "]"
	case "tool_use":
		return flatCall(b.ID, b.Name, b.Input)
	case "tool_result":
		var content []string
		for _, c := range blocks(t, b.Content) {
			content = append(content, c.flat(t))
		}
		return flatResult(b.ToolUseID, strings.Join(content, "+"))
	case "thinking":
		return flatThinking(b.Thinking, b.Signature)
	case "redacted_thinking":
		return flatThinking("", b.Data)
	}
	return "unknown block " + b.Type
}
