//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"firn.dev"
)

// Messages to which the scenario's model reacts specially.
const (
	askSlow = "Run the program that takes long."
	askBig  = "Read the file that is too large."
	// bigLines is the number of lines of that file: together with the end of the session
	// they exceed the window.
	bigLines = 1100
	// hiddenWord is in one entry in the middle of the session.
	hiddenWord = "quokkasaurus"
)

// reader is the scenario's model: it calls the requested tools, and never ends a summary
// while it stalls.
type reader struct {
	port    int
	server  *http.Server
	stall   atomic.Bool
	summary chan struct{} // receives a value when a summary begins and stalls
	begun   atomic.Bool
}

func newReader() (*reader, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &reader{port: l.Addr().(*net.TCPAddr).Port, summary: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", m.complete)
	m.server = &http.Server{Handler: mux}
	go m.server.Serve(l)
	return m, nil
}

// settings returns the gateway settings for the model and its agent.
func (m *reader) settings() string {
	return fmt.Sprintf(`
[defaults]
model = "soak/script"
workspace = "<home>"
titles = false
shell = { enabled = true }
memory_flush = { enabled = false }
compaction = { reserve = 8000, reserve_floor = 0, keep_recent = 2000 }

[providers.soak]
kind = "openai-chat"
url = "http://127.0.0.1:%d/v1"
key_env = "SOAK_KEY"

[providers.soak.models.script]
window = 40000
max_output = 1000
`, m.port)
}

func (m *reader) complete(w http.ResponseWriter, r *http.Request) {
	var req chatRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Messages) == 0 {
		http.Error(w, `{"error":{"message":"no such request"}}`, http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	last := req.Messages[len(req.Messages)-1]
	lastText := string(last.Content)
	switch {
	case strings.Contains(lastText, "<conversation>") || strings.Contains(lastText, `\u003cconversation`):
		m.sumUp(w, r)
	case last.Role == "user" && strings.Contains(lastText, askSlow):
		m.call(w, req, "shell", `{"command":"sleep 3"}`)
	case last.Role == "user" && strings.Contains(lastText, askBig):
		m.call(w, req, "read_file", `{"path":"big.txt"}`)
	default:
		chunk(w, map[string]any{"content": "I am here."})
		finish(w, "stop", req.tokens(), 4)
	}
}

// sumUp starts a summary, and ends it unless it stalls.
func (m *reader) sumUp(w http.ResponseWriter, r *http.Request) {
	chunk(w, map[string]any{"content": "## Goal\nTo read files.\n"})
	if m.stall.Load() {
		m.begun.Store(true)
		select {
		case m.summary <- struct{}{}:
		default:
		}
		<-r.Context().Done()
		return
	}
	finish(w, "stop", 1000, 10)
}

// summing reports whether a summary has started and stalls.
func (m *reader) summing() bool { return m.begun.Load() }

// awaitSumming waits until a summary has started, if they stall.
func (m *reader) awaitSumming(ctx context.Context) {
	if !m.stall.Load() {
		return
	}
	select {
	case <-m.summary:
	case <-ctx.Done():
	}
}

func (m *reader) call(w http.ResponseWriter, req chatRequest, name, arguments string) {
	chunk(w, map[string]any{"tool_calls": []any{map[string]any{
		"index": 0, "id": fmt.Sprintf("call_%d", rand.Uint32()), "type": "function", "function": map[string]any{"name": name, "arguments": arguments},
	}}})
	finish(w, "tool_calls", req.tokens(), 10)
}

// textSource generates filler text for the session.
type textSource struct{ text string }

// newTextSource returns a megabyte of text from 20,000 artificial words.
func newTextSource() *textSource {
	chance := rand.New(rand.NewPCG(9, 9))
	words := make([]string, 20_000)
	for i := range words {
		letters := make([]byte, 4+chance.IntN(7))
		for j := range letters {
			letters[j] = 'a' + byte(chance.IntN(26))
		}
		words[i] = string(letters)
	}
	var b strings.Builder
	for b.Len() < 1<<20 {
		b.WriteString(words[chance.IntN(len(words))])
		b.WriteByte(" \n"[chance.IntN(12)/11])
	}
	return &textSource{b.String()}
}

func (p *textSource) piece(n, size int) string {
	from := n * 7919 % (len(p.text) - size)
	return p.text[from : from+size]
}

// turn returns a question, a tool call with a long result, and an answer, and their
// approximate size in bytes.
func (p *textSource) turn(n int) ([]firn.Entry, int64) {
	call, size := fmt.Sprintf("call_%08d", n), 40_000+n*104_729%480_000
	return []firn.Entry{
		firn.UserText("What is in file " + p.piece(n, 40) + "?"),
		firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, Provider: "soak", Model: "script", StopReason: firn.StopToolUse,
			Parts: []firn.Part{firn.ToolCall{ID: call, Name: "read_file", Arguments: json.RawMessage(`{"path":"a.txt"}`)}}}),
		firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: call, Name: "read_file",
			Content: []firn.Part{firn.Text{Text: p.piece(n, size)}}}}}),
		firn.AssistantText("It has: " + p.piece(n+1, 600)),
	}, int64(size) + 2000
}

// tail returns the end of the session: about half of the window.
func (p *textSource) tail() []firn.Entry {
	var all []firn.Entry
	for i := range 30 {
		all = append(all, firn.UserText(p.piece(i, 800)), firn.AssistantText(p.piece(i, 2300)))
	}
	return all
}
