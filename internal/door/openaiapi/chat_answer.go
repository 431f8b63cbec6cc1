package openaiapi

import (
	"encoding/json"

	"firn.dev"
	"firn.dev/internal/base/sse"
	"firn.dev/internal/door/conversation"
	"firn.dev/wire"
)

// completion is the answer to a chat completion request.
type completion struct {
	v *exchange
	// usage is true if a stream ends with the token usage.
	usage   bool
	id      string
	model   string
	created int64
}

// chatAnswer is a chat completion or a chunk of one.
type chatAnswer struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
	// Firn is the location of the stored conversation.
	Firn *location `json:"firn,omitempty"`
}

// location identifies the session and entry of a conversation.
type location struct {
	Session firn.ID      `json:"session"`
	Entry   firn.EntryID `json:"entry,omitempty"`
}

type chatChoice struct {
	Index   int        `json:"index"`
	Message *chatReply `json:"message,omitempty"`
	Delta   *chatDelta `json:"delta,omitempty"`
	// Logprobs is always null; log probabilities are not supported.
	Logprobs     *struct{} `json:"logprobs"`
	FinishReason *string   `json:"finish_reason"`
}

// chatReply is the message of the assistant.
type chatReply struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Refusal   *string    `json:"refusal"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

// chatDelta is a part of a streamed message.
type chatDelta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

type chatUsage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	TotalTokens      int64 `json:"total_tokens"`
	PromptDetails    struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// whole returns the complete answer.
func (c *completion) whole(t *conversation.Turn, p *conversation.Placed) chatAnswer {
	reply := &chatReply{Role: "assistant", ToolCalls: chatCalls(t.Answer.Pending, false)}
	if text := t.Text(); text != "" || len(reply.ToolCalls) == 0 {
		reply.Content = &text
	}
	usage := usageOf(t.Answer.Usage)
	return chatAnswer{
		ID: c.id, Object: "chat.completion", Created: c.created, Model: c.model, Usage: &usage,
		Choices: []chatChoice{{Message: reply, FinishReason: finish(t.Answer)}},
		Firn:    locationOf(p, t.Answer.Entry),
	}
}

// chatCalls returns the tool calls that the client must run.
func chatCalls(pending []wire.Tool, numbered bool) []chatCall {
	var calls []chatCall
	for i, p := range pending {
		call := chatCall{ID: p.Call, Type: "function", Function: chatFunction{Name: p.Name, Arguments: string(p.Arguments)}}
		if numbered {
			call.Index = &i
		}
		calls = append(calls, call)
	}
	return calls
}

// finish returns the finish reason of an answer.
func finish(a wire.Answer) *string {
	reason := "stop"
	switch {
	case len(a.Pending) > 0:
		reason = "tool_calls"
	case a.Stop == string(firn.StopLength):
		reason = "length"
	}
	return &reason
}

// stream answers with server-sent events.
func (c *completion) stream(p *conversation.Placed, terms wire.TurnOptions) error {
	done, err := c.v.Run(p, terms, c)
	if err != nil {
		return c.endWithError(err)
	}
	c.v.Remember(p, done)
	c.KeepAlive()
	if calls := chatCalls(done.Answer.Pending, true); len(calls) > 0 {
		c.sendDelta(chatDelta{ToolCalls: calls}, nil)
	}
	c.sendDelta(chatDelta{}, finish(done.Answer))
	if c.usage {
		usage := usageOf(done.Answer.Usage)
		c.send(chatAnswer{Choices: []chatChoice{}, Usage: &usage, Firn: locationOf(p, done.Answer.Entry)})
	}
	c.v.Write([]byte("data: [DONE]\n\n"))
	return nil
}

// endWithError ends a stream after an error. If nothing was sent yet, the error is returned
// and gets its own HTTP status.
func (c *completion) endWithError(err error) error {
	if !c.v.Started {
		return err
	}
	failure, _ := failureOf(err)
	if data, err := wire.Marshal(failure); err == nil {
		c.v.Write(sse.Append(nil, sse.Event{Data: data}))
	}
	return nil
}

// KeepAlive starts the stream if it has not started. Otherwise it sends an empty comment, so
// that the connection stays open.
func (c *completion) KeepAlive() {
	if c.v.Started {
		c.v.Write([]byte(":\n\n"))
		return
	}
	c.v.BeginStream()
	empty := ""
	c.sendDelta(chatDelta{Role: "assistant", Content: &empty}, nil)
}

// Entry does nothing: the ID of a chat completion is that of its question.
func (c *completion) Entry(firn.EntryID) {}

// Text sends a part of the answer. round is true for the first part of a further answer in
// the same turn.
func (c *completion) Text(piece string, round bool) {
	if !c.v.Started {
		c.KeepAlive()
	}
	if round {
		piece = conversation.RoundBreak + piece
	}
	c.sendDelta(chatDelta{Content: &piece}, nil)
}

// Think sends a part of the reasoning, in a member that some clients support.
func (c *completion) Think(piece string) {
	if !c.v.Started {
		c.KeepAlive()
	}
	c.sendDelta(chatDelta{Reasoning: piece}, nil)
}

func (c *completion) sendDelta(delta chatDelta, finish *string) {
	c.send(chatAnswer{Choices: []chatChoice{{Delta: &delta, FinishReason: finish}}})
}

// send sends a chunk.
func (c *completion) send(a chatAnswer) {
	a.ID, a.Object, a.Created, a.Model = c.id, "chat.completion.chunk", c.created, c.model
	data, err := wire.Marshal(a)
	if err != nil { // cannot happen: all values marshal
		data = json.RawMessage("{}")
	}
	c.v.Write(sse.Append(nil, sse.Event{Data: data}))
}
