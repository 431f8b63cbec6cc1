package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"
)

// hello returns a small request.
func hello(info provider.Info) provider.Request {
	path := window.Path{Entries: []firn.Entry{firn.UserText("Hello.")}}
	return provider.Request{Window: window.Build(path, window.Options{Profile: info.Profile, Ask: info.Ask()})}
}

// ask sends a request to a model and returns the answer.
func ask(t *testing.T, m provider.Model) (*firn.Message, error) {
	t.Helper()
	for event, err := range m.Stream(t.Context(), hello(m.Info())) {
		if err != nil {
			return nil, err
		}
		if done, ok := event.(provider.Done); ok {
			return &done.Message, nil
		}
	}
	t.Fatal("neither Done nor an error")
	return nil, nil
}

// both returns models of both APIs.
func both(o Options) map[string]provider.Model {
	return map[string]provider.Model{"/v1/chat/completions": NewChat(o), "/v1/responses": NewResponses(o)}
}

// TestWire checks the parts of a request other than its body.
func TestWire(t *testing.T) {
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		name := "chat/openai_text"
		if strings.HasSuffix(r.URL.Path, "responses") {
			name = "responses/text"
		}
		body, err := os.ReadFile("testdata/" + name + ".sse")
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(body)
	}))
	defer server.Close()
	for _, key := range []string{"", "sk-secret"} {
		options := Options{Name: "m", Key: key, URL: server.URL + "/v1/", Provider: "local", Header: http.Header{"X-Title": {"firn"}}}
		for path, m := range both(options) {
			answer, err := ask(t, m)
			if err != nil {
				t.Fatal(err)
			}
			if answer.Text() != "Grüß dich, 世界" && answer.Text() != "Grüß dich, 世界 👋" || answer.Provider != "local" || answer.Model != "m" {
				t.Errorf("%s: the answer is %+v", path, answer)
			}
			want := ""
			if key != "" {
				want = "Bearer " + key
			}
			if got.Method != "POST" || got.URL.Path != path || got.Header.Get("Authorization") != want || got.Header.Get("X-Title") != "firn" || !strings.HasPrefix(got.Header.Get("Accept"), "text/event-stream") {
				t.Errorf("%s: the request is %s %s %v", path, got.Method, got.URL.Path, got.Header)
			}
		}
		if len(options.Header) != 1 {
			t.Errorf("the caller's header was changed: %v", options.Header)
		}
	}
}

// TestRefusals checks the errors for response statuses.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		kind   provider.Kind
		code   string
	}{
		{429, `{"error":{"message":"Rate limit reached for gpt-5 in organization org-x on tokens per min (TPM): Limit 30000. Please try again in 4.2s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, provider.Temporary, "rate_limit_exceeded"},
		{429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, provider.Auth, "insufficient_quota"},
		{401, `{"error":{"message":"Incorrect API key provided: sk-secret1234567890.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, provider.Auth, "invalid_api_key"},
		{400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, provider.Overflow, "context_length_exceeded"},
		{400, `{"error":{"message":"Unsupported parameter: 'max_tokens'","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`, provider.BadRequest, "unsupported_parameter"},
		{404, `{"error":{"message":"model 'x' not found","type":"not_found_error","param":null,"code":null}}`, provider.BadRequest, "not_found_error"},
		{422, `{"object":"error","message":{"detail":[{"type":"extra_forbidden","msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error","code":null}`, provider.BadRequest, ""},
		{503, `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`, provider.Temporary, "unavailable_error"},
		{502, `<html><body>Bad gateway</body></html>`, provider.Temporary, ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
		}))
		for path, m := range both(Options{Name: "m", Key: "sk-secret1234567890", URL: server.URL + "/v1"}) {
			_, err := ask(t, m)
			var e *provider.Error
			if !errors.As(err, &e) || e.Kind != c.kind || e.Status != c.status || e.Partial || c.code != "" && e.Code != c.code {
				t.Errorf("%s: status %d: the error is %#v, want kind %s, code %q", path, c.status, err, c.kind, c.code)
			}
			if err != nil && strings.Contains(err.Error(), "sk-secret") {
				t.Errorf("%s: the key is revealed: %v", path, err)
			}
		}
		server.Close()
	}
}

