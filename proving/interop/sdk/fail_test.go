package sdk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/provider"
	ourAnthropic "firn.dev/provider/anthropic"
	ourOpenAI "firn.dev/provider/openai"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicOption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openAIOption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// failure is a failed response.
type failure struct {
	status int
	body   string
	// wanted is the header with the server's retry preference.
	wanted string
	// kind is firn's classification.
	kind provider.Kind
	// theirs is the SDK's error, if it differs from firn's.
	theirs string
	// again is true if only one of the SDK and firn retries.
	again bool
	// why is the reason for either difference.
	why string
}

// asker is one of firn's clients and the SDK.
type asker struct {
	name   string
	model  func(*http.Client) provider.Model
	theirs func(ctx context.Context, client *http.Client, retries int) error
	cases  []failure
}

const htmlPage = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"

// asAnthropic encodes an error as Anthropic does.
func asAnthropic(kind, message string) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, kind, message)
}

// asOpenAI encodes an error as OpenAI does.
func asOpenAI(kind, code, message string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"param":null,"code":%s}}`, message, kind, code)
}

const (
	unheard  = "we do not look at X-Should-Retry"
	paid     = "who has no credit has none a second later"
	never    = "what a server cannot do it cannot do a second later"
	noJSON   = "the SDK has no message for what is not JSON"
	tooLarge = "the same request is too long a second later too"
)

func anthropicFailures() []failure {
	return []failure{
		{status: 400, body: asAnthropic("invalid_request_error", "messages: at least one message is required"), kind: provider.BadRequest},
		{status: 400, body: asAnthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), kind: provider.Overflow},
		{status: 400, body: asAnthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), kind: provider.Auth},
		{status: 401, body: asAnthropic("authentication_error", "invalid x-api-key"), kind: provider.Auth},
		{status: 402, body: asAnthropic("billing_error", "no money"), kind: provider.Auth},
		{status: 403, body: asAnthropic("permission_error", "not yours"), kind: provider.Auth},
		{status: 404, body: asAnthropic("not_found_error", "model: claude-x"), kind: provider.BadRequest},
		{status: 408, body: asAnthropic("timeout_error", "too slow"), kind: provider.Temporary},
		{status: 409, body: asAnthropic("conflict_error", "twice"), kind: provider.Temporary},
		{status: 413, body: asAnthropic("request_too_large", "Request exceeds the maximum size"), kind: provider.Overflow},
		{status: 422, body: asAnthropic("invalid_request_error", "no"), kind: provider.BadRequest},
		{status: 429, body: asAnthropic("rate_limit_error", "This request would exceed your organization's rate limit of 40,000 input tokens per minute."), kind: provider.Temporary},
		{status: 500, body: asAnthropic("api_error", "Internal server error"), kind: provider.Temporary},
		{status: 504, body: asAnthropic("timeout_error", "too slow"), kind: provider.Temporary},
		{status: 529, body: asAnthropic("overloaded_error", "Overloaded \"again\" – sorry"), kind: provider.Temporary},
		{status: 429, wanted: "false", body: asAnthropic("rate_limit_error", "not this week"), kind: provider.Temporary, again: true, why: unheard},
		{status: 400, wanted: "true", body: asAnthropic("invalid_request_error", "not yet"), kind: provider.BadRequest, again: true, why: unheard},
		{status: 501, body: asAnthropic("api_error", "not here"), kind: provider.BadRequest, again: true, why: never},
		{status: 502, body: htmlPage, kind: provider.Temporary, theirs: "502 : " + htmlPage, why: "we tell people what the page says"},
		{status: 503, kind: provider.Temporary},
		{status: 401, body: asAnthropic("authentication_error", "invalid key "+key), kind: provider.Auth, theirs: "401 authentication_error: invalid key " + key, why: "we never repeat a key"},
		{status: 400, body: asAnthropic("invalid_request_error", strings.Repeat("long ", 200)), kind: provider.BadRequest,
			theirs: "400 invalid_request_error: " + strings.Repeat("long ", 200), why: "we keep what fits into a line"},
	}
}

func openAIFailures() []failure {
	return []failure{
		{status: 400, body: asOpenAI("invalid_request_error", `"unsupported_parameter"`, "Unsupported parameter: 'max_tokens'"), kind: provider.BadRequest},
		{status: 400, body: asOpenAI("invalid_request_error", `"context_length_exceeded"`, "This model's maximum context length is 128000 tokens."), kind: provider.Overflow},
		{status: 401, body: asOpenAI("invalid_request_error", `"invalid_api_key"`, "Incorrect API key provided."), kind: provider.Auth},
		{status: 403, body: asOpenAI("invalid_request_error", `"unsupported_country_region_territory"`, "Country not supported"), kind: provider.Auth},
		{status: 404, body: asOpenAI("invalid_request_error", `"model_not_found"`, "The model `x` does not exist"), kind: provider.BadRequest},
		{status: 404, body: asOpenAI("not_found_error", `null`, "model 'x' not found"), kind: provider.BadRequest},
		{status: 409, body: asOpenAI("conflict", `null`, "twice"), kind: provider.Temporary},
		{status: 413, body: asOpenAI("invalid_request_error", `null`, "too large"), kind: provider.Overflow},
		{status: 429, body: asOpenAI("tokens", `"rate_limit_exceeded"`, "Rate limit reached for gpt-5. Please try again in 1ms."), kind: provider.Temporary},
		{status: 429, body: asOpenAI("insufficient_quota", `"insufficient_quota"`, "You exceeded your current quota, please check your plan and billing details."), kind: provider.Auth, again: true, why: paid},
		{status: 429, body: asOpenAI("tokens", `"rate_limit_exceeded"`, "Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 40000."), kind: provider.Overflow, again: true, why: tooLarge},
		{status: 500, body: asOpenAI("server_error", `"internal_error"`, "The server had an error – sorry"), kind: provider.Temporary},
		{status: 503, body: asOpenAI("server_error", `null`, "The engine is currently overloaded"), kind: provider.Temporary},
		{status: 429, wanted: "false", body: asOpenAI("requests", `"rate_limit_exceeded"`, "not this week"), kind: provider.Temporary, again: true, why: unheard},
		{status: 501, body: asOpenAI("server_error", `null`, "not here"), kind: provider.BadRequest, again: true, why: never},
		{status: 502, body: htmlPage, kind: provider.Temporary, theirs: "502 :", why: noJSON},
		{status: 503, kind: provider.Temporary},
		{status: 422, body: `{"object":"error","message":"Extra inputs are not permitted","type":"invalid_request_error","code":null}`, kind: provider.BadRequest,
			theirs: "422 :", why: "Mistral's errors are not inside of another object"},
		{status: 503, body: `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`, kind: provider.Temporary,
			theirs: "503 503: Loading model", why: "llama.cpp repeats the status as the code; the name tells more"},
		{status: 401, body: asOpenAI("invalid_request_error", `"invalid_api_key"`, "Incorrect API key provided: "+key), kind: provider.Auth,
			theirs: "401 invalid_api_key: Incorrect API key provided: " + key, why: "we never repeat a key"},
	}
}

func askers() []asker {
	return []asker{
		{
			name: "anthropic", model: anthropicModel("claude-sonnet-4-5", ourAnthropic.CacheShort, true), cases: anthropicFailures(),
			theirs: func(ctx context.Context, client *http.Client, retries int) error {
				service := anthropic.NewMessageService(append(anthropicOptions(client), anthropicOption.WithMaxRetries(retries))...)
				stream := service.NewStreaming(ctx, anthropic.MessageNewParams{Model: "m", MaxTokens: 1})
				return cmp.Or(stream.Err(), errNoFailure)
			},
		},
		{
			name: "chat", cases: openAIFailures(),
			model: func(client *http.Client) provider.Model {
				return ourOpenAI.NewChat(openAIServer{url: ourOpenAI.DefaultURL}.options(client))
			},
			theirs: func(ctx context.Context, client *http.Client, retries int) error {
				service := openai.NewChatCompletionService(append(openAIOptions(client, ourOpenAI.DefaultURL), openAIOption.WithMaxRetries(retries))...)
				stream := service.NewStreaming(ctx, openai.ChatCompletionNewParams{Model: "m"})
				return cmp.Or(stream.Err(), errNoFailure)
			},
		},
		{
			name: "responses", cases: openAIFailures(),
			model: func(client *http.Client) provider.Model {
				return ourOpenAI.NewResponses(openAIServer{url: ourOpenAI.DefaultURL}.options(client))
			},
			theirs: func(ctx context.Context, client *http.Client, retries int) error {
				service := responses.NewResponseService(append(openAIOptions(client, ourOpenAI.DefaultURL), openAIOption.WithMaxRetries(retries))...)
				stream := service.NewStreaming(ctx, responses.ResponseNewParams{Model: "m"})
				return cmp.Or(stream.Err(), errNoFailure)
			},
		},
	}
}

var errNoFailure = errors.New("the SDK saw no failure")

// TestFailures checks that firn and the SDKs report the same failures, and retry for the same
// reasons.
func TestFailures(t *testing.T) {
	for _, c := range askers() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t)
			for _, f := range c.cases {
				c.check(t, server, f)
			}
		})
	}
}

func (c asker) check(t *testing.T, server *server, f failure) {
	name := fmt.Sprintf("%d %.60s", f.status, f.body)
	server.header = http.Header{"Retry-After-Ms": {"1"}}
	if f.wanted != "" {
		server.header.Set("X-Should-Retry", f.wanted)
	}
	server.play(f.status, f.body)
	failed := c.fail(t.Context(), server.client)
	if failed == nil || failed.Kind != f.kind || failed.Status != f.status || failed.Partial {
		t.Errorf("%s: our error is %#v, want one of kind %s", name, failed, f.kind)
		return
	}
	if (failed.Kind == provider.Temporary) != (failed.RetryAfter == time.Millisecond) {
		t.Errorf("%s: of kind %s, to be retried after %v", name, failed.Kind, failed.RetryAfter)
	}
	tell := fmt.Sprintf("%d %s: %s", failed.Status, failed.Code, failed.Message)
	want := tell
	if f.theirs != "" {
		want = f.theirs
	}
	if got := theirFailure(c.theirs(t.Context(), server.client, 0)); strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("%s: they tell %q, want %q", name, got, want)
	}
	if f.theirs == tell || (f.theirs != "" || f.again) != (f.why != "") {
		t.Errorf("%s: the list is wrong: %+v", name, f)
	}
	server.got = nil
	c.theirs(t.Context(), server.client, 1)
	if again := len(server.got) == 2; again != ((failed.Kind == provider.Temporary) != f.again) {
		t.Errorf("%s: firn's error is of kind %s, and the SDK retries: %v", name, failed.Kind, again)
	}
}

// fail returns firn's error; nil if there is none.
func (c asker) fail(ctx context.Context, client *http.Client) *provider.Error {
	m := c.model(client)
	_, _, err := drain(ctx, m, provider.Request{Window: history{bodies: []firn.Body{byUser(textPart("Hello."))}}.build(m.Info())})
	var failed *provider.Error
	if !errors.As(err, &failed) {
		return nil
	}
	return failed
}

// theirFailure formats an error of an SDK.
func theirFailure(err error) string {
	var a *anthropic.Error
	var o *openai.Error
	switch {
	case errors.As(err, &a):
		_, message := errorIn(a.RawJSON())
		return fmt.Sprintf("%d %s: %s", a.StatusCode, a.Type(), message)
	case errors.As(err, &o):
		return fmt.Sprintf("%d %s: %s", o.StatusCode, cmp.Or(o.Code, o.Type), o.Message)
	}
	return err.Error()
}

// TestUnreachable checks that without a server no status is reported, and that all clients
// would retry.
func TestUnreachable(t *testing.T) {
	for _, c := range askers() {
		asked := 0
		dead := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			asked++
			return nil, errors.New("the line is dead")
		})}
		failed := c.fail(t.Context(), dead)
		if failed == nil || failed.Kind != provider.Temporary || failed.Status != 0 || asked != 1 {
			t.Errorf("%s: firn's error is %#v after %d requests", c.name, failed, asked)
		}
		if err := c.theirs(t.Context(), dead, 0); err == nil || !strings.Contains(err.Error(), "the line is dead") || asked != 2 {
			t.Errorf("%s: their error is %v after %d requests", c.name, err, asked-1)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
