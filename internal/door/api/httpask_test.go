package api_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"firn.dev/internal/door/api"
)

func with(name, value string) change { return func(r *http.Request) { r.Header.Set(name, value) } }

func bearing(secret string) change { return with("Authorization", "Bearer "+secret) }

func calling(host string) change { return func(r *http.Request) { r.Host = host } }

func withBody(kind, body string) change {
	return func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Type", kind)
	}
}

func sending(v any) change {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return withBody("application/json", string(data))
}

// ask sends a request as an unauthenticated TCP client.
func (s *fakeServer) ask(method, target string, changes ...change) reply {
	s.t.Helper()
	return s.send(s.http, method, target, changes...)
}

// owner sends a request as the owner.
func (s *fakeServer) owner(method, target string, changes ...change) reply {
	s.t.Helper()
	return s.send(api.Owner(s.http), method, target, changes...)
}

func (s *fakeServer) send(h http.Handler, method, target string, changes ...change) reply {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "localhost:7766"
	for _, c := range changes {
		c(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return reply{w.Code, w.Result().Header, w.Body.String()}
}
