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

// What the model of the promise does something special about.
const (
	askSlow = "Run the program that takes long."
	askBig  = "Read the file that is too large."
	// bigLines is how many lines that file has: with what the session ends with they are
	// more than the window holds.
	bigLines = 1100
	// hiddenWord is in one entry, in the middle of all.
	hiddenWord = "quokkasaurus"
)

// reader is the model of the promise: it calls the tools it is asked for, and where it
// stalls it never ends a summary.
type reader struct {
	port    int
	server  *http.Server
	stall   atomic.Bool
	summary chan struct{} // is told when one begins and stalls
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

// settings is what a gateway is told of it, and of the agent that asks it.
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
	said := string(last.Content)
	switch {
	case strings.Contains(said, "<conversation>") || strings.Contains(said, `\u003cconversation`):
		m.sumUp(w, r)
	case last.Role == "user" && strings.Contains(said, askSlow):
		m.call(w, req, "shell", `{"command":"sleep 3"}`)
	case last.Role == "user" && strings.Contains(said, askBig):
		m.call(w, req, "read_file", `{"path":"big.txt"}`)
	default:
		chunk(w, map[string]any{"content": "I am here."})
		finish(w, "stop", req.tokens(), 4)
	}
}

// sumUp begins a summary, and ends it unless it stalls.
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

// summing reports whether a summary was begun and stalls.
func (m *reader) summing() bool { return m.begun.Load() }

// awaitSumming waits until a summary was begun, if they stall.
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

// paper is text to cut pieces from, with which the session is filled.
type paper struct{ text string }

// newPaper writes a megabyte of 20,000 words that nobody uses.
func newPaper() *paper {
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
	return &paper{b.String()}
}

func (p *paper) piece(n, size int) string {
	from := n * 7919 % (len(p.text) - size)
	return p.text[from : from+size]
}

// turn is a question, a tool's call with a long result, and an answer; and about how many
// bytes they take.
func (p *paper) turn(n int) ([]firn.Entry, int64) {
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

// tail is what the session ends with: about half of the window.
func (p *paper) tail() []firn.Entry {
	var all []firn.Entry
	for i := range 30 {
		all = append(all, firn.UserText(p.piece(i, 800)), firn.AssistantText(p.piece(i, 2300)))
	}
	return all
}
