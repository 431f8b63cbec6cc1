package sdk

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"firn.dev/provider"
	ourAnthropic "firn.dev/provider/anthropic"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// anthropicAnswer is a short answer of the Messages API.
var anthropicAnswer = sse(
	`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
	`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1}}`,
	`{"type":"message_stop"}`,
)

// anthropicOptions configures the SDK's client like firn's: without retries.
func anthropicOptions(client *http.Client) []option.RequestOption {
	return []option.RequestOption{
		option.WithBaseURL(ourAnthropic.DefaultURL), option.WithAPIKey(key), option.WithHTTPClient(client), option.WithMaxRetries(0),
	}
}

func anthropicModel(name string, ttl ourAnthropic.CacheTTL, thinks bool) func(*http.Client) provider.Model {
	return func(client *http.Client) provider.Model {
		return ourAnthropic.New(ourAnthropic.Options{
			Name: name, Key: key, Client: client, CacheTTL: ttl,
			Spec: provider.Spec{Window: 200_000, MaxOutput: 64_000, Thinks: thinks, Sees: true},
		})
	}
}

// anthropicSenders returns senders for models of every generation, for answers and token
// counts. The latest generation uses beta features.
func anthropicSenders() []sender {
	var all []sender
	for _, m := range []struct {
		name   string
		ttl    ourAnthropic.CacheTTL
		thinks bool
		beta   bool
	}{
		{name: "claude-3-5-haiku-20241022"},
		{name: "claude-sonnet-4-5-20250929", ttl: ourAnthropic.CacheHour, thinks: true},
		{name: "claude-opus-4-6", ttl: ourAnthropic.CacheOff, thinks: true},
		{name: "claude-opus-4-8", thinks: true},
		{name: "claude-opus-5", thinks: true},
		{name: "claude-opus-5-5", thinks: true, beta: true},
		{name: "glm-4.6", thinks: true},
	} {
		model := anthropicModel(m.name, m.ttl, m.thinks)
		ask := sender{name: m.name, model: model, answer: anthropicAnswer, resend: resendMessage, loose: []string{"tools[].input_schema", "messages[].content[].input"}}
		if m.beta {
			ask.resend = resendBeta
			ask.allowed = append(ask.allowed, allowance{"(query)", "", "beta=true", "the SDK says so in the address, the API reads the header"})
		}
		ask.words = anthropicWords(m.name, m.ttl, m.thinks)
		ask.required = anthropicRequired()
		count := ask
		ask.required = append(ask.required, "max_tokens")
		count.name += " counts"
		count.ask, count.resend, count.answer = askCount, resendCount, `{"input_tokens":7}`
		if m.beta {
			count.resend = resendBetaCount
		}
		count.words = anthropicWords(m.name, m.ttl, m.thinks)
		delete(count.words, "output_config.effort")
		all = append(all, ask, count)
	}
	return all
}

// anthropicWords returns the known words in requests for a model.
func anthropicWords(name string, ttl ourAnthropic.CacheTTL, thinks bool) map[string][]string {
	effort := words(anthropic.OutputConfigEffortLow, anthropic.OutputConfigEffortMedium, anthropic.OutputConfigEffortHigh, anthropic.OutputConfigEffortXhigh, anthropic.OutputConfigEffortMax)
	image := words(anthropic.Base64ImageSourceMediaTypeImageGIF, anthropic.Base64ImageSourceMediaTypeImageJPEG, anthropic.Base64ImageSourceMediaTypeImagePNG, anthropic.Base64ImageSourceMediaTypeImageWebP)
	list := map[string][]string{
		"model":                                            nil,
		"system[].type":                                    {"text"},
		"system[].text":                                    nil,
		"tools[].name":                                     nil,
		"tools[].description":                              nil,
		"messages[].role":                                  words(anthropic.MessageParamRoleUser, anthropic.MessageParamRoleAssistant),
		"messages[].content[].type":                        {"text", "image", "thinking", "redacted_thinking", "tool_use", "tool_result"},
		"messages[].content[].text":                        nil,
		"messages[].content[].id":                          nil,
		"messages[].content[].name":                        nil,
		"messages[].content[].source.type":                 {"base64"},
		"messages[].content[].source.media_type":           image,
		"messages[].content[].source.data":                 nil,
		"messages[].content[].tool_use_id":                 nil,
		"messages[].content[].content[].type":              {"text", "image"},
		"messages[].content[].content[].text":              nil,
		"messages[].content[].content[].source.type":       {"base64"},
		"messages[].content[].content[].source.media_type": image,
		"messages[].content[].content[].source.data":       nil,
	}
	if thinks {
		list["messages[].content[].thinking"] = nil
		list["messages[].content[].signature"] = nil
		list["messages[].content[].data"] = nil
		list["thinking.type"] = []string{"enabled", "adaptive"}
	}
	if strings.HasPrefix(name, "claude-opus") {
		list["output_config.effort"] = effort
	}
	if name == "claude-opus-4-8" || strings.HasPrefix(name, "claude-opus-5") {
		list["thinking.display"] = words(anthropic.ThinkingConfigAdaptiveDisplaySummarized, anthropic.ThinkingConfigAdaptiveDisplayOmitted)
	}
	if name == "claude-opus-5-5" {
		list["thinking.block_binding.prefix_mismatch_behavior"] = words(anthropic.BetaThinkingPrefixMismatchBehaviorError, anthropic.BetaThinkingPrefixMismatchBehaviorDropBlock)
	}
	if ttl != ourAnthropic.CacheOff {
		for _, place := range []string{"system[]", "tools[]", "messages[].content[]"} {
			list[place+".cache_control.type"] = []string{"ephemeral"}
			if ttl == ourAnthropic.CacheHour {
				list[place+".cache_control.ttl"] = words(anthropic.CacheControlEphemeralTTLTTL5m, anthropic.CacheControlEphemeralTTLTTL1h)
			}
		}
	}
	return list
}

func anthropicRequired() []string {
	list := []string{"model", "messages", "tools[].name", "tools[].input_schema", "messages[].role", "messages[].content"}
	for _, name := range []string{"type", "text", "id", "name", "input", "tool_use_id", "source", "source.type", "source.media_type", "source.data"} {
		list = append(list, "messages[].content[]."+name)
	}
	return list
}

func askCount(ctx context.Context, m provider.Model, req provider.Request) error {
	n, err := m.(provider.Counter).CountTokens(ctx, req)
	if err == nil && n != 7 {
		err = errors.New("the number of tokens is wrong")
	}
	return err
}

func resendMessage(ctx context.Context, client *http.Client, sent request) error {
	var params anthropic.MessageNewParams
	if err := understand(sent.body, &params); err != nil {
		return err
	}
	service := anthropic.NewMessageService(anthropicOptions(client)...)
	stream := service.NewStreaming(ctx, params)
	defer stream.Close()
	for stream.Next() {
	}
	return stream.Err()
}

func resendCount(ctx context.Context, client *http.Client, sent request) error {
	var params anthropic.MessageCountTokensParams
	if err := understand(sent.body, &params); err != nil {
		return err
	}
	service := anthropic.NewMessageService(anthropicOptions(client)...)
	_, err := service.CountTokens(ctx, params)
	return err
}

func resendBeta(ctx context.Context, client *http.Client, sent request) error {
	var params anthropic.BetaMessageNewParams
	if err := understand(sent.body, &params); err != nil {
		return err
	}
	params.Betas = []anthropic.AnthropicBeta{anthropic.AnthropicBetaThinkingBindingControls2026_08_01}
	service := anthropic.NewBetaMessageService(anthropicOptions(client)...)
	stream := service.NewStreaming(ctx, params)
	defer stream.Close()
	for stream.Next() {
	}
	return stream.Err()
}

func resendBetaCount(ctx context.Context, client *http.Client, sent request) error {
	var params anthropic.BetaMessageCountTokensParams
	if err := understand(sent.body, &params); err != nil {
		return err
	}
	params.Betas = []anthropic.AnthropicBeta{anthropic.AnthropicBetaThinkingBindingControls2026_08_01}
	service := anthropic.NewBetaMessageService(anthropicOptions(client)...)
	_, err := service.CountTokens(ctx, params)
	return err
}
