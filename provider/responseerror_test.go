package provider_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/provider"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Each case is an actual response of a provider.
func TestErrorMessage(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		kind   provider.Kind
		code   string
		// says is a part of the message; empty means that there is none.
		says string
	}{
		{"Anthropic, too long", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"},"request_id":"req_011"}`, provider.Overflow, "invalid_request_error", "213462 tokens > 200000"},
		{"Anthropic, no room for the answer", 400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length or `max_tokens` and try again\"}}", provider.Overflow, "invalid_request_error", "199759 + 8192"},
		{"Anthropic, too many bytes", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, provider.Overflow, "request_too_large", "Request exceeds"},
		{"Anthropic, answer too long", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-20250514"}}`, provider.BadRequest, "invalid_request_error", "100000 > 64000"},
		{"Anthropic, overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, provider.Temporary, "overloaded_error", "Overloaded"},
		{"Anthropic, too much", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 40,000 input tokens per minute."}}`, provider.Temporary, "rate_limit_error", "40,000 input tokens"},
		{"Anthropic, broken", 500, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, provider.Temporary, "api_error", "Internal server error"},
		{"Anthropic, wrong key", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, provider.Auth, "authentication_error", "invalid x-api-key"},
		{"Anthropic, no credit", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}`, provider.Auth, "invalid_request_error", "credit balance"},
		{"Anthropic, broken window", 400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01\"}}", provider.BadRequest, "invalid_request_error", "toolu_01"},
		{"Anthropic, no such model", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-nine"}}`, provider.BadRequest, "not_found_error", "claude-nine"},
		{"OpenAI, too long", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, provider.Overflow, "context_length_exceeded", "204308 tokens"},
		{"OpenAI responses, too long", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, provider.Overflow, "context_length_exceeded", "context window"},
		{"OpenAI, one string too long", 400, `{"error":{"message":"Invalid 'messages[1].content': string too long. Expected a string with maximum length 10485760, but got a string with length 12000000 instead.","type":"invalid_request_error","param":"messages[1].content","code":"string_above_max_length"}}`, provider.Overflow, "string_above_max_length", "string too long"},
		{"OpenAI, no credit", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, provider.Auth, "insufficient_quota", "billing details"},
		{"OpenAI, too much", 429, `{"error":{"message":"Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, provider.Temporary, "rate_limit_exceeded", "Limit 30000"},
		{"OpenAI, more than a minute's worth", 429, `{"error":{"message":"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 45000. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, provider.Overflow, "rate_limit_exceeded", "Requested 45000"},
		{"OpenAI, answer too long", 400, `{"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.","type":"invalid_request_error","param":"max_tokens","code":"invalid_value"}}`, provider.BadRequest, "invalid_value", "too large: 100000"},
		{"OpenAI, wrong key", 401, `{"error":{"message":"Incorrect API key provided: sk-proj-********************abcd. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, provider.Auth, "invalid_api_key", "provided: [key] You can find"},
		{"OpenAI, no key", 401, `{"error":{"message":"Missing bearer or basic authentication in header","type":"invalid_request_error","param":null,"code":null}}`, provider.Auth, "invalid_request_error", "basic authentication in header"},
		{"Gemini, too long", 400, `{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}`, provider.Overflow, "INVALID_ARGUMENT", "1196265"},
		{"Gemini, wrong key", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}]`, provider.Auth, "INVALID_ARGUMENT", "not valid"},
		{"Gemini, too much in a minute", 429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"38.5s"}]}}`, provider.Temporary, "RESOURCE_EXHAUSTED", "quota"},
		{"Gemini, too much in a day", 429, `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},{"retryDelay":"12s"}]}}`, provider.Auth, "RESOURCE_EXHAUSTED", "quota"},
		{"Gemini, wrapped", 429, `{"error":{"message":"{\n  \"error\": {\n    \"code\": 429,\n    \"message\": \"Resource has been exhausted (e.g. check quota).\",\n    \"status\": \"RESOURCE_EXHAUSTED\"\n  }\n}\n","code":429,"status":"Too Many Requests"}}`, provider.Temporary, "RESOURCE_EXHAUSTED", "Resource has been exhausted"},
		{"Groq, too long", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, provider.Overflow, "context_length_exceeded", "reduce the length"},
		{"Groq, too large", 413, "{\"error\":{\"message\":\"Request too large for model `llama-3.1-8b-instant` in organization `org` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 12345, please reduce your message size and try again.\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}", provider.Overflow, "rate_limit_exceeded", "Requested 12345"},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`, provider.Overflow, "exceed_context_size_error", "available context size"},
		{"llama.cpp, old", 500, `{"error":{"code":500,"message":"request (9000 tokens) exceeds available context size (4096 tokens)","type":"server_error"}}`, provider.Overflow, "server_error", "available context size"},
		{"LM Studio", 400, `{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough: the number of tokens to keep from the initial prompt is greater than the context length."}`, provider.Overflow, "", "greater than the context length"},
		{"Ollama", 400, `{"error":{"message":"prompt too long; exceeded max context length by 512 tokens","type":"api_error","param":null,"code":null}}`, provider.Overflow, "api_error", "by 512 tokens"},
		{"Ollama, no such model", 404, `{"error":{"message":"model 'x' not found","type":"api_error","param":null,"code":null}}`, provider.BadRequest, "api_error", "not found"},
		{"vLLM", 400, `{"object":"error","message":"The decoder prompt (length 9000) is longer than the maximum model length of 4096.","type":"BadRequestError","param":null,"code":400}`, provider.Overflow, "BadRequestError", "9000"},
		{"Mistral, too long", 400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","param":null,"code":"3051"}`, provider.Overflow, "3051", "40000 tokens"},
		{"Mistral, wrong fields", 422, `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","foo"],"msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error"}`, provider.BadRequest, "extra_forbidden", "Extra inputs"},
		{"OpenRouter, too long", 400, `{"error":{"message":"This endpoint's maximum context length is 200000 tokens. However, you requested about 264437 tokens (262437 of text input, 2000 in the output). Please reduce the length of either one.","code":400,"metadata":{"provider_name":null}}}`, provider.Overflow, "", "264437 tokens"},
		{"OpenRouter, from behind", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 210000 tokens > 200000 maximum\"}}","provider_name":"Anthropic"}}}`, provider.Overflow, "invalid_request_error", "210000 tokens"},
		{"OpenRouter, no credit", 402, `{"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 1234.","code":402}}`, provider.Auth, "", "can only afford"},
		{"OpenRouter, not wanted", 403, `{"error":{"message":"Your input was flagged","code":403,"metadata":{"reasons":["violence"]}}}`, provider.BadRequest, "", "flagged"},
		{"MiniMax", 400, `{"type":"error","error":{"type":"bad_request_error","message":"invalid params, context window exceeds limit (2013)"}}`, provider.Overflow, "bad_request_error", "exceeds limit"},
		{"Kimi", 400, `{"error":{"type":"invalid_request_error","message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)"}}`, provider.Overflow, "invalid_request_error", "300000"},
		{"xAI, too long", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, provider.Overflow, "Client specified an invalid argument", "537812"},
		{"xAI, wrong key", 400, `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***st. You can obtain an API key from https://console.x.ai."}`, provider.Auth, "Client specified an invalid argument", "You can obtain"},
		{"Bedrock, too long", 400, `{"message":"Input is too long for requested model."}`, provider.Overflow, "", "too long"},
		{"Bedrock, too much", 429, `{"message":"Too many tokens, please wait before trying again."}`, provider.Temporary, "", "please wait"},
		{"Copilot", 400, `{"error":{"message":"prompt token count of 150000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`, provider.Overflow, "model_max_prompt_tokens_exceeded", "150000"},
		{"DashScope", 400, `{"error":{"code":"invalid_parameter_error","message":"Range of input length should be [1, 98304]","type":"invalid_request_error"}}`, provider.Overflow, "invalid_parameter_error", "98304"},
		{"Together", 400, `{"error":{"message":"The input (9000 tokens) is longer than the model's context length (4096 tokens).","type":"invalid_request_error"}}`, provider.Overflow, "invalid_request_error", "9000"},
		{"DeepSeek, no credit", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, provider.Auth, "invalid_request_error", "Insufficient Balance"},
		{"FastAPI", 422, `{"detail":[{"loc":["body","messages"],"msg":"field required","type":"value_error.missing"}]}`, provider.BadRequest, "value_error.missing", "field required"},
		{"FastAPI, text", 400, `{"detail":"Unsupported content type"}`, provider.BadRequest, "", "Unsupported content type"},
		{"Cerebras, too long", 400, ``, provider.Overflow, "", ""},
		{"no body, too large", 413, ``, provider.Overflow, "", ""},
		{"some proxy", 502, "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>", provider.Temporary, "", "502 Bad Gateway"},
		{"a page without a title", 503, "<!DOCTYPE html><style>h1 { color: red }</style><h1>Come &amp; see</h1><!-- x -->", provider.Temporary, "", "Come & see"},
		{"words", 503, "upstream connect error or disconnect/reset before headers", provider.Temporary, "", "upstream connect"},
		{"a string", 400, `"just words"`, provider.BadRequest, "", "just words"},
		{"broken JSON", 400, `{"error":{"message":"half`, provider.BadRequest, "", `{"error":{"message":"half`},
		{"time is up", 408, ``, provider.Temporary, "", ""},
		{"conflict", 409, ``, provider.Temporary, "", ""},
		{"too early", 425, ``, provider.Temporary, "", ""},
		{"not implemented", 501, ``, provider.BadRequest, "", ""},
		{"gone elsewhere", 302, ``, provider.BadRequest, "", ""},
		{"no content", 204, ``, provider.BadRequest, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := provider.ResponseError("p", "m", tt.status, nil, []byte(tt.body), noon)
			if e.Kind != tt.kind || e.Code != tt.code || e.Status != tt.status || e.Provider != "p" || e.Model != "m" {
				t.Errorf("got %s %q %d %s/%s, want %s %q", e.Kind, e.Code, e.Status, e.Provider, e.Model, tt.kind, tt.code)
			}
			if !strings.Contains(e.Message, tt.says) || tt.says == "" && e.Message != "" {
				t.Errorf("the message is %q, want %q in it", e.Message, tt.says)
			}
		})
	}
}

