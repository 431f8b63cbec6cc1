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

// key is what lets both clients in.
const key = "sk-not-a-real-key"

// failer is a test, be it one of rapid's.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// request is a request as a server gets it.
type request struct {
	method, path, query string
	header              http.Header
	body                []byte
}

// server is a server that keeps what it is sent, and gives one answer. Its
// client brings every request there, whatever the address: so both clients can
// be told the real one, which ours looks at.
type server struct {
	client *http.Client
	// status, header and answer are what the next requests get.
	status int
	header http.Header
	answer []byte
	// got are the requests that came. The next request comes when the one before
	// was answered, so nothing is locked.
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

// ServeHTTP keeps a request and answers it.
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

// play says what the next requests get, and forgets those that came.
func (s *server) play(status int, answer string) {
	s.status, s.answer, s.got = status, []byte(answer), nil
}

// last is the one request that came since it was asked for last.
func (s *server) last(t failer) request {
	t.Helper()
	if len(s.got) != 1 {
		t.Fatalf("%d requests came, want one", len(s.got))
	}
	r := s.got[0]
	s.got = nil
	return r
}

// detour brings requests to one server, whatever their address.
type detour struct{ to *url.URL }

func (d detour) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = d.to.Scheme, d.to.Host
	return http.DefaultTransport.RoundTrip(r)
}

// drain asks a model, and returns what came last: the answer or the error.
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

// sse is a stream of events, each with its data; the name of an event is its
// type, if it tells one at its beginning.
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
