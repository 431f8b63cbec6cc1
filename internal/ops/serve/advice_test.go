package serve

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/ops/config"
	"firn.dev/provider"
	"firn.dev/window"
)

// failing is a provider's error response, as it is sent over the wire.
type failing struct {
	name, model string
	status      int
	header      map[string]string
	body        string
	// says lists parts of the error's text; hint is part of its hint.
	says []string
	hint string
}

// failures are responses of the providers.
var failures = []failing{
	{"rejected key", "anthropic/claude-sonnet-4-5", 401, nil,
		`{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_011"}`,
		[]string{"API key rejected (401", "invalid x-api-key"}, "ANTHROPIC_API_KEY"},
	{"rate limit", "anthropic/claude-sonnet-4-5", 429, map[string]string{"retry-after": "75"},
		`{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed the rate limit for your organization of 40,000 input tokens per minute."}}`,
		[]string{"rate limited (429", "40,000 input tokens", "try again in 75 s"}, "/retry"},
	{"exhausted limit", "anthropic/claude-sonnet-4-5", 429, map[string]string{
		"anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-requests-remaining": "0",
		"anthropic-ratelimit-requests-reset": time.Now().Add(4*time.Minute + 30*time.Second).UTC().Format(time.RFC3339),
	}, `{"type":"error","error":{"type":"rate_limit_error","message":"Number of requests has exceeded your per-minute rate limit"}}`,
		[]string{"rate limited (429", "try again in 5 min"}, "/retry"},
	{"overloaded", "anthropic/claude-sonnet-4-5", 529, nil,
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, []string{"overloaded (529"}, "too many requests"},
	{"too long", "anthropic/claude-sonnet-4-5", 400, nil,
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}`,
		[]string{"too long: 213,462 tokens, and the model accepts 200,000"}, "/compact"},
	{"no credit", "anthropic/claude-sonnet-4-5", 400, nil,
		`{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}`,
		[]string{"no credit or quota left (400"}, "billing"},
	{"misspelled model", "anthropic/claude-sonet-4-5", 404, nil,
		`{"type":"error","error":{"type":"not_found_error","message":"model: claude-sonet-4-5"}}`,
		[]string{"unknown model (404"}, "did you mean anthropic/claude-sonnet-4-5?"},
	{"rejected key", "openai/gpt-5", 401, nil,
		`{"error":{"message":"Incorrect API key provided: sk-proj-********************abcd. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
		[]string{"API key rejected (401"}, "OPENAI_API_KEY"},
	{"rate limit", "openai/gpt-5", 429, map[string]string{
		"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m35s",
		"x-ratelimit-remaining-tokens": "1000", "x-ratelimit-reset-tokens": "6m0s",
	}, `{"error":{"message":"Rate limit reached for gpt-5 in organization org-x on requests per min (RPM): Limit 60, Used 60, Requested 1.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`,
		[]string{"rate limited (429", "try again in 95 s"}, "/retry"},
	{"no credit", "openai/gpt-5", 429, nil,
		`{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
		[]string{"no credit or quota left (429"}, "billing"},
	{"too long", "openai/gpt-5", 400, nil,
		`{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300012 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
		[]string{"too long: 300,012 tokens, and the model accepts 272,000"}, "/compact"},
	{"unknown model", "openai/gpt-5-minni", 404, nil,
		"{\"error\":{\"message\":\"The model `gpt-5-minni` does not exist or you do not have access to it.\",\"type\":\"invalid_request_error\",\"param\":null,\"code\":\"model_not_found\"}}",
		[]string{"unknown model (404"}, "did you mean openai/gpt-5-mini?"},
	{"no permission", "openai/gpt-5", 403, nil,
		`{"error":{"message":"Project proj_x does not have access to model gpt-5","type":"invalid_request_error","param":null,"code":null}}`,
		[]string{"access denied (403"}, "OPENAI_API_KEY"},
	{"broken", "openai/gpt-5", 500, nil,
		`{"error":{"message":"The server had an error while processing your request. Sorry about that!","type":"server_error","param":null,"code":null}}`,
		[]string{"the provider has a problem (500"}, "/retry"},
	{"rate limit", "groq/llama-3.3-70b-versatile", 429, nil,
		"{\"error\":{\"message\":\"Rate limit reached for model `llama-3.3-70b-versatile` in organization `org` on tokens per day (TPD): Limit 100000, Used 99000, Requested 5000. Please try again in 57m36s.\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}",
		[]string{"rate limited (429", "try again in 57m36s"}, "/retry"},
	{"rejected key", "gemini/gemini-2.5-pro", 400, nil,
		`[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}]`,
		[]string{"API key rejected (400"}, "GEMINI_API_KEY"},
	{"daily quota", "gemini/gemini-2.5-pro", 429, nil,
		`{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}`,
		[]string{"no credit or quota left (429"}, "billing"},
	{"no credit", "openrouter/anthropic/claude-sonnet-4.5", 402, nil,
		`{"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 1234.","code":402}}`,
		[]string{"no credit or quota left (402"}, "billing"},
	{"unknown model", "ollama/nonesuch", 404, nil,
		`{"error":{"message":"model 'nonesuch' not found","type":"api_error","param":null,"code":null}}`,
		[]string{"unknown model (404"}, "ollama pull nonesuch"},
	{"too long", "lmstudio/qwen3", 400, nil,
		`{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough: the number of tokens to keep from the initial prompt is greater than the context length."}`,
		[]string{"too long: the model accepts 4,096 tokens"}, "/compact"},
}

// TestFailureMessages checks the texts of errors, with servers that answer as the providers do.
func TestFailureMessages(t *testing.T) {
	for _, f := range failures {
		t.Run(f.name+" "+f.model, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for name, value := range f.header {
					w.Header().Set(name, value)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(f.status)
				_, _ = w.Write([]byte(f.body))
			}))
			defer server.Close()
			err := askOnce(t, f.model, server.URL)
			for _, part := range f.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error is %q, want %q in it", err, part)
				}
			}
			if !strings.Contains(err.Hint(), f.hint) {
				t.Errorf("the hint is %q, want %q in it", err.Hint(), f.hint)
			}
		})
	}
}

// TestMessageWithoutLocalServer checks the error of a local server that does not run.
func TestMessageWithoutLocalServer(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close() // nothing listens there any more
	err := askOnce(t, "ollama/qwen3", server.URL)
	if !strings.Contains(err.Error(), "no server answers: connection refused by 127.0.0.1:") || !strings.Contains(err.Hint(), "ollama serve") {
		t.Errorf("the error is %q, its hint %q", err, err.Hint())
	}
}

// askOnce sends a request to a model whose provider has the given URL, and returns the error.
func askOnce(t *testing.T, name, url string) *provider.Error {
	t.Helper()
	providerName, _, _ := strings.Cut(name, "/")
	c := config.Default(t.TempDir())
	c.Providers = map[string]config.Provider{providerName: {URL: url}}
	env := func(name string) string {
		if strings.HasSuffix(name, "_API_KEY") {
			return "sk-test-0123456789"
		}
		return ""
	}
	m, err := NewModels(c, env, 0).Named(name)
	if err != nil {
		t.Fatal(err)
	}
	path := window.PathOf([]firn.Message{{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "hello"}}}})
	_, err = provider.Ask(t.Context(), m, provider.Request{Window: window.Build(path, window.Options{Profile: m.Info().Profile})}, provider.Backoff{Retries: -1}, nil)
	var failure *provider.Error
	if !errors.As(err, &failure) {
		t.Fatalf("the error is %v", err)
	}
	return failure
}
