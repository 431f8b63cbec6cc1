package api_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/door/api"
	"firn.dev/internal/door/token"
	"firn.dev/internal/gateway/metrics"
	"firn.dev/wire"
)

// FuzzHandlers sends arbitrary requests. Each must be answered without an internal error,
// and anything that is not JSON must be a stream or metrics.
func FuzzHandlers(f *testing.F) {
	for _, path := range []string{
		"/v1/sessions", "/v1/sessions?limit=1&archived", "/v1/sessions/aaaa-1", "/v1/sessions/aaaa-1/entries?view=disk&after=3", "/v1/sessions/aaaa-1/turns", "/v1/sessions/aaaa-1:fork",
		"/v1/sessions/..%2f..%2fetc", "/v1/sessions/%00", "/v1/keys/agent:main:main", "/v1/keys/x/reset", "/v1/inbound", "/v1/tokens", "/v1/tokens/x", "/v1/usage?since=2026-01-01", "/v1/sessions/aaaa-1/events?after=x",
		"/metrics", "/openapi.json", "/readyz", "/%zz", "//", "/v1/sessions/a:b:c", "*", "http://evil/", "/v1/sessions/aaaa-1/compactions/x:redo",
	} {
		f.Add("GET", path, "localhost", "", "application/json", "", []byte(nil))
		f.Add("POST", path, "localhost:1", "Origin: http://localhost:1", "application/json; charset=utf-8", `"70"`, []byte(`{"text":"x","entries":[{}],"name":"n","scope":"read"}`))
		f.Add("DELETE", path, "[::1", "Accept: text/event-stream", "text/plain", "*", []byte("\xff{"))
		f.Add("PUT", path, "127.0.0.1:x", "Last-Event-ID: 9999999999999999999", "application/json", `W/"1"`, []byte(`{"session":"aaaa-1","key":"k","title":null}`))
		f.Add("PATCH", path, "localhost", "Idempotency-Key: \x7f", "application/json", `"-1"`, []byte(`{"title":"x"}`+strings.Repeat(" ", 100)))
	}
	var secret string
	set := metrics.New(time.Now())
	s := newFakeServer(&testing.T{}, api.Config{Tokens: fuzzTokens(f, &secret), MaxBody: 4096, Metrics: set, Heartbeat: time.Hour})
	f.Fuzz(func(t *testing.T, method, target, host, header, kind, match string, body []byte) {
		u, err := url.ParseRequestURI(target)
		if err != nil || strings.ContainsFunc(method, func(c rune) bool { return c <= ' ' || c > '~' }) || method == "" {
			return // a server does not pass these on
		}
		ctx, cancel := context.WithCancel(t.Context())
		r := (&http.Request{Method: method, URL: u, Host: host, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}).WithContext(ctx)
		r.Header.Set("Content-Type", kind)
		r.Header.Set("If-Match", match)
		if name, value, ok := strings.Cut(header, ": "); ok {
			r.Header.Set(name, value)
		}
		s.fake.live <- wire.Event{Name: wire.Bye} // ends streams
		defer cancel()
		for _, who := range []string{"", secret} {
			if who != "" {
				r.Header.Set("Authorization", "Bearer "+who)
			}
			w := httptest.NewRecorder()
			s.http.ServeHTTP(w, r)
			if w.Code >= 500 && w.Code != http.StatusNotImplemented || w.Code < 200 {
				t.Errorf("%s %q: %d %s", method, target, w.Code, w.Body)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		for len(s.fake.live) > 0 {
			<-s.fake.live
		}
	})
}

func fuzzTokens(f *testing.F, secret *string) *token.Book {
	f.Helper()
	tokens, err := token.Open(context.Background(), token.NewFile(noFiles(f), "/tokens.json"), nil)
	if err != nil {
		f.Fatal(err)
	}
	made, err := tokens.Create(context.Background(), wire.NewToken{Name: "fuzz", Scope: wire.ScopeAdmin})
	if err != nil {
		f.Fatal(err)
	}
	*secret = made.Secret
	return tokens
}

// noFiles returns a file system in memory.
func noFiles(f *testing.F) vfs.FS {
	f.Helper()
	return faultfs.New()
}
