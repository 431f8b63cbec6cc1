package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// fakeProvider implements the Chat Completions API over HTTP and records every request.
type fakeProvider struct {
	*httptest.Server
	// answer returns the status and the text of an answer, or of an error.
	answer func(r fakeRequest) (status int, text string)
	// model is FIRN_MODEL of the commands; empty leaves it to the settings.
	model string

	mu       sync.Mutex
	requests []fakeRequest
}

// fakeRequest is a request as the provider got it.
type fakeRequest struct {
	// N counts from 1.
	N    int
	Body string
}

// text returns the text of all messages of a request.
func (r fakeRequest) text() string {
	var body struct {
		Messages []struct{ Content any }
	}
	_ = json.Unmarshal([]byte(r.Body), &body)
	var b strings.Builder
	for _, m := range body.Messages {
		fmt.Fprintln(&b, m.Content)
	}
	return b.String()
}

// summary reports whether a request asks for the summary of a conversation.
func (r fakeRequest) summary() bool {
	return strings.Contains(r.Body, "You write the summary that stands in for")
}

func newFakeProvider(t *testing.T, answer func(r fakeRequest) (int, string)) *fakeProvider {
	t.Helper()
	s := &fakeProvider{answer: answer, model: "openai/gpt-4o"}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *fakeProvider) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	req := fakeRequest{N: len(s.requests) + 1, Body: string(body)}
	s.requests = append(s.requests, req)
	s.mu.Unlock()
	status, text := s.answer(req)
	quoted, _ := json.Marshal(text)
	if status != http.StatusOK {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":%s,"type":"invalid_request_error"}}`, quoted)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%s},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", quoted)
}

// all returns the requests so far.
func (s *fakeProvider) all() []fakeRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]fakeRequest(nil), s.requests...)
}

// firn runs a command against the provider in a directory and returns its output and exit
// code.
func (s *fakeProvider) firn(t *testing.T, home, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return s.firnOutput(t, home, dir, "", args...)
}

// firnOutput is firn with something on stdin.
func (s *fakeProvider) firnOutput(t *testing.T, home, dir, input string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command("firn", args...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(input)
	cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "OPENAI_BASE_URL="+s.URL, "OPENAI_API_KEY=x", "FIRN_MODEL="+s.model)
	var out, notes strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &notes
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), notes.String(), cmd.ProcessState.ExitCode()
}
