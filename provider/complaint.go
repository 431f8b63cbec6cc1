package provider

import (
	"net/http"
	"regexp"
	"slices"
	"time"

	"firn"
)

// Complaint makes an [*Error] of an HTTP answer that is not one: by its
// status, its headers, and what its body says. Now is for headers that tell a
// time of day. What the error tells of the body is short, plain text, and keys
// are blotted out.
func Complaint(provider, model string, status int, header http.Header, body []byte, now time.Time) *Error {
	n := readNotice(body)
	e := n.asError(provider, model)
	e.Status = status
	e.Kind = judge(status, n)
	if e.Kind == Temporary {
		e.After = after(status, header, n, now)
	}
	return e
}

// StreamComplaint makes an [*Error] of a failure that is told within a stream,
// after a good status: an object with a member "error", or that error itself.
// Whether the answer had begun is for the caller to say.
func StreamComplaint(provider, model string, body []byte) *Error {
	n := readNotice(body)
	e := n.asError(provider, model)
	e.Kind = judge(n.status, n)
	if e.Kind == Temporary {
		e.After = n.wait()
	}
	return e
}

// Overflowed reports whether an answer that seems good was given to a request
// that did not fit: some providers cut off the beginning and say nothing. It
// is known only of models whose window is.
func Overflowed(info Info, u *firn.Usage) bool {
	if u == nil || info.Window <= 0 || info.Assumed {
		return false
	}
	sent := u.Input + u.CacheRead + u.CacheWrite
	return sent > info.Window || sent == info.Window && u.Output == 0
}

// judge says what kind of failure it is. A status that says what is wrong is
// trusted more than the provider's own names, which servers that speak another
// one's API like to mix up; zero means that there is none.
func judge(status int, n notice) Kind {
	switch {
	case n.unpaid():
		return Auth
	case status == 401 || status == 402 || status == 403 && !flagged.MatchString(n.text):
		return Auth
	case status == 400 && (n.called("API_KEY_INVALID") || badKey.MatchString(n.text)):
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

// badKey is what Google and xAI say of a wrong key, with a status that says
// nothing.
var badKey = regexp.MustCompile(`(?i)api key not valid|(incorrect|invalid) api key`)

// flagged is said of requests whose content is not wanted. No other key helps.
var flagged = regexp.MustCompile(`(?i)\b(flagged|moderation)\b`)

// unpaid reports whether the account has no credit left. Google says the same
// of limits that are gone in a minute; then it tells how long to wait.
func (n notice) unpaid() bool {
	if n.called("insufficient_quota", "billing_error", "billing_not_active", "billing_hard_limit_reached", "insufficient_balance", "exceeded_current_quota_error", "credits_exhausted") {
		return true
	}
	return n.daily || noCredit.MatchString(n.text)
}

var noCredit = regexp.MustCompile(`(?i)credit balance is too low|insufficient (balance|credits?|funds)|out of credits|extra usage is required|billing hard limit`)

// tooLong reports whether the request was too long for the model.
func (n notice) tooLong(status int) bool {
	switch {
	case n.called("context_length_exceeded", "request_too_large", "exceed_context_size_error", "model_context_window_exceeded", "string_above_max_length", "1261"):
		return true
	case status == 413:
		return true
	case neverFits.MatchString(n.text):
		return true
	case status == 429 || throttled.MatchString(n.text):
		return false
	case status == 400 && n.empty:
		return true // so says Cerebras
	}
	return slices.ContainsFunc(overlong, func(r *regexp.Regexp) bool { return r.MatchString(n.text) })
}

// neverFits is said, with the status of too many requests, of one request that
// is larger than all that may be sent in a minute: waiting does not help.
var neverFits = regexp.MustCompile(`(?i)request too large for\b.*\bper min`)

// throttled is said of too much in too short a time.
var throttled = regexp.MustCompile(`(?i)rate.?limit|throttl|too many requests|please wait|try again (later|in)`)

// overlong are the ways to say that a request is too long, each with those who
// say it so.
var overlong = []*regexp.Regexp{
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
	regexp.MustCompile(`(?i)too many (input )?tokens|(input )?token limit exceeded`),                             // and the rest
}
