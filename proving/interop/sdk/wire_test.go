package sdk

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"firn.dev/provider"
)

// key is the API key of both clients.
const key = "sk-not-a-real-key"

// failer is a test, including those of rapid.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// request is a request as a server receives it.
type request struct {
	method, path, query string
	header              http.Header
	body                []byte
}

// server records requests and returns a fixed response. Its client redirects all requests
// to it, so that both clients can be configured with the real address, which firn's client
// examines.
type server struct {
	client *http.Client
	// status, header and answer are the response to the next requests.
	status int
	header http.Header
	answer []byte
	// got are the received requests. Requests are sequential, so no lock is needed.
	got []request
}

func newServer(t *testing.T) *server {
	s := &server{status: http.StatusOK}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	to, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.client = &http.Client{Transport: detour{to}}
	return s
}

// ServeHTTP records a request and responds.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.got = append(s.got, request{r.Method, r.URL.Path, r.URL.RawQuery, r.Header, body})
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if b := bytes.TrimSpace(s.answer); len(b) > 0 && b[0] == '{' {
		w.Header().Set("Content-Type", "application/json")
	}
	for name, values := range s.header {
		w.Header()[name] = values
	}
	w.WriteHeader(s.status)
	w.Write(s.answer)
}

// play sets the response to the next requests, and clears the recorded ones.
func (s *server) play(status int, answer string) {
	s.status, s.answer, s.got = status, []byte(answer), nil
}

// last returns the only request since the last call.
func (s *server) last(t failer) request {
	t.Helper()
	if len(s.got) != 1 {
		t.Fatalf("%d requests came, want one", len(s.got))
	}
	r := s.got[0]
	s.got = nil
	return r
}

// detour redirects requests to one server.
type detour struct{ to *url.URL }

func (d detour) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = d.to.Scheme, d.to.Host
	return http.DefaultTransport.RoundTrip(r)
}

// drain runs a model request, and returns the deltas and the final answer or error.
func drain(ctx context.Context, m provider.Model, req provider.Request) (deltas []provider.Event, done *provider.Done, err error) {
	for event, err := range m.Stream(ctx, req) {
		if err != nil {
			return deltas, nil, err
		}
		if d, ok := event.(provider.Done); ok {
			return deltas, &d, nil
		}
		deltas = append(deltas, event)
	}
	return deltas, nil, nil
}

// sse encodes a stream of events. The name of an event is the type at the beginning of its
// data, if any.
func sse(events ...string) string {
	var b strings.Builder
	for _, data := range events {
		if rest, ok := strings.CutPrefix(data, `{"type":"`); ok {
			name, _, _ := strings.Cut(rest, `"`)
			b.WriteString("event: " + name + "\n")
		}
		b.WriteString("data: " + data + "\n\n")
	}
	return b.String()
}
