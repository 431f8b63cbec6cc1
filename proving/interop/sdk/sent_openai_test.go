package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	"firn.dev/provider"
	ourOpenAI "firn.dev/provider/openai"
	"firn.dev/window"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// chatAnswer is a short answer of the Chat Completions API.
var chatAnswer = sse(
	`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"a"},"finish_reason":"stop"}],"usage":null}`,
	`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`,
	`[DONE]`,
)

// responsesAnswer is a short answer of the Responses API.
var responsesAnswer = sse(
	`{"type":"response.completed","sequence_number":0,"response":{"id":"r","object":"response","created_at":1,"status":"completed","model":"m","output":[]}}`,
)

// openAIOptions configures the SDK's client like firn's: without retries.
func openAIOptions(client *http.Client, url string) []option.RequestOption {
	return []option.RequestOption{
		option.WithBaseURL(url), option.WithAPIKey(key), option.WithHTTPClient(client), option.WithMaxRetries(0),
	}
}

// openAIServer is a server with an OpenAI-compatible API.
type openAIServer struct {
	name, url string
	profile   window.Profile
	dull      bool
	// also are the words that only some servers receive.
	also map[string][]string
	// allowed are members that the server has and OpenAI does not.
	allowed []allowance
}

func (s openAIServer) options(client *http.Client) ourOpenAI.Options {
	spec := provider.Spec{Window: 200_000, MaxOutput: 64_000, Thinks: !s.dull, Sees: true}
	return ourOpenAI.Options{Name: "test", Key: key, URL: s.url, Profile: s.profile, Client: client, Spec: spec}
}

func openAISenders() []sender {
	effort := words(openai.ReasoningEffortMinimal, openai.ReasoningEffortLow, openai.ReasoningEffortMedium, openai.ReasoningEffortHigh, openai.ReasoningEffortXhigh)
	name := allowance{"messages[].name", "*", "", "Google and Mistral want the name of the tool with its result"}
	null := allowance{"messages[].content", "null", "", "the API takes either of a message that only calls tools"}
	signature := "messages[].tool_calls[].extra_content"
	var all []sender
	for _, s := range []openAIServer{
		{name: "openai", url: ourOpenAI.DefaultURL, also: map[string][]string{"reasoning_effort": effort, "prompt_cache_key": nil}, allowed: []allowance{null}},
		{name: "openai without thinking", url: ourOpenAI.DefaultURL, dull: true, also: map[string][]string{"prompt_cache_key": nil}, allowed: []allowance{null}},
		{name: "ollama", url: "http://localhost:11434/v1", also: map[string][]string{"reasoning_effort": effort}, allowed: []allowance{null}},
		{name: "mistral", url: "https://api.mistral.ai/v1", profile: window.Mistral(), also: map[string][]string{"messages[].name": nil},
			allowed: []allowance{name}},
		{name: "gemini", url: "https://generativelanguage.googleapis.com/v1beta/openai", profile: window.Gemini(),
			also:    map[string][]string{"reasoning_effort": effort, "messages[].name": nil, signature + ".google.thought_signature": nil},
			allowed: []allowance{null, name, {signature, "*", "", "Google signs calls, and wants it back"}}},
		{name: "openrouter", url: "https://openrouter.ai/api/v1", also: map[string][]string{"reasoning.effort": effort},
			allowed: []allowance{null, {"reasoning", "*", "", "OpenRouter's own way to say how hard to think"}}},
	} {
		all = append(all, chatSender(s))
	}
	for _, s := range []openAIServer{
		{name: "responses", url: ourOpenAI.DefaultURL, also: map[string][]string{"prompt_cache_key": nil}},
		{name: "responses without thinking", url: ourOpenAI.DefaultURL, dull: true, also: map[string][]string{"prompt_cache_key": nil}},
		{name: "responses elsewhere", url: "http://localhost:1234/v1"},
	} {
		s.allowed = append(s.allowed, allowance{"input[].status", "null", "", "a reasoning item goes back as the server encoded it; the SDK leaves out what is null"})
		all = append(all, responsesSender(s))
	}
	return all
}

func chatSender(s openAIServer) sender {
	list := map[string][]string{
		"model":                                      nil,
		"tools[].type":                               {"function"},
		"tools[].function.name":                      nil,
		"tools[].function.description":               nil,
		"messages[].role":                            {"system", "developer", "user", "assistant", "tool"},
		"messages[].content":                         nil,
		"messages[].content[].type":                  {"text", "image_url"},
		"messages[].content[].text":                  nil,
		"messages[].content[].image_url.url":         nil,
		"messages[].tool_call_id":                    nil,
		"messages[].tool_calls[].id":                 nil,
		"messages[].tool_calls[].type":               {"function"},
		"messages[].tool_calls[].function.name":      nil,
		"messages[].tool_calls[].function.arguments": nil,
	}
	required := []string{
		"model", "messages", "messages[].role", "messages[].tool_call_id", "messages[].content[].type", "messages[].content[].text", "messages[].content[].image_url", "messages[].content[].image_url.url",
		"messages[].tool_calls[].id", "messages[].tool_calls[].function", "messages[].tool_calls[].function.name", "messages[].tool_calls[].function.arguments",
		"tools[].function", "tools[].function.name",
	}
	model := func(o ourOpenAI.Options) provider.Model { return ourOpenAI.NewChat(o) }
	return s.sender(list, required, model, chatAnswer, "tools[].function.parameters",
		func(ctx context.Context, client *http.Client, sent request) error {
			var params openai.ChatCompletionNewParams
			if err := understand(sent.body, &params); err != nil {
				return err
			}
			service := openai.NewChatCompletionService(openAIOptions(client, s.url)...)
			stream := service.NewStreaming(ctx, params)
			defer stream.Close()
			for stream.Next() {
			}
			return stream.Err()
		})
}

