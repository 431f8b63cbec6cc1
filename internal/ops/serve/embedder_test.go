package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"firn.dev/internal/find/fulltext"
	"firn.dev/internal/ops/config"
)

// TestEmbedder calls endpoints of both shapes, and others that fail.
func TestEmbedder(t *testing.T) {
	var asked struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	var key string
	answer := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			key = r.Header.Get("Authorization")
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
				t.Error(err)
			}
			w.WriteHeader(status)
			fmt.Fprint(w, text)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/embeddings", answer(200, `{"data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2]}]}`))
	mux.HandleFunc("POST /api/embed", answer(200, `{"embeddings":[[1,2],[3,4]]}`))
	mux.HandleFunc("POST /full/embeddings", answer(429, `{"error":"slow down, k1: one two"}`))
	mux.HandleFunc("POST /long/embeddings", answer(413, `{}`))
	mux.HandleFunc("POST /odd/embeddings", answer(400, `{}`))
	mux.HandleFunc("POST /key/embeddings", answer(403, `{}`))
	mux.HandleFunc("POST /few/embeddings", answer(200, `{"data":[{"index":0,"embedding":[1,2]}]}`))
	mux.HandleFunc("POST /twice/embeddings", answer(200, `{"data":[{"index":0,"embedding":[1,2]},{"index":0,"embedding":[1,2]}]}`))
	mux.HandleFunc("POST /page/embeddings", answer(200, `<html>`))
	mux.Handle("POST /away/embeddings", http.RedirectHandler("/v1/embeddings", http.StatusTemporaryRedirect))
	server := httptest.NewServer(mux)
	defer server.Close()
	env := func(name string) string { return map[string]string{"A_KEY": "k1"}[name] }
	for path, want := range map[string]string{
		"/v1": "", "/v1/": "", "/v1/embeddings": "", "/api/embed": "",
		"/full": "status 429 (Too Many Requests)", "/few": "1 vectors for 2 texts", "/twice": "not one for each text", "/page": "invalid character", "/away": "it redirects", "/none": "404", "/long": "413", "/odd": "400", "/key": "403",
	} {
		e, err := newEmbedder(config.Embeddings{URL: server.URL + path, Model: "m", KeyEnv: "A_KEY", Batch: 2}, env)
		if err != nil {
			t.Fatal(err)
		}
		vectors, err := e.Embed(t.Context(), []string{"one", "two"})
		if rejected := path == "/long" || path == "/odd"; errors.Is(err, fulltext.ErrRejected) != rejected {
			t.Errorf("%s: %v", path, err)
		}
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), e.Name()) || strings.Contains(err.Error(), "k1") {
				t.Errorf("%s: %v", path, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(vectors, [][]float32{{1, 2}, {3, 4}}) || asked.Model != "m" || len(asked.Input) != 2 || key != "Bearer k1" {
			t.Errorf("%s: %v %v, asked %+v with %q", path, vectors, err, asked, key)
		}
	}
	if e, err := newEmbedder(config.Embeddings{}, env); e != nil || err != nil {
		t.Errorf("without settings: %v, %v", e, err)
	}
	if _, err := newEmbedder(config.Embeddings{URL: server.URL}, env); err == nil {
		t.Error("an endpoint without a model is accepted")
	}
	if _, err := newEmbedder(config.Embeddings{URL: "http://[::1/v1?api-key=hidden1", Model: "m"}, env); err == nil || strings.Contains(err.Error(), "hidden1") {
		t.Errorf("an invalid address: %v", err)
	}
	closed, err := newEmbedder(config.Embeddings{URL: "http://127.0.0.1:1/v1?api-key=hidden1", Model: "m"}, env)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := closed.Embed(t.Context(), []string{"one"}); err == nil || !strings.Contains(err.Error(), "m at 127.0.0.1:1") || strings.Contains(err.Error(), "hidden1") {
		t.Errorf("nothing listens: %v", err)
	}
}

// FuzzParseVectors checks that a response has one vector for each text, or is an error.
func FuzzParseVectors(f *testing.F) {
	for _, text := range []string{`{"data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1]}]}`, `{"embeddings":[[1],[2]]}`, `{"data":[{"index":-1,"embedding":[1]},{}]}`, `{"embeddings":null}`, `[]`, ``} {
		f.Add([]byte(text), 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		if n < 1 || n > 1000 {
			return
		}
		vectors, err := parseVectors(data, n)
		if err == nil && len(vectors) != n {
			t.Errorf("%d vectors for %d texts", len(vectors), n)
		}
	})
}
