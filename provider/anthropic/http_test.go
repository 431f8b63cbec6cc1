package anthropic

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/provider"
)

// refusing starts a server that rejects requests, and returns a model that uses it.
func refusing(t *testing.T, status int, header http.Header, body string) *Model {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return New(Options{Name: old, Key: "k", URL: server.URL + "/"})
}

// failureOf returns the error of the only event of a stream.
func failureOf(t *testing.T, m *Model, req provider.Request) *provider.Error {
	t.Helper()
	var failure *provider.Error
	n := 0
	for event, err := range m.Stream(t.Context(), req) {
		n++
		if event != nil || !errors.As(err, &failure) {
			t.Fatalf("got %v and %v, want an error of the provider", event, err)
		}
	}
	if n != 1 {
		t.Fatalf("%d events, want one error", n)
	}
	return failure
}

func TestRefusals(t *testing.T) {
	encodeAnswer := func(kind, message string) string {
		quoted, _ := json.Marshal(message)
		return `{"type":"error","error":{"type":"` + kind + `","message":` + string(quoted) + `},"request_id":"req_011CSHoEeqs5C35K2UUqR7Fy"}`
	}
	cases := []struct {
		name          string
		status        int
		header        http.Header
		kind, message string
		want          provider.Kind
		after         time.Duration
	}{
		{"too many requests", 429, http.Header{"Retry-After": {"17"}}, "rate_limit_error", "This request would exceed your organization's rate limit of 50,000 input tokens per minute.", provider.Temporary, 17 * time.Second},
		{"overloaded", 529, nil, "overloaded_error", "Overloaded", provider.Temporary, 0},
		{"broken", 500, nil, "api_error", "Internal server error", provider.Temporary, 0},
		{"a wrong key", 401, nil, "authentication_error", "invalid x-api-key", provider.Auth, 0},
		{"not allowed", 403, nil, "permission_error", "Your API key does not have permission to use the specified resource.", provider.Auth, 0},
		{"no credit", 400, nil, "invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.", provider.Auth, 0},
		{"too long", 400, nil, "invalid_request_error", "prompt is too long: 215321 tokens > 200000 maximum", provider.Overflow, 0},
		{"too long with its answer", 400, nil, "invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000, decrease input length or `max_tokens` and try again", provider.Overflow, 0},
		{"too large", 413, nil, "request_too_large", "Request exceeds the maximum allowed number of bytes.", provider.Overflow, 0},
		{"refused", 400, nil, "invalid_request_error", "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01.", provider.BadRequest, 0},
		{"no such model", 404, nil, "not_found_error", "model: claude-sonnet-9", provider.BadRequest, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := refusing(t, c.status, c.header, encodeAnswer(c.kind, c.message))
			got := failureOf(t, m, ask("Hello?"))
			if got.Kind != c.want || got.Status != c.status || got.Code != c.kind || got.RetryAfter != c.after || got.Partial {
				t.Errorf("got %+v, want kind %s, status %d, code %s, after %s", got, c.want, c.status, c.kind, c.after)
			}
			if !strings.Contains(got.Message, firn.CutText(c.message, 20)) {
				t.Errorf("the message is %q, want %q", got.Message, c.message)
			}
			if _, err := m.CountTokens(t.Context(), ask("Hello?")); provider.KindOf(err) != c.want {
				t.Errorf("counting fails with %v, want kind %s", err, c.want)
			}
		})
	}
}

// TestNoKey checks that nothing is sent without a key.
func TestNoKey(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1) }))
	defer server.Close()
	m := New(Options{Name: old, URL: server.URL})
	if got := failureOf(t, m, ask("Hello?")); got.Kind != provider.Auth || !strings.Contains(got.Error(), "key") || !errors.Is(got, firn.ErrInvalid) {
		t.Errorf("got %v, want an error that asks for a key", got)
	}
	if _, err := m.CountTokens(t.Context(), ask("Hello?")); provider.KindOf(err) != provider.Auth {
		t.Errorf("counting fails with %v", err)
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("%d requests were made", n)
	}
}