func responsesSender(s openAIServer) sender {
	list := map[string][]string{
		"model":                       nil,
		"instructions":                nil,
		"tools[].type":                {"function"},
		"tools[].name":                nil,
		"tools[].description":         nil,
		"input[].type":                {"message", "reasoning", "function_call", "function_call_output"},
		"input[].role":                words(responses.EasyInputMessageRoleUser, responses.EasyInputMessageRoleAssistant),
		"input[].content":             nil,
		"input[].status":              words(responses.ResponseOutputMessageStatusCompleted),
		"input[].phase":               words(responses.ResponseOutputMessagePhaseCommentary, responses.ResponseOutputMessagePhaseFinalAnswer),
		"input[].id":                  nil,
		"input[].call_id":             nil,
		"input[].name":                nil,
		"input[].arguments":           nil,
		"input[].output":              nil,
		"input[].content[].type":      {"input_text", "input_image", "output_text", "reasoning_text"},
		"input[].content[].text":      nil,
		"input[].content[].detail":    words(responses.ResponseInputImageDetailAuto),
		"input[].content[].image_url": nil,
		"input[].output[].type":       {"input_text", "input_image"},
		"input[].output[].text":       nil,
		"input[].output[].detail":     words(responses.ResponseInputImageContentDetailAuto),
		"input[].output[].image_url":  nil,
		"input[].encrypted_content":   nil,
		"input[].summary[].type":      {"summary_text"},
		"input[].summary[].text":      nil,
	}
	if !s.dull {
		list["include[]"] = words(responses.ResponseIncludableReasoningEncryptedContent)
		list["reasoning.effort"] = words(openai.ReasoningEffortMinimal, openai.ReasoningEffortLow, openai.ReasoningEffortMedium, openai.ReasoningEffortHigh, openai.ReasoningEffortXhigh)
		list["reasoning.summary"] = words(openai.ReasoningSummaryAuto)
	}
	required := []string{
		"input[].role", "input[].content", "input[].call_id", "input[].name", "input[].arguments", "input[].output", "input[].summary",
		"input[].content[].type", "input[].content[].text", "input[].content[].annotations", "input[].summary[].text",
		"tools[].name", "tools[].parameters", "tools[].strict",
	}
	model := func(o ourOpenAI.Options) provider.Model { return ourOpenAI.NewResponses(o) }
	return s.sender(list, required, model, responsesAnswer, "tools[].parameters",
		func(ctx context.Context, client *http.Client, sent request) error {
			var params responses.ResponseNewParams
			if err := json.Unmarshal(sent.body, &params); err != nil {
				return err
			}
			if err := setOutputMessages(sent.body, &params); err != nil {
				return err
			}
			if err := understood(reflect.ValueOf(params), "params"); err != nil {
				return err
			}
			service := responses.NewResponseService(openAIOptions(client, s.url)...)
			stream := service.NewStreaming(ctx, params)
			defer stream.Close()
			for stream.Next() {
			}
			return stream.Err()
		})
}

// setOutputMessages sets the kind of the model's messages. Three kinds of items have the
// type "message", and the SDK decodes all of them as the first, an input message, including
// its own. A message with an ID is an output of the model.
func setOutputMessages(body []byte, params *responses.ResponseNewParams) error {
	var sent struct{ Input []json.RawMessage }
	if err := json.Unmarshal(body, &sent); err != nil {
		return err
	}
	items := params.Input.OfInputItemList
	if len(items) != len(sent.Input) {
		return fmt.Errorf("the SDK decodes %d items, firn sent %d", len(items), len(sent.Input))
	}
	for i, raw := range sent.Input {
		var head struct{ Type, ID string }
		if err := json.Unmarshal(raw, &head); err != nil {
			return err
		}
		if head.Type != "message" || head.ID == "" {
			continue
		}
		var message responses.ResponseOutputMessageParam
		if err := json.Unmarshal(raw, &message); err != nil {
			return err
		}
		items[i] = responses.ResponseInputItemUnionParam{OfOutputMessage: &message}
	}
	return nil
}

// sender returns a sender with the common parts of both APIs.
func (s openAIServer) sender(list map[string][]string, required []string, model func(ourOpenAI.Options) provider.Model, answer, loose string, resend func(context.Context, *http.Client, request) error) sender {
	for place, words := range s.also {
		list[place] = words
	}
	return sender{
		name: s.name, answer: answer, resend: resend, allowed: s.allowed, words: list, required: required, loose: []string{loose},
		model: func(client *http.Client) provider.Model { return model(s.options(client)) },
	}
}
