package provider

import (
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"firn.dev/internal/base/pattern"
)

// responseError converts an HTTP error response to an [*Error], based on its status, headers
// and body. Now is used for headers that contain a time. The error quotes a short,
// plain-text excerpt of the body, with keys redacted.
func responseError(provider, model string, status int, header http.Header, body []byte, now time.Time) *Error {
	n := readNotice(body)
	e := n.asError(provider, model)
	e.Status = status
	e.Kind = classify(status, n)
	if e.Kind == Temporary {
		e.RetryAfter = after(status, header, n, now)
	}
	return e
}

// StreamError converts an error within a stream, after status 200, to an [*Error]: an
// object with a member "error", or that error itself. The caller sets Partial.
func StreamError(provider, model string, body []byte) *Error {
	n := readNotice(body)
	e := n.asError(provider, model)
	e.Kind = classify(n.status, n)
	if e.Kind == Temporary {
		e.RetryAfter = n.wait()
	}
	return e
}

// classify returns the kind of a failure. A specific status takes precedence over the
// provider's error codes, which compatible servers often confuse. Status zero means that
// there is none.
func classify(status int, n notice) Kind {
	switch {
	case n.unpaid():
		return Auth
	case status == 401 || status == 402 || status == 403 && !flagged().MatchString(n.text):
		return Auth
	case status == 400 && (n.called("API_KEY_INVALID") || badKey().MatchString(n.text)):
		return Auth
	case n.tooLong(status):
		return Overflow
	case status == 408 || status == 409 || status == 425 || status == 429:
		return Temporary
	case status == 501 || status == 505:
		return BadRequest
	case status >= 500:
		return Temporary
	case status != 0:
		return BadRequest
	case n.called("authentication_error", "permission_error", "invalid_api_key", "PERMISSION_DENIED", "UNAUTHENTICATED"):
		return Auth
	case n.called("invalid_request_error", "not_found_error", "invalid_prompt", "model_not_found", "INVALID_ARGUMENT", "NOT_FOUND"):
		return BadRequest
	}
	return Temporary
}

// badKey matches the messages of Google and xAI for an invalid key, which have an
// unspecific status.
var badKey = pattern.New(`(?i)api key not valid|(incorrect|invalid) api key`)

// flagged matches messages about rejected content. Another key does not help.
var flagged = pattern.New(`(?i)\b(flagged|moderation)\b`)

// unpaid reports whether the account has no credit left. Google sends the same error for
// per-minute limits, but then includes a retry delay.
func (n notice) unpaid() bool {
	if n.called("insufficient_quota", "billing_error", "billing_not_active", "billing_hard_limit_reached", "insufficient_balance", "exceeded_current_quota_error", "credits_exhausted") {
		return true
	}
	return n.daily || noCreditText().MatchString(n.text)
}

var noCreditText = pattern.New(`(?i)credit balance is too low|insufficient (balance|credits?|funds)|out of credits|extra usage is required|billing hard limit`)

// tooLong reports whether the request was too long for the model.
func (n notice) tooLong(status int) bool {
	switch {
	case n.called("context_length_exceeded", "request_too_large", "exceed_context_size_error", "model_context_window_exceeded", "string_above_max_length", "1261"):
		return true
	case status == 413:
		return true
	case neverFits().MatchString(n.text):
		return true
	case status == 429 || throttled().MatchString(n.text):
		return false
	case status == 400 && n.empty:
		return true // Cerebras
	}
	return slices.ContainsFunc(overflowPatterns(), func(r *regexp.Regexp) bool { return r.MatchString(n.text) })
}

// neverFits matches the rate limit error for a single request larger than the per-minute
// limit. A retry does not help.
var neverFits = pattern.New(`(?i)request too large for\b.*\bper min`)

// throttled matches messages about rate limits.
var throttled = pattern.New(`(?i)rate.?limit|throttl|too many requests|please wait|try again (later|in)`)

// overflowPatterns match the messages for a request that is too long, each with the
// providers that send it.
var overflowPatterns = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)prompt (is )?too long`),                                                              // Anthropic, Ollama, Z.ai
		regexp.MustCompile("(?i)input length and `?max_tokens`? exceed context limit"),                               // Anthropic
		regexp.MustCompile(`(?i)maximum context length`),                                                             // OpenAI, vLLM, OpenRouter, DeepSeek, Mistral, LiteLLM
		regexp.MustCompile(`(?i)exceeds? (the |your |this model's )?context (window|length|limit)`),                  // OpenAI
		regexp.MustCompile(`(?i)context.{1,8}length.{1,8}exceeded`),                                                  // LM Studio and many more
		regexp.MustCompile(`(?i)input token count.{0,40}exceeds the maximum`),                                        // Google
		regexp.MustCompile(`(?i)reduce the length of (the|your) (messages|prompt|input)`),                            // Groq
		regexp.MustCompile(`(?i)exceeds? (the )?available context size|context size exceeded`),                       // llama.cpp
		regexp.MustCompile(`(?i)(greater|longer|larger) than the (model'?s )?(context|maximum model) (length|size)`), // LM Studio, Together, vLLM
		regexp.MustCompile(`(?i)context window exceeds limit`),                                                       // MiniMax
		regexp.MustCompile(`(?i)exceeded model token limit`),                                                         // Kimi
		regexp.MustCompile(`(?i)maximum prompt length is`),                                                           // xAI
		regexp.MustCompile(`(?i)input is too long`),                                                                  // Bedrock
		regexp.MustCompile(`(?i)prompt token count of \d+ exceeds the limit`),                                        // Copilot
		regexp.MustCompile(`(?i)exceeds (the )?maximum allowed input length`),                                        // Poolside
		regexp.MustCompile(`(?i)range of input length should be`),                                                    // DashScope
		regexp.MustCompile(`(?i)prompt has [\d,]+ tokens?, but the configured context size`),                         // ds4
		regexp.MustCompile("(?i)`?inputs`? tokens \\+ `?max_new_tokens`? must be"),                                   // Hugging Face
		regexp.MustCompile(`(?i)invalid '(messages|input)[^']*': (string|array) too long`),                           // OpenAI
		regexp.MustCompile(`(?i)too many (input )?tokens|(input )?token limit exceeded`),                             // all others
	}
})
