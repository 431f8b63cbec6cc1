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

	"firn.dev"
)

// provider is a fake provider: it records requests, and streams the same answer to each.
// The IDs of its answers differ, because Claude Code uses them to group the lines of an
// answer in a file.
//
// It is as strict as the real ones: a request that they reject gets their error, and fails
// the test that reads the requests.
type provider struct {
	server *httptest.Server
	answer string

	mu       sync.Mutex
	requests []map[string]json.RawMessage
	// strays are unexpected requests: to other hosts, or for anything but an answer.
	strays []string
	// refusals are the requests that a real provider would have rejected.
	refusals []string
}

func newProvider(t *testing.T, answer string) *provider {
	t.Helper()
	f := &provider{answer: answer}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", f.handler(f.anthropic, strictMessages, (*refusal).writeAnthropic))
	mux.HandleFunc("POST /v1/chat/completions", f.handler(f.openAI, strictChat, (*refusal).writeOpenAI))
	mux.HandleFunc("POST /v1/responses", f.handler(f.responses, strictResponses, (*refusal).writeOpenAI))
	mux.HandleFunc("/", f.stray)
	f.server = httptest.NewServer(mux)
	t.Cleanup(f.server.Close)
	return f
}

// url returns the base URL of an API, as pi expects it.
func (f *provider) url(api string) string {
	if api != "anthropic-messages" {
		return f.server.URL + "/v1"
	}
	return f.server.URL
}

// proxied returns variables that redirect requests for other hosts to this provider, which
// rejects them.
func (f *provider) proxied() []string {
	return []string{"HTTPS_PROXY=" + f.server.URL, "https_proxy=" + f.server.URL, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1"}
}

// stray rejects an unexpected request.
func (f *provider) stray(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.strays = append(f.strays, r.Method+" "+r.Host+r.URL.Path)
	f.mu.Unlock()
	http.Error(w, "there is nothing here", http.StatusForbidden)
}

// handler records and checks the request, and sends the events of an answer.
func (f *provider) handler(events func() []string, check func(map[string]json.RawMessage) *refusal, deny func(*refusal, http.ResponseWriter)) http.HandlerFunc {
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
		refused := check(request)
		if refused != nil {
			f.refusals = append(f.refusals, refused.message)
		}
		f.mu.Unlock()
		if refused != nil {
			deny(refused, w)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, strings.Join(events(), "\n\n")+"\n\n")
	}
}

func (f *provider) anthropic() []string {
	text, _ := json.Marshal(f.answer)
	var events []string
	for _, e := range [][2]string{
		{"message_start", `"message":{"id":"msg_` + string(firn.NewID()) + `","type":"message","role":"assistant","model":"fake-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}`},
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

func (f *provider) responses() []string {
	text, _ := json.Marshal(f.answer)
	id := firn.NewID()
	item := fmt.Sprintf(`{"type":"message","id":"msg_%s","role":"assistant","status":"completed","content":[{"type":"output_text","text":%s,"annotations":[]}]}`, id, text)
	response := fmt.Sprintf(`"id":"resp_%s","object":"response","created_at":1,"model":"fake-1"`, id)
	var events []string
	for i, e := range [][2]string{
		{"response.created", `"response":{` + response + `,"status":"in_progress","output":[]}`},
		{"response.output_item.added", fmt.Sprintf(`"output_index":0,"item":{"type":"message","id":"msg_%s","role":"assistant","status":"in_progress","content":[]}`, id)},
		{"response.output_text.delta", fmt.Sprintf(`"item_id":"msg_%s","output_index":0,"content_index":0,"delta":%s`, id, text)},
		{"response.output_item.done", `"output_index":0,"item":` + item},
		{"response.completed", `"response":{` + response + `,"status":"completed","output":[` + item + `],"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":0},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":13}}`},
	} {
		events = append(events, fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}", e[0], e[0], i, e[1]))
	}
	return events
}

// only returns the only request.
func (f *provider) only(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.refusals) > 0 {
		t.Fatalf("the provider refused: %q", f.refusals)
	}
	if len(f.requests) != 1 {
		t.Fatalf("the provider was called %d times, want once", len(f.requests))
	}
	return f.requests[0]
}

// wants returns the unexpected requests.
func (f *provider) wants() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.strays
}

// flat formats the only request, one line per part, without the system prompt.
func (f *provider) flat(t *testing.T) []string {
	t.Helper()
	var messages []wireMessage
	request := f.only(t)
	if err := json.Unmarshal(request["messages"], &messages); err != nil {
		t.Fatalf("the request has messages that are none: %v\n%s", err, request["messages"])
	}
	return flatMessages(t, messages)
}

func flatMessages(t *testing.T, messages []wireMessage) []string {
	t.Helper()
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

// block is a part of the content of a message.
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
	ImageURL  imageURL        `json:"image_url"`
	Source    struct {
		MediaType string `json:"media_type"`
	} `json:"source"`
}

// imageURL is a URL as in the Responses API, or an object with one as in chat completions.
type imageURL string

// UnmarshalJSON decodes either form.
func (u *imageURL) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, (*string)(u)) == nil {
		return nil
	}
	var object struct{ URL string }
	err := json.Unmarshal(data, &object)
	*u = imageURL(object.URL)
	return err
}

// blocks decodes content, which may be a string or empty.
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
	case "text", "input_text", "output_text":
		return b.Text
	case "image":
		return "[" + b.Source.MediaType + "]"
	case "input_image", "image_url":
		kind, _, _ := strings.Cut(strings.TrimPrefix(string(b.ImageURL), "data:"), ";")
		return "[" + kind + "]"
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
