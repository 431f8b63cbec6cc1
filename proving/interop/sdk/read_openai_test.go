package sdk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"firn.dev"
	"firn.dev/provider"
	ourOpenAI "firn.dev/provider/openai"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
)

func chatReader() reader {
	return reader{
		name: "chat", folder: "../../../provider/openai/testdata/chat", loose: true,
		model: func(client *http.Client) provider.Model {
			return ourOpenAI.NewChat(openAIServer{url: ourOpenAI.DefaultURL}.options(client))
		},
		theirs: readCompletion,
		notes:  chatNotes(),
	}
}

func responsesReader() reader {
	return reader{
		name: "responses", folder: "../../../provider/openai/testdata/responses",
		model: func(client *http.Client) provider.Model {
			return ourOpenAI.NewResponses(openAIServer{url: ourOpenAI.DefaultURL}.options(client))
		},
		theirs: readResponse,
		notes:  responsesNotes(),
	}
}

// readCompletion requests an answer from the Chat Completions API with OpenAI's SDK.
func readCompletion(ctx context.Context, client *http.Client, whole bool) answer {
	service := openai.NewChatCompletionService(openAIOptions(client, ourOpenAI.DefaultURL)...)
	params := openai.ChatCompletionNewParams{Model: "test", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello.")}}
	if whole {
		completion, err := service.New(ctx, params)
		if err != nil {
			return openAIFailure(err)
		}
		var extra thoughts
		for _, choice := range completion.Choices {
			extra = append(extra, choice.Message.JSON.ExtraFields)
		}
		return completionAnswer(*completion, extra)
	}
	stream := service.NewStreaming(ctx, params)
	defer stream.Close()
	var acc openai.ChatCompletionAccumulator
	var extra thoughts
	for stream.Next() {
		chunk := stream.Current()
		if !acc.AddChunk(chunk) {
			return answer{"error the SDK cannot add a chunk"}
		}
		for _, choice := range chunk.Choices {
			extra = append(extra, choice.Delta.JSON.ExtraFields)
		}
	}
	if err := stream.Err(); err != nil {
		return openAIFailure(err)
	}
	return completionAnswer(acc.ChatCompletion, extra)
}

// thoughts are the members of chunks without a field in the SDK. Other servers send
// thinking there.
type thoughts []map[string]respjson.Field

func (t thoughts) read() (text, field string) {
	for _, members := range t {
		for _, name := range []string{"reasoning_content", "reasoning"} {
			var s string
			if json.Unmarshal([]byte(members[name].Raw()), &s) == nil && s != "" {
				text, field = text+s, name
			}
		}
	}
	return text, field
}

func completionAnswer(c openai.ChatCompletion, extra thoughts) answer {
	var a answer
	if len(c.Choices) == 0 {
		return answer{"error there are no choices"}
	}
	m := c.Choices[0].Message
	a.thinking(extra.read())
	a.text(m.Content+m.Refusal, "")
	for _, call := range m.ToolCalls {
		a.call(call.ID, call.Function.Name, call.Function.Arguments, "")
	}
	a.stop(chatStop(c.Choices[0].FinishReason))
	u := c.Usage
	read, write := u.PromptTokensDetails.CachedTokens, u.PromptTokensDetails.CacheWriteTokens
	a.usage(u.PromptTokens-read-write, u.CompletionTokens, read, write)
	return a
}

func chatStop(reason string) firn.StopReason {
	switch openai.CompletionChoiceFinishReason(reason) {
	case openai.CompletionChoiceFinishReasonLength:
		return firn.StopLength
	case openai.CompletionChoiceFinishReasonStop, openai.CompletionChoiceFinishReasonContentFilter, "tool_calls", "function_call":
		return firn.StopEnd
	}
	return firn.StopReason("unknown: " + reason)
}

// openAIFailure formats an error of the SDK.
func openAIFailure(err error) answer {
	var a answer
	var inside *ssestream.StreamError
	var failure *openai.Error
	switch {
	case errors.As(err, &inside):
		a.fail(errorIn(string(inside.Event.Data)))
	case errors.As(err, &failure):
		a.fail(cmp.Or(failure.Code, failure.Type), failure.Message)
	default:
		a.add("error %v", err)
	}
	return a
}

// readResponse requests an answer from the Responses API with OpenAI's SDK.
func readResponse(ctx context.Context, client *http.Client, whole bool) answer {
	service := responses.NewResponseService(openAIOptions(client, ourOpenAI.DefaultURL)...)
	params := responses.ResponseNewParams{Model: "test", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Hello.")}}
	if whole {
		response, err := service.New(ctx, params)
		if err != nil {
			return openAIFailure(err)
		}
		return responseAnswer(*response)
	}
	stream := service.NewStreaming(ctx, params)
	defer stream.Close()
	a := answer{"error the stream does not say that it is whole"}
	for stream.Next() {
		switch e := stream.Current().AsAny().(type) {
		case responses.ResponseErrorEvent:
			a = nil
			a.fail(e.Code, e.Message)
		case responses.ResponseCompletedEvent:
			a = responseAnswer(e.Response)
		case responses.ResponseIncompleteEvent:
			a = responseAnswer(e.Response)
		case responses.ResponseFailedEvent:
			a = responseAnswer(e.Response)
		}
	}
	if err := stream.Err(); err != nil {
		return openAIFailure(err)
	}
	return a
}

func responseAnswer(r responses.Response) answer {
	var a answer
	if r.Error.Message != "" {
		a.fail(string(r.Error.Code), r.Error.Message)
		return a
	}
	for _, item := range r.Output {
		a.item(item)
	}
	switch {
	case r.Status == responses.ResponseStatusCompleted:
		a.stop(firn.StopEnd)
	case r.Status == responses.ResponseStatusIncomplete && r.IncompleteDetails.Reason == "max_output_tokens":
		a.stop(firn.StopLength)
	case r.Status == responses.ResponseStatusIncomplete && r.IncompleteDetails.Reason == "content_filter":
		a.stop(firn.StopEnd)
	default:
		a.add("stop unknown: %s", r.Status)
	}
	u := r.Usage
	read, write := u.InputTokensDetails.CachedTokens, u.InputTokensDetails.CacheWriteTokens
	a.usage(u.InputTokens-read-write, u.OutputTokens, read, write)
	return a
}

func (a *answer) item(item responses.ResponseOutputItemUnion) {
	switch it := item.AsAny().(type) {
	case responses.ResponseOutputMessage:
		var text strings.Builder
		for _, c := range it.Content {
			text.WriteString(c.Text + c.Refusal)
		}
		mark := it.ID
		if it.Phase != "" {
			mark = fmt.Sprintf(`{"v":1,"id":%q,"phase":%q}`, it.ID, it.Phase)
		}
		a.text(text.String(), mark)
	case responses.ResponseReasoningItem:
		var pieces []string
		for _, s := range it.Summary {
			pieces = append(pieces, s.Text)
		}
		for _, c := range it.Content {
			pieces = append(pieces, c.Text)
		}
		mark := ""
		if it.EncryptedContent != "" || len(it.Content) > 0 {
			mark = it.RawJSON()
		}
		a.thinking(strings.Join(pieces, "\n\n"), mark)
	case responses.ResponseFunctionToolCall:
		a.call(it.CallID, it.Name, it.Arguments, it.ID)
	default:
		a.other(item.Type, item.RawJSON())
	}
}
