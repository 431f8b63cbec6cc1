package sdk

import (
	"context"
	"errors"
	"net/http"

	"firn.dev"
	ourAnthropic "firn.dev/provider/anthropic"

	"github.com/anthropics/anthropic-sdk-go"
)

func anthropicReader() reader {
	return reader{
		name: "anthropic", folder: "../../../provider/anthropic/testdata/streams",
		model:  anthropicModel("claude-sonnet-4-5", ourAnthropic.CacheShort, true),
		theirs: readMessage,
		notes:  anthropicNotes(),
	}
}

// readMessage requests an answer with Anthropic's SDK.
func readMessage(ctx context.Context, client *http.Client, _ bool) answer {
	service := anthropic.NewMessageService(anthropicOptions(client)...)
	stream := service.NewStreaming(ctx, anthropic.MessageNewParams{
		Model: "claude-sonnet-4-5", MaxTokens: 1000,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Hello."))},
	})
	defer stream.Close()
	var m anthropic.Message
	for stream.Next() {
		if err := m.Accumulate(stream.Current()); err != nil {
			return answer{"error " + err.Error()}
		}
	}
	if err := stream.Err(); err != nil {
		return anthropicFailure(err)
	}
	var a answer
	for _, block := range m.Content {
		a.block(block)
	}
	a.stop(anthropicStop(m.StopReason))
	u := m.Usage
	a.usage(u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens)
	return a
}

func (a *answer) block(block anthropic.ContentBlockUnion) {
	switch b := block.AsAny().(type) {
	case anthropic.TextBlock:
		a.text(block.Text, "")
	case anthropic.ThinkingBlock:
		a.thinking(block.Thinking, block.Signature)
	case anthropic.RedactedThinkingBlock:
		a.thinking("", b.Data)
	case anthropic.ToolUseBlock:
		a.call(block.ID, block.Name, string(block.Input), "")
	default:
		a.other(block.Type, block.RawJSON())
	}
}

func anthropicStop(reason anthropic.StopReason) firn.StopReason {
	switch reason {
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		return firn.StopLength
	case anthropic.StopReasonEndTurn, anthropic.StopReasonStopSequence, anthropic.StopReasonToolUse, anthropic.StopReasonPauseTurn, anthropic.StopReasonRefusal:
		return firn.StopEnd
	}
	return firn.StopReason("unknown: " + reason)
}

// anthropicFailure formats an error of the SDK.
func anthropicFailure(err error) answer {
	var a answer
	var failure *anthropic.Error
	if !errors.As(err, &failure) {
		a.add("error %v", err)
		return a
	}
	_, message := errorIn(failure.RawJSON())
	a.fail(string(failure.Type()), message)
	return a
}