// Each case is an error within a stream that began with a success status.
func TestStreamErrorMessage(t *testing.T) {
	tests := []struct {
		name, body string
		kind       provider.Kind
		code, says string
	}{
		{"Anthropic, overloaded", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, provider.Temporary, "overloaded_error", "Overloaded"},
		{"Anthropic, broken", `{"type":"error","error":{"details":null,"type":"api_error","message":"Internal server error"},"request_id":"req_1"}`, provider.Temporary, "api_error", "Internal"},
		{"Anthropic, wrong", `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`, provider.BadRequest, "invalid_request_error", "no"},
		{"Anthropic, too long", `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 2 tokens > 1 maximum"}}`, provider.Overflow, "invalid_request_error", "too long"},
		{"Anthropic, not let in", `{"type":"error","error":{"type":"permission_error","message":"no"}}`, provider.Auth, "permission_error", "no"},
		{"OpenAI chat", `{"error":{"message":"The server had an error while processing your request. Sorry about that!","type":"server_error","param":null,"code":null}}`, provider.Temporary, "server_error", "Sorry"},
		{"OpenAI responses, error", `{"type":"error","code":"rate_limit_exceeded","message":"Rate limit reached. Please try again in 1.5s.","param":null,"sequence_number":3}`, provider.Temporary, "rate_limit_exceeded", "Rate limit"},
		{"OpenAI responses, failed", `{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"server_error","message":"An error occurred"}}}`, provider.Temporary, "server_error", "An error occurred"},
		{"OpenAI responses, too long", `{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}}`, provider.Overflow, "context_length_exceeded", "context window"},
		{"OpenAI responses, unwanted", `{"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"Invalid prompt: your prompt was flagged"}}}`, provider.BadRequest, "invalid_prompt", "flagged"},
		{"OpenRouter, too much", `{"id":"gen-1","error":{"code":429,"message":"Rate limit exceeded"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`, provider.Temporary, "", "Rate limit"},
		{"OpenRouter, no credit", `{"error":{"code":402,"message":"Insufficient credits"}}`, provider.Auth, "", "Insufficient"},
		{"OpenRouter, down", `{"error":{"code":502,"message":"Provider disconnected"}}`, provider.Temporary, "", "disconnected"},
		{"nothing", ``, provider.Temporary, "", ""},
		{"no error at all", `{"choices":[]}`, provider.Temporary, "", `{"choices":[]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := provider.StreamError("p", "m", []byte(tt.body))
			if e.Kind != tt.kind || e.Code != tt.code || e.Status != 0 || !strings.Contains(e.Message, tt.says) {
				t.Errorf("got %s %q %d %q, want %s %q with %q", e.Kind, e.Code, e.Status, e.Message, tt.kind, tt.code, tt.says)
			}
		})
	}
	if e := provider.StreamError("p", "m", []byte(tests[6].body)); e.RetryAfter != 1500*time.Millisecond {
		t.Errorf("to wait is %v, want 1.5s", e.RetryAfter)
	}
}

func TestAfter(t *testing.T) {
	h := func(pairs ...string) http.Header {
		header := make(http.Header)
		for i := 0; i < len(pairs); i += 2 {
			header.Set(pairs[i], pairs[i+1])
		}
		return header
	}
	tests := []struct {
		name   string
		header http.Header
		body   string
		want   time.Duration
	}{
		{"nothing", nil, "", 0},
		{"seconds", h("Retry-After", "7"), "", 7 * time.Second},
		{"parts of a second", h("Retry-After", "0.25"), "", 250 * time.Millisecond},
		{"milliseconds first", h("Retry-After", "7", "Retry-After-Ms", "1500"), "", 1500 * time.Millisecond},
		{"date", h("Retry-After", "Sun, 01 Mar 2026 12:01:30 GMT"), "", 90 * time.Second},
		{"date gone by", h("Retry-After", "Sun, 01 Mar 2026 11:00:00 GMT"), "", 0},
		{"less than nothing", h("Retry-After", "-3"), "", 0},
		{"huge", h("Retry-After", "1e300"), "", 365 * 24 * time.Hour},
		{"not a number", h("Retry-After", "NaN"), "", 0},
		{"soon", h("Retry-After", "soon"), "", 0},
		{"Google", nil, `{"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"45.837906927s"}]}}`, 45837906927},
		{"in words", nil, `{"error":{"message":"Please try again in 6m0s."}}`, 6 * time.Minute},
		{"in words, short", nil, `{"error":{"message":"Please try again in 20ms. See more."}}`, 20 * time.Millisecond},
		{"in words, Groq", nil, `{"error":{"message":"Please try again in 2m59.56s. Need more?"}}`, 179560 * time.Millisecond},
		{"Anthropic", h("Anthropic-Ratelimit-Requests-Remaining", "0", "Anthropic-Ratelimit-Requests-Reset", "2026-03-01T12:00:20Z", "Anthropic-Ratelimit-Tokens-Remaining", "900", "Anthropic-Ratelimit-Tokens-Reset", "2026-03-01T13:00:00Z"), "", 20 * time.Second},
		{"OpenAI", h("X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "6m0s", "X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "80ms"), "", 6 * time.Minute},
		{"OpenRouter", h("X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", "1772366430000"), "", 30 * time.Second},
		{"since 1970", h("X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", "1772366460"), "", 60 * time.Second},
		{"a few", h("X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", "12"), "", 12 * time.Second},
		{"not used up", h("X-Ratelimit-Remaining", "3", "X-Ratelimit-Reset", "12"), "", 0},
	}
	for _, tt := range tests {
		if e := provider.ResponseError("p", "m", 429, tt.header, []byte(tt.body), noon); e.RetryAfter != tt.want || e.Kind != provider.Temporary {
			t.Errorf("%s: %s, to wait is %v, want %v", tt.name, e.Kind, e.RetryAfter, tt.want)
		}
	}
	if e := provider.ResponseError("p", "m", 401, h("Retry-After", "7"), nil, noon); e.RetryAfter != 0 {
		t.Errorf("an unauthorized caller should retry after %v", e.RetryAfter)
	}
}

func TestMessageIsCleanAndShort(t *testing.T) {
	long := strings.Repeat("ä", 2000)
	tests := []struct{ name, body, want string }{
		{"long", long, strings.Repeat("ä", 500) + "…"},
		{"lines", "a\r\n\tb\n\n  c", "a b c"},
		{"escapes", "\x1b[31mred\x1b[0m\x00\a", "[31mred [0m\ufffd"},
		{"not text", "\xff\xfe", "\ufffd\ufffd"},
		{"OpenAI's key", "bad key sk-proj-Abc_123-defghij here", "bad key [key] here"},
		{"bearer", "Authorization: Bearer abc123.def456~ghi", "Authorization: [key]"},
		{"Google's key", "key AIzaSyA1234567890abcdefghijklmnop", "key [key]"},
		{"JWT", "got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "got [key]"},
		{"in an address", "GET /v1?api_key=abcdef0123456789&x=1", "GET /v1?[key]&x=1"},
		{"words that look like keys", "task-oriented token_limit_exceeded api_key_missing key: expected bearer authentication risk-free", "task-oriented token_limit_exceeded api_key_missing key: expected bearer authentication risk-free"},
	}
	for _, tt := range tests {
		if e := provider.ResponseError("p", "m", 400, nil, []byte(tt.body), noon); e.Message != tt.want {
			t.Errorf("%s: the message is %q, want %q", tt.name, e.Message, tt.want)
		}
	}
	e := provider.ResponseError("p", "m", 400, nil, []byte(`{"error":{"code":"`+long+`","message":"x"}}`), noon)
	if n := utf8.RuneCountInString(e.Code); n > 100 {
		t.Errorf("the code has %d characters", n)
	}
}

func FuzzComplaint(f *testing.F) {
	f.Add(400, "7", []byte(`{"error":{"message":"m","type":"t","code":"c"}}`))
	f.Add(429, "x", []byte(`[{"error":{"code":429,"details":[{"retryDelay":"1s"}]}}]`))
	f.Add(500, "", []byte(`<html><title>t</title></html>`))
	f.Add(0, "", []byte(`{"error":{"metadata":{"raw":"{\"error\":\"x\"}"}}}`))
	f.Fuzz(func(t *testing.T, status int, after string, body []byte) {
		for _, e := range []*provider.Error{
			provider.ResponseError("p", "m", status, http.Header{"Retry-After": {after}}, body, noon),
			provider.StreamError("p", "m", body),
		} {
			switch e.Kind {
			case provider.Temporary, provider.Overflow, provider.Auth, provider.BadRequest:
			default:
				t.Errorf("the kind is %q", e.Kind)
			}
			for _, s := range []string{e.Message, e.Code} {
				if clean, changed := firn.CleanText(s); changed || utf8.RuneCountInString(clean) > 501 || strings.ContainsAny(s, "\n\r\x1b") {
					t.Errorf("not clean: %q", s)
				}
			}
			if e.RetryAfter < 0 || e.Error() == "" {
				t.Errorf("after %v, text %q", e.RetryAfter, e.Error())
			}
		}
	})
}
