package modelchoice

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"firn.dev"
)

// fakeOllama and fakeLMStudio answer as these servers do.
func fakeOllama(t *testing.T) Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"models":[{"name":"nomic-embed-text:latest","model":"nomic-embed-text:latest","modified_at":"2026-05-04T14:56:49.277302595-07:00","size":274302450,"digest":"0a1","details":{"format":"gguf","family":"nomic-bert","families":["nomic-bert"],"parameter_size":"137M","quantization_level":"F16"}},` +
			`{"name":"qwen3:8b","model":"qwen3:8b","modified_at":"2026-05-04T14:56:49.277302595-07:00","size":5225388164,"digest":"500a","details":{"format":"gguf","family":"qwen3","families":["qwen3"],"parameter_size":"8.2B","quantization_level":"Q4_K_M"}}]}`))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return Server{Provider: "ollama", Title: "Ollama", URL: s.URL + "/v1", Tags: true}
}

func fakeLMStudio(t *testing.T) Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"data":[{"id":"text-embedding-nomic-embed-text-v1.5","object":"model","owned_by":"organization_owner"},{"id":"openai/gpt-oss-20b","object":"model","owned_by":"organization_owner"}],"object":"list"}`))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return Server{Provider: "lmstudio", Title: "LM Studio", URL: s.URL + "/v1"}
}

func TestDetect(t *testing.T) {
	ollama, studio := fakeOllama(t), fakeLMStudio(t)
	closed := httptest.NewServer(nil)
	closed.Close()
	away := Server{Provider: "ollama", Title: "Ollama", URL: "http://192.0.2.1:11434/v1", Tags: true}
	key := Default{Variable: "ANTHROPIC_API_KEY", ID: "anthropic/claude-sonnet-5"}
	proxy := studio
	proxy.Provider, proxy.Title = "openai", "the server of OPENAI_BASE_URL"
	for name, c := range map[string]struct {
		table    Table
		id, says string
	}{
		"nothing":             {Table{}, BuiltIn, ""},
		"a key":               {Table{Defaults: []Default{key}, Servers: []Server{ollama}}, key.ID, "ANTHROPIC_API_KEY is set"},
		"Ollama":              {Table{Servers: []Server{ollama, studio}}, "ollama/qwen3:8b", "Ollama runs on this machine"},
		"LM Studio":           {Table{Servers: []Server{{Provider: "ollama", URL: closed.URL, Tags: true}, studio}}, "lmstudio/openai/gpt-oss-20b", "LM Studio runs"},
		"nothing listens":     {Table{Servers: []Server{{Provider: "ollama", URL: closed.URL, Tags: true}}}, BuiltIn, ""},
		"another machine":     {Table{Servers: []Server{away}}, BuiltIn, ""},
		"OPENAI_BASE_URL":     {Table{Servers: []Server{ollama, proxy}, BaseURL: true, Defaults: []Default{key}}, "openai/openai/gpt-oss-20b", "OPENAI_BASE_URL is set"},
		"a base URL far away": {Table{Servers: []Server{{Provider: "openai", URL: "https://192.0.2.1/v1"}}, BaseURL: true, Defaults: []Default{key}}, key.ID, "ANTHROPIC_API_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			c.table.Limit = time.Minute // a busy machine is slow
			if got := c.table.Detect(t.Context()); got.ID != c.id || !strings.Contains(got.Why, c.says) {
				t.Errorf("got %+v, want %s because %q", got, c.id, c.says)
			}
		})
	}
}

// TestSlowServer checks that a server that accepts connections and does not answer is given up.
func TestSlowServer(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer s.Close()
	defer close(release)
	table := Table{Servers: []Server{{Provider: "ollama", URL: s.URL, Tags: true}}}
	if got := table.Local(t.Context(), time.Millisecond); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// TestUnusualModelLists checks that no answer of a server breaks the list.
func TestUnusualModelLists(t *testing.T) {
	for _, body := range []string{"", "null", "[]", `{"data":{}}`, `{"data":[{"id":""},{"id":"a b"},{"id":"a\u001b[31m"}]}`, `{"models":[{"name":7}]}`, strings.Repeat("[", 10000)} {
		if names, _ := parseList([]byte(body)); len(names) != 0 {
			t.Errorf("%.40q lists %q", body, names)
		}
	}
}

func TestResolve(t *testing.T) {
	var offers []Offer
	for _, id := range strings.Fields(`firn/offline anthropic/claude-3-5-sonnet-20241022 anthropic/claude-sonnet-4-5 anthropic/claude-sonnet-4-5-20250929 anthropic/claude-sonnet-5
		anthropic/claude-opus-4-1 anthropic/claude-opus-5 openai/gpt-4 openai/gpt-5 openai/gpt-5-mini openai/gpt-5.5 openai/gpt-4o openrouter/anthropic/claude-sonnet-4.5 openrouter/moonshotai/kimi-k2
		gemini/gemini-2.5-pro gemini/gemini-2.5-flash gemini/gemini-2.5-flash-lite`) {
		offers = append(offers, Offer{ID: id})
	}
	offers = append(offers, Offer{ID: "ollama/llama3:latest", Ready: true}, Offer{ID: "groq/llama3"}, Offer{ID: "ollama/qwen3:8b", Ready: true}, Offer{ID: "lmstudio/qwen3:8b", Ready: true})
	providers := []string{"firn", "anthropic", "openai", "openrouter", "gemini", "ollama", "groq", "lmstudio"}
	for name, want := range map[string]string{
		"gpt-5": "openai/gpt-5", "GPT-5": "openai/gpt-5", "gpt-5.5": "openai/gpt-5.5", "gpt-5-5": "openai/gpt-5.5", "sonnet": "anthropic/claude-sonnet-5", "opus": "anthropic/claude-opus-5",
		"claude-sonnet-4-5": "anthropic/claude-sonnet-4-5", "sonnet-4.5": "anthropic/claude-sonnet-4-5", "offline": "firn/offline", "kimi-k2": "openrouter/moonshotai/kimi-k2", "llama3": "ollama/llama3:latest",
		"anthropic/claude-nine": "anthropic/claude-nine", "anthropic/claude-sonnet-4.5": "anthropic/claude-sonnet-4.5", "moonshotai/kimi-k2": "openrouter/moonshotai/kimi-k2",
	} {
		if got, err := Resolve(name, offers, providers); got != want || err != nil {
			t.Errorf("%s is %q, %v, want %s", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"claude": "several models fit", "qwen3:8b": "several models fit", "flash": "gemini/gemini-2.5-flash, gemini/gemini-2.5-flash-lite", "sonet": "did you mean anthropic/claude-sonnet-5?",
		"gtp-5": "did you mean openai/gpt-5?", "gpt5x": "did you mean openai/gpt-5?", "antropic/claude-sonnet-5": "did you mean anthropic/claude-sonnet-5?", "zzzzzzzz": `unknown model "zzzzzzzz"`, "": "empty", "/": "unknown", "x/": "unknown",
	} {
		if got, err := Resolve(name, offers, providers); err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%q is %q, %v, want %q", name, got, err, want)
		}
	}
}
