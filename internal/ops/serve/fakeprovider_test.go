package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// speaker is a provider with OpenAI's older API over HTTP.
type speaker struct {
	*httptest.Server
	// answer writes the response to the messages of a request; nil echoes the last one.
	answer func(w http.ResponseWriter, asked []message)

	mu    sync.Mutex
	asked [][]message
}

// message is a message as received by the provider.
type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

func (s message) text() string {
	if text, ok := s.Content.(string); ok {
		return text
	}
	data, err := json.Marshal(s.Content)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func speak(t *testing.T, answer func(w http.ResponseWriter, asked []message)) *speaker {
	t.Helper()
	s := &speaker{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(s.take))
	t.Cleanup(s.Close)
	return s
}

func (s *speaker) take(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []message `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, body.Messages)
	s.mu.Unlock()
	if s.answer != nil {
		s.answer(w, body.Messages)
		return
	}
	says(w, "re: "+body.Messages[len(body.Messages)-1].text())
}

// says answers with text.
func says(w http.ResponseWriter, text string) {
	chunk(w, map[string]any{"content": text}, "stop")
}

// calls answers with a tool call.
func calls(w http.ResponseWriter, id, name, arguments string) {
	chunk(w, map[string]any{"tool_calls": []any{map[string]any{
		"index": 0, "id": id, "type": "function", "function": map[string]string{"name": name, "arguments": arguments},
	}}}, "tool_calls")
}

func chunk(w http.ResponseWriter, delta map[string]any, stop string) {
	data, err := json.Marshal(map[string]any{
		"model": "talker-2026", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": stop}},
		"usage": map[string]int{"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107},
	})
	if err != nil {
		data = []byte("null")
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", data)
}

// fails answers with an error.
func fails(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, `{"error":{"message":`+quoted(message)+`}}`)
}

// last returns the messages of the last request, with the system prompt separate.
func (s *speaker) last() (system string, received []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
		return "", nil
	}
	for _, m := range s.asked[len(s.asked)-1] {
		switch m.Role {
		case "system", "developer":
			system = m.text()
		default:
			received = append(received, m.Role+": "+m.text())
		}
	}
	return system, received
}

// count returns the number of requests.
func (s *speaker) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// settings returns settings with the provider talk at the speaker's address and its model
// for all agents.
func (s *speaker) settings(more string) string {
	return "[providers.talk]\nkind = \"openai-chat\"\nurl = " + quoted(s.URL) + "\n" +
		"[models.\"talk/talker\"]\nwindow = 32000\nmax_output = 1000\n" +
		"[defaults]\nmodel = \"talk/talker\"\ntitles = false\nretries = 0\n" + more
}

// only removes the text injected in every turn.
func only(received []string) (out []string) {
	for _, h := range received {
		who, text, _ := strings.Cut(h, ": ")
		if _, rest, ok := strings.Cut(text, "</environment>\n\n"); ok {
			text = rest
		}
		out = append(out, who+": "+text)
	}
	return out
}

// clock is a clock that can be set ahead.
type clock struct{ by atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.by.Load())) }

func (c *clock) advance(by time.Duration) { c.by.Add(int64(by)) }
