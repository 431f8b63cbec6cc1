package openaiapi

import (
	"encoding/json"
	"net/http"

	"firn.dev"
	"firn.dev/internal/base/sse"
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
func (c *completion) whole(t *turn, id firn.ID) chatAnswer {
	reply := &chatReply{Role: "assistant", ToolCalls: chatCalls(t.answer.Pending, false)}
	if text := joinRounds(t.rounds); text != "" || len(reply.ToolCalls) == 0 {
		reply.Content = &text
	}
	usage := usageOf(t.answer.Usage)
	return chatAnswer{
		ID: c.id, Object: "chat.completion", Created: c.created, Model: c.model, Usage: &usage,
		Choices: []chatChoice{{Message: reply, FinishReason: finish(t.answer)}},
		Firn:    &location{Session: id, Entry: t.answer.Entry},
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
func (c *completion) stream(p *placed, terms wire.TurnOptions) error {
	done, err := c.v.run(p, terms, c)
	if err != nil {
		return c.endWithError(err)
	}
	c.v.remember(p, done)
	c.keepAlive()
	if calls := chatCalls(done.answer.Pending, true); len(calls) > 0 {
		c.sendDelta(chatDelta{ToolCalls: calls}, nil)
	}
	c.sendDelta(chatDelta{}, finish(done.answer))
	if c.usage {
		usage := usageOf(done.answer.Usage)
		c.send(chatAnswer{Choices: []chatChoice{}, Usage: &usage, Firn: &location{Session: p.at.session, Entry: done.answer.Entry}})
	}
	c.write([]byte("data: [DONE]\n\n"))
	return nil
}

// endWithError ends a stream after an error. If nothing was sent yet, the error is returned
// and gets its own HTTP status.
func (c *completion) endWithError(err error) error {
	if !c.v.started {
		return err
	}
	failure, _ := failureOf(err)
	if data, err := wire.Marshal(failure); err == nil {
		c.write(sse.Append(nil, sse.Event{Data: data}))
	}
	return nil
}

// keepAlive starts the stream if it has not started. Otherwise it sends an empty comment, so
// that the connection stays open.
func (c *completion) keepAlive() {
	if c.v.started {
		c.write([]byte(":\n\n"))
		return
	}
	c.v.beginStream()
	empty := ""
	c.sendDelta(chatDelta{Role: "assistant", Content: &empty}, nil)
}

// text sends a part of the answer. round is true for the first part of a further answer in
// the same turn.
func (c *completion) text(piece string, round bool) {
	if !c.v.started {
		c.keepAlive()
	}
	if round {
		piece = roundBreak + piece
	}
	c.sendDelta(chatDelta{Content: &piece}, nil)
}

// think sends a part of the reasoning, in a member that some clients support.
func (c *completion) think(piece string) {
	if !c.v.started {
		c.keepAlive()
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
	c.write(sse.Append(nil, sse.Event{Data: data}))
}

func (c *completion) write(b []byte) { c.v.write(b) }

// beginStream starts an event stream response.
func (v *exchange) beginStream() {
	v.started = true
	v.w.Header().Set("Content-Type", "text/event-stream")
	v.w.WriteHeader(http.StatusOK)
}

// write writes a part of a stream. Write errors are ignored: the request context is
// canceled when the client disconnects.
func (v *exchange) write(b []byte) {
	if _, err := v.w.Write(b); err == nil {
		_ = http.NewResponseController(v.w).Flush()
	}
}