// transport answers requests without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestStall checks that a silent server is given up, also when the answer is complete
// except for its usage.
func TestStall(t *testing.T) {
	for name, begin := range map[string]string{
		"in the middle":    `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n",
		"before the usage": `data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}` + "\n\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			r, w := io.Pipe()
			client := &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
				context.AfterFunc(req.Context(), func() { w.CloseWithError(req.Context().Err()) })
				return &http.Response{StatusCode: 200, Body: r, Header: http.Header{}, Request: req}, nil
			})}
			go io.WriteString(w, begin)
			_, err := ask(t, NewChat(Options{Name: "m", Client: client, Stall: time.Minute}))
			var e *provider.Error
			if !errors.As(err, &e) || e.Kind != provider.Temporary || !e.Partial {
				t.Errorf("%s: the error is %v", name, err)
			}
		})
	}
}

// TestCancelledLate checks that a canceled caller gets no answer, although it arrived
// completely.
func TestCancelledLate(t *testing.T) {
	gone := errors.New("gone")
	for _, a := range apis() {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(gone)
		var last error
		report := emitter{info: &a.info, decoder: a.decode(&a.info), yield: func(e provider.Event, err error) bool {
			if _, done := e.(provider.Done); done {
				t.Errorf("%s: Done", a.name)
			}
			last = err
			return true
		}}
		body, err := os.ReadFile("testdata/" + a.name + "/plain.sse")
		if err != nil {
			t.Fatal(err)
		}
		report.run(ctx, strings.NewReader(string(body)))
		if last != gone {
			t.Errorf("%s: the error is %v", a.name, last)
		}
	}
}

// TestEndlessAnswer checks that an endless answer is given up.
func TestEndlessAnswer(t *testing.T) {
	for _, begin := range []string{"data: ", `{"choices":[`} {
		client := &http.Client{Transport: transport(func(req *http.Request) (*http.Response, error) {
			body := io.MultiReader(strings.NewReader(begin), endless{})
			return &http.Response{StatusCode: 200, Body: io.NopCloser(body), Header: http.Header{}, Request: req}, nil
		})}
		_, err := ask(t, NewChat(Options{Name: "m", Client: client}))
		if provider.KindOf(err) != provider.Temporary || !errors.Is(err, firn.ErrTooLarge) {
			t.Errorf("%s: the error is %v", begin, err)
		}
	}
}

// endless is a reader of spaces.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestServerOptions checks the options sent to each kind of server.
func TestServerOptions(t *testing.T) {
	thinks := provider.Spec{Window: 1, Thinks: true}
	for _, c := range []struct {
		options Options
		want    string // members of the request besides model, stream and messages
	}{
		{Options{}, `"stream_options":{"include_usage":true},"max_completion_tokens":9,"reasoning_effort":"xhigh","prompt_cache_key":"s"`},
		{Options{URL: "https://eu.api.openai.com/v1"}, `"stream_options":{"include_usage":true},"max_completion_tokens":9,"reasoning_effort":"xhigh","prompt_cache_key":"s"`},
		{Options{URL: "https://api.openai.com.evil.example/v1"}, `"stream_options":{"include_usage":true},"max_tokens":9,"reasoning_effort":"high"`},
		{Options{URL: "http://localhost:11434/v1"}, `"stream_options":{"include_usage":true},"max_tokens":9,"reasoning_effort":"high"`},
		{Options{URL: "http://localhost:4000", Provider: "Mistral"}, `"max_tokens":9`},
		{Options{URL: "https://api.mistral.ai/v1"}, `"max_tokens":9`},
		{Options{URL: "https://openrouter.ai/api/v1"}, `"stream_options":{"include_usage":true},"max_tokens":9,"reasoning":{"effort":"xhigh"}`},
		{Options{URL: "https://api.deepseek.com"}, `"stream_options":{"include_usage":true},"max_tokens":9`},
		{Options{Spec: provider.Spec{Window: 1, MaxOutput: 5}}, `"stream_options":{"include_usage":true},"max_completion_tokens":5,"prompt_cache_key":"s"`},
		{Options{Quirks: Quirks{MaxTokensField: "max_tokens", StreamUsage: Off, EffortField: EffortObject, CacheKey: Off}}, `"max_tokens":9,"reasoning":{"effort":"xhigh"}`},
		{Options{URL: "https://api.mistral.ai/v1", Quirks: Quirks{StreamUsage: On, EffortField: EffortFlat, CacheKey: On}}, `"stream_options":{"include_usage":true},"max_tokens":9,"reasoning_effort":"high","prompt_cache_key":"s"`},
	} {
		c.options.Name = "m"
		if c.options.Spec == (provider.Spec{}) {
			c.options.Spec = thinks
		}
		m := NewChat(c.options)
		req := hello(m.Info())
		req.MaxTokens, req.Thinking, req.Session = 9, provider.ThinkMax, "s"
		body := string(encodeChat(t, c.options, req))
		got := strings.TrimPrefix(body[:strings.Index(body, `,"messages"`)], `{"model":"m","stream":true`)
		if strings.TrimPrefix(got, ",") != c.want {
			t.Errorf("%s %s: received\n%s\nwant\n%s", c.options.URL, c.options.Provider, got, c.want)
		}
	}
}

// TestSystemRole checks that OpenAI's reasoning models get the system prompt as a developer
// message.
func TestSystemRole(t *testing.T) {
	role := func(o Options) string {
		req := hello(NewChat(o).Info())
		req.Window.System = "Be kind."
		var body struct{ Messages []struct{ Role string } }
		if err := json.Unmarshal(encodeChat(t, o, req), &body); err != nil {
			t.Fatal(err)
		}
		return body.Messages[0].Role
	}
	thinks := provider.Spec{Window: 1, Thinks: true}
	for _, c := range []struct {
		options Options
		want    string
	}{
		{Options{Name: "m", Spec: thinks}, "developer"},
		{Options{Name: "m", Spec: provider.Spec{Window: 1}}, "system"},
		{Options{Name: "m", Spec: thinks, URL: "http://localhost"}, "system"},
		{Options{Name: "m", Spec: thinks, URL: "http://localhost", Quirks: Quirks{Developer: On}}, "developer"},
		{Options{Name: "m", Spec: thinks, Quirks: Quirks{Developer: Off}}, "system"},
	} {
		if got := role(c.options); got != c.want {
			t.Errorf("%+v: the role is %s, want %s", c.options, got, c.want)
		}
	}
}

// TestThinkingOfUnknownModels checks that for OpenAI models missing from the catalog, the
// name decides whether they think.
func TestThinkingOfUnknownModels(t *testing.T) {
	for name, want := range map[string]bool{
		"o9": true, "o9-mini": true, "gpt-97": true, "gpt-97-mini": true, "gpt-97.3-codex-max": true, "gpt-97-chat-latest": false, "gpt-4x": false, "ollama": false,
	} {
		if got := NewResponses(Options{Name: name}).Info().Thinks; got != want {
			t.Errorf("%s thinks: %v, want %v", name, got, want)
		}
		if NewChat(Options{Name: name, URL: "http://localhost"}).Info().Thinks {
			t.Errorf("%s of another host thinks", name)
		}
	}
}
