package webtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"
	"time"
)

// model is a provider controlled by tests: an HTTP server with OpenAI's chat API.
//
// A question that contains "play NAME" waits for the test that plays NAME; all others are
// answered immediately.
type model struct {
	http *httptest.Server

	mu    sync.Mutex
	parts map[string]chan *part
}

// part is an answer in progress. Its methods return when the data has been sent.
type part struct {
	// asked is the body of the request.
	asked []byte
	say   chan string
	over  chan struct{} // closed when the gateway disconnects
}

func newModel() *model {
	m := &model{parts: make(map[string]chan *part)}
	m.http = httptest.NewServer(http.HandlerFunc(m.answer))
	return m
}

func (m *model) url() string { return m.http.URL }

func (m *model) close() {
	m.http.CloseClientConnections()
	m.http.Close()
}

// queue returns the queue of requests for a name.
func (m *model) queue(name string) chan *part {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parts[name] == nil {
		m.parts[name] = make(chan *part, 16)
	}
	return m.parts[name]
}

var playing = regexp.MustCompile(`play ([a-z0-9-]+)`)

// answer sends an answer at the pace of its test.
func (m *model) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if r.Method == http.MethodGet { // the list of models
		io.WriteString(w, `{"object":"list","data":[{"id":"slow","object":"model"},{"id":"quick","object":"model"}]}`)
		return
	}
	flush := http.NewResponseController(w).Flush
	w.Header().Set("Content-Type", "text/event-stream")
	flush()
	// Unanswered messages are sent along with the next one.
	names := playing.FindAllStringSubmatch(lastUserText(body), -1)
	if names == nil {
		io.WriteString(w, chunk(`{"role":"assistant","content":"At once."}`, "")+chunk(`{}`, "stop")+"data: [DONE]\n\n")
		return
	}
	p := &part{asked: body, say: make(chan string), over: make(chan struct{})}
	defer close(p.over)
	select {
	case m.queue(names[len(names)-1][1]) <- p:
	case <-r.Context().Done():
		return
	}
	for {
		select {
		case line, more := <-p.say:
			if !more {
				return
			}
			io.WriteString(w, line)
			flush()
		case <-r.Context().Done():
			return
		}
	}
}

// lastUserText returns the last user message.
func lastUserText(body []byte) string {
	var request struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	json.Unmarshal(body, &request) // an invalid request has no messages
	for i := len(request.Messages) - 1; i >= 0; i-- {
		if request.Messages[i].Role == "user" {
			return string(request.Messages[i].Content)
		}
	}
	return ""
}

// chunk returns one event of a stream.
func chunk(delta, finish string) string {
	reason := "null"
	if finish != "" {
		reason = `"` + finish + `"`
	}
	return fmt.Sprintf(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1794710747,"model":"slow","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, reason)
}

// plays waits until the model receives a request for NAME.
func (m *model) plays(t *testing.T, name string) *part {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case p := <-m.queue(name):
		return p
	case <-ctx.Done():
		t.Fatalf("the model was not called for %s", name)
		return nil
	}
}

// send sends a piece. It reports false if the gateway has disconnected.
func (p *part) send(s string) bool {
	select {
	case p.say <- s:
		return true
	case <-p.over:
		return false
	}
}

func (p *part) text(s string) bool { return p.send(chunk(`{"content":`+quote(s)+`}`, "")) }

func (p *part) thinking(s string) bool {
	return p.send(chunk(`{"reasoning_content":`+quote(s)+`}`, ""))
}

// call requests a tool call and ends the answer.
func (p *part) call(id, tool, arguments string) {
	p.send(chunk(fmt.Sprintf(`{"tool_calls":[{"index":0,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]}`, quote(id), quote(tool), quote(arguments)), ""))
	p.finish("tool_calls")
}

// end ends the answer.
func (p *part) end() { p.finish("stop") }

func (p *part) finish(reason string) {
	p.send(chunk(`{}`, reason) + `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1794710747,"model":"slow","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}` + "\n\ndata: [DONE]\n\n")
	close(p.say)
}

// stopped waits until the gateway has disconnected.
func (p *part) stopped(t *testing.T) {
	t.Helper()
	select {
	case <-p.over:
	case <-time.After(patience):
		t.Fatal("the model was not stopped")
	}
}

func quote(s string) string {
	b, _ := json.Marshal(s) // cannot fail: a string
	return string(b)
}