// seen starts a server that records its last request and answers with body.
func seen(t *testing.T, body string) (url string, last *http.Request, sent *[]byte) {
	t.Helper()
	last, sent = new(http.Request), new([]byte)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*last = *r
		*sent, _ = io.ReadAll(r.Body)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL, last, sent
}

func TestSentRequest(t *testing.T) {
	url, last, sent := seen(t, string(streams(t)["text"]))
	m := New(Options{Name: bound, Key: "k", URL: url, Header: http.Header{"anthropic-beta": {"a", "b"}, "X-Mine": {"m"}}})
	req := ask("Hello?")
	for _, err := range m.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
	}
	want, err := encode(m.settings, req, answering)
	if err != nil {
		t.Fatal(err)
	}
	if last.Method != http.MethodPost || last.URL.Path != "/v1/messages" || string(*sent) != string(want) {
		t.Errorf("%s %s received\n%s\nwant\n%s", last.Method, last.URL.Path, *sent, want)
	}
	for name, value := range map[string]string{
		"X-Api-Key": "k", "Anthropic-Version": "2023-06-01", "Content-Type": "application/json", "X-Mine": "m",
		"Anthropic-Beta": bindingBeta + ",a,b",
	} {
		if got := last.Header.Get(name); got != value {
			t.Errorf("header %s is %q, want %q", name, got, value)
		}
	}
}

// TestHeader checks that the caller's headers take precedence and may contain the key.
func TestHeader(t *testing.T) {
	url, last, _ := seen(t, string(streams(t)["text"]))
	m := New(Options{Name: "glm-4.6", Provider: "zai", URL: url, Header: http.Header{"Authorization": {"Bearer t"}, "anthropic-version": {"2030-01-01"}}})
	for _, err := range m.Stream(t.Context(), ask("Hello?")) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if h := last.Header; h.Get("Authorization") != "Bearer t" || h.Get("Anthropic-Version") != "2030-01-01" || h.Get("X-Api-Key") != "" || h.Get("Anthropic-Beta") != "" {
		t.Errorf("the headers are %v", h)
	}
	if info := m.Info(); info.Provider != "zai" || info.API != API || info.Name != "glm-4.6" || info.Profile.Name != "anthropic" || info.Window <= 0 {
		t.Errorf("the info is %+v", info)
	}
}

func TestCountTokens(t *testing.T) {
	url, last, sent := seen(t, `{"input_tokens":2095,"novel":{}}`)
	m := New(Options{Name: old, Key: "k", URL: url})
	req := ask("Hello?")
	n, err := m.CountTokens(t.Context(), req)
	if n != 2095 || err != nil {
		t.Errorf("got %d and %v, want 2095", n, err)
	}
	want, _ := encode(m.settings, req, counting)
	if last.URL.Path != "/v1/messages/count_tokens" || string(*sent) != string(want) {
		t.Errorf("%s received\n%s\nwant\n%s", last.URL.Path, *sent, want)
	}
	for _, body := range []string{``, `{}`, `<html>`, `{"input_tokens":null}`, `{"input_tokens":"many"}`} {
		url, _, _ := seen(t, body)
		if n, err := New(Options{Name: old, Key: "k", URL: url}).CountTokens(t.Context(), req); provider.KindOf(err) != provider.Temporary {
			t.Errorf("%q: got %d and %v, want a temporary error", body, n, err)
		}
	}
	if _, err := m.CountTokens(t.Context(), provider.Request{}); provider.KindOf(err) != provider.BadRequest {
		t.Errorf("counting nothing: %v", err)
	}
}

// TestUnknownModel checks that for a model missing from the catalog, the name decides whether
// it can think.
func TestUnknownModel(t *testing.T) {
	for name, thinks := range map[string]bool{"claude-opus-17": true, "claude-2-unheard-of": false, "somebody-else": false} {
		if info := New(Options{Name: name}).Info(); !info.Assumed || info.Thinks != thinks || info.Window != provider.AssumedWindow {
			t.Errorf("%s: got %+v", name, info.Spec)
		}
	}
	spec := provider.Spec{Window: 1000, MaxOutput: 10}
	if info := New(Options{Name: old, Spec: spec}).Info(); info.Spec != spec {
		t.Errorf("got %+v, want %+v", info.Spec, spec)
	}
}
