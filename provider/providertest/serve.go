package providertest

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"
)

// Serve starts an HTTP server for the duration of the test and returns its address. Spell
// returns the complete body of an answer. A request that is not a POST of JSON, or that
// lacks [Key], fails the test.
func (p *Play) Serve(t *testing.T, spell func(Answer) []byte) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkRequest(r); err != nil {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
		part := p.Next()
		if part.Status != 0 {
			maps.Copy(w.Header(), part.Header)
			w.WriteHeader(part.Status)
			io.WriteString(w, part.Body)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		body := spell(part.Answer)
		send, then := part.Of(len(body))
		part.write(w, body[:send])
		switch then {
		case Broken:
			panic(http.ErrAbortHandler)
		case Stalled:
			<-r.Context().Done()
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// write writes a body in chunks.
func (p Part) write(w http.ResponseWriter, body []byte) {
	flush := http.NewResponseController(w).Flush
	flush()
	chunk := p.chunk
	if chunk <= 0 {
		chunk = max(len(body), 1)
	}
	for len(body) > 0 {
		n := min(chunk, len(body))
		w.Write(body[:n])
		flush()
		body = body[n:]
	}
}

// checkRequest returns an error if a request is malformed.
func checkRequest(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	switch {
	case r.Context().Err() != nil:
		return nil // the client has disconnected
	case err != nil:
		return err
	case r.Method != http.MethodPost:
		return errors.New("the method is not POST")
	case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		return errors.New("the content type is not JSON")
	case !json.Valid(body):
		return errors.New("the body is not JSON")
	case !utf8.Valid(body):
		return errors.New("the body is not UTF-8")
	case !hasKey(r):
		return errors.New("the request has no key")
	}
	return nil
}

// hasKey reports whether a header or the URL contains the key.
func hasKey(r *http.Request) bool {
	if strings.Contains(r.URL.RawQuery, Key) {
		return true
	}
	for _, values := range r.Header {
		for _, v := range values {
			if strings.Contains(v, Key) {
				return true
			}
		}
	}
	return false
}
