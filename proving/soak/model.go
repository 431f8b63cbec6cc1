//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// model is a fake provider: it implements OpenAI's chat completions, calls tools now and
// then, takes its time, and sometimes fails.
type model struct {
	port   int
	server *http.Server
	// speaking is the number of answers in progress, asked the number of requests, and
	// failed the number of failures.
	speaking, asked, failed atomic.Int64
	// spoke receives a value whenever an answer begins.
	spoke chan struct{}
	calls atomic.Int64
}

func newModel() (*model, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{port: l.Addr().(*net.TCPAddr).Port, spoke: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", m.complete)
	m.server = &http.Server{Handler: mux}
	go m.server.Serve(l)
	return m, nil
}

// chatRequest is the used part of a request.
type chatRequest struct {
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

// tokens returns the approximate size of a request.
func (r *chatRequest) tokens() int {
	n := 0
	for _, m := range r.Messages {
		n += len(m.Content)
	}
	return n / 4
}

func (m *model) complete(w http.ResponseWriter, r *http.Request) {
	var req chatRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Messages) == 0 {
		http.Error(w, `{"error":{"message":"no such request"}}`, http.StatusBadRequest)
		return
	}
	m.asked.Add(1)
	if rand.IntN(100) == 0 { // the client retries
		m.failed.Add(1)
		http.Error(w, `{"error":{"message":"overloaded"}}`, http.StatusServiceUnavailable)
		return
	}
	m.speaking.Add(1)
	defer m.speaking.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	last := req.Messages[len(req.Messages)-1]
	if last.Role == "user" && len(req.Tools) > 0 && rand.IntN(4) == 0 {
		m.callTool(w, req, req.tokens())
		return
	}
	m.streamText(w, r, answer(string(last.Content)), req.tokens())
}

// answer returns the model's answer.
func answer(asked string) string {
	clean := strings.NewReplacer(`"`, "", `\n`, " ", "{", "", "}", "").Replace(asked)
	if len(clean) > 120 {
		clean = strings.ToValidUTF8(clean[:120], "")
	}
	return fmt.Sprintf("You said: %s. I have noted that, and here is what I think of it: %s", clean, strings.Repeat("it is good to know. ", rand.IntN(12)))
}

// streamText streams words. One answer in ten is slow, so that faults can occur during it.
func (m *model) streamText(w http.ResponseWriter, r *http.Request, text string, read int) {
	pause := time.Duration(rand.IntN(4)) * time.Millisecond
	if rand.IntN(10) == 0 {
		pause = 60 * time.Millisecond
	}
	words := strings.SplitAfter(text, " ")
	for i, word := range words {
		chunk(w, map[string]any{"content": word})
		if i == 0 {
			select {
			case m.spoke <- struct{}{}:
			default:
			}
		}
		if i == len(words)/2 && rand.IntN(300) == 0 { // cut off
			m.failed.Add(1)
			return
		}
		select {
		case <-time.After(pause):
		case <-r.Context().Done():
			return
		}
	}
	finish(w, "stop", read, len(text)/4)
}

// callTool calls one or two of the available tools.
func (m *model) callTool(w http.ResponseWriter, req chatRequest, read int) {
	has := make(map[string]bool)
	for _, t := range req.Tools {
		has[t.Function.Name] = true
	}
	n := 0
	for _, c := range []struct{ name, args string }{{"calc", `{"expression":"6*7"}`}, {"now", `{}`}} {
		if !has[c.name] || n == 1 && rand.IntN(2) == 0 {
			continue
		}
		id := fmt.Sprintf("call_%d", m.calls.Add(1))
		chunk(w, map[string]any{"tool_calls": []any{map[string]any{
			"index": n, "id": id, "type": "function", "function": map[string]any{"name": c.name, "arguments": c.args},
		}}})
		n++
	}
	if n == 0 {
		chunk(w, map[string]any{"content": "I have no tools for that."})
		finish(w, "stop", read, 8)
		return
	}
	finish(w, "tool_calls", read, 10)
}

func chunk(w http.ResponseWriter, delta any) {
	c := map[string]any{"object": "chat.completion.chunk", "choices": []any{map[string]any{"index": 0, "delta": delta}}}
	send(w, c)
}

// finish ends an answer with its usage.
func finish(w http.ResponseWriter, why string, read, written int) {
	send(w, map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": why}}})
	send(w, map[string]any{"choices": []any{}, "usage": map[string]any{"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}})
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func send(w http.ResponseWriter, c any) {
	data, err := json.Marshal(c)
	if err != nil {
		return // cannot fail for maps of text and numbers
	}
	fmt.Fprintf(w, "data: %s\n\n", data)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// soakSettings returns the settings of agents, the provider and hooks.
func soakSettings(model int) string {
	return fmt.Sprintf(`
[defaults]
model = "soak/script"

[agents.main]
[agents.rules]
model = "firn/offline"

[providers.soak]
kind = "openai-chat"
url = "http://127.0.0.1:%d/v1"
key_env = "SOAK_KEY"

[providers.soak.models.script]
window = 16000
max_output = 1000

[session.queue]
debounce = "50ms"
cap = 10000

[[bindings]]
agent = "rules"
channel = "sms"

[hooks.deploy]
token = "ci"
key = "agent:main:deploys"
template = "Deployed {{.text}}."
`, model)
}
