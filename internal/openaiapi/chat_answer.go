package openaiapi

import (
	"encoding/json"
	"net/http"

	"firn"
	"firn/internal/sse"
	"firn/wire"
)

// completion is the answer to a request for a chat completion.
type completion struct {
	v *visit
	// usage says that a stream ends with what was used.
	usage   bool
	id      string
	model   string
	created int64
}

// chatAnswer is an answer, or a piece of one.
type chatAnswer struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
	// Firn tells where the conversation is kept.
	Firn *kept `json:"firn,omitempty"`
}

// kept is where a conversation is kept.
type kept struct {
	Session firn.ID      `json:"session"`
	Entry   firn.EntryID `json:"entry,omitempty"`
}

type chatChoice struct {
	Index   int        `json:"index"`
	Message *chatReply `json:"message,omitempty"`
	Delta   *chatDelta `json:"delta,omitempty"`
	// Logprobs is always null: they are not told.
	Logprobs     *struct{} `json:"logprobs"`
	FinishReason *string   `json:"finish_reason"`
}

// chatReply is what the assistant says.
type chatReply struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Refusal   *string    `json:"refusal"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

// chatDelta is a piece of it.
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

// whole is the answer in one piece.
func (c *completion) whole(t *turn, id firn.ID) chatAnswer {
	reply := &chatReply{Role: "assistant", ToolCalls: chatCalls(t.answer.Pending, false)}
	if text := joinRounds(t.said); text != "" || len(reply.ToolCalls) == 0 {
		reply.Content = &text
	}
	usage := usageOf(t.answer.Usage)
	return chatAnswer{
		ID: c.id, Object: "chat.completion", Created: c.created, Model: c.model, Usage: &usage,
		Choices: []chatChoice{{Message: reply, FinishReason: finish(t.answer)}},
		Firn:    &kept{Session: id, Entry: t.answer.Entry},
	}
}

// chatCalls are calls that the client is to run.
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

// finish says why an answer ended.
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

// stream answers with events.
func (c *completion) stream(p *placed, terms wire.Terms) error {
	done, err := c.v.run(p, terms, c)
	if err != nil {
		return c.broken(err)
	}
	c.v.remember(p, done)
	c.begin()
	if calls := chatCalls(done.answer.Pending, true); len(calls) > 0 {
		c.tell(chatDelta{ToolCalls: calls}, nil)
	}
	c.tell(chatDelta{}, finish(done.answer))
	if c.usage {
		usage := usageOf(done.answer.Usage)
		c.send(chatAnswer{Choices: []chatChoice{}, Usage: &usage, Firn: &kept{Session: p.at.session, Entry: done.answer.Entry}})
	}
	c.write([]byte("data: [DONE]\n\n"))
	return nil
}

// broken ends a stream that broke off. If nothing was sent yet, the error has a
// status of its own.
func (c *completion) broken(err error) error {
	if !c.v.begun {
		return err
	}
	failure, _ := failureOf(err)
	if data, err := wire.Spell(failure); err == nil {
		c.write(sse.Append(nil, sse.Event{Data: data}))
	}
	return nil
}

// begin begins the stream; later it shows that it is alive.
func (c *completion) begin() {
	if c.v.begun {
		c.write([]byte(":\n\n"))
		return
	}
	c.v.beginStream()
	empty := ""
	c.tell(chatDelta{Role: "assistant", Content: &empty}, nil)
}

// text tells a piece of the answer.
func (c *completion) text(piece string, round bool) {
	if !c.v.begun {
		c.begin()
	}
	if round {
		piece = roundBreak + piece
	}
	c.tell(chatDelta{Content: &piece}, nil)
}

// think tells what the model says to itself, in a member that some clients know.
func (c *completion) think(piece string) {
	if !c.v.begun {
		c.begin()
	}
	c.tell(chatDelta{Reasoning: piece}, nil)
}

func (c *completion) tell(delta chatDelta, finish *string) {
	c.send(chatAnswer{Choices: []chatChoice{{Delta: &delta, FinishReason: finish}}})
}

// send sends a piece.
func (c *completion) send(a chatAnswer) {
	a.ID, a.Object, a.Created, a.Model = c.id, "chat.completion.chunk", c.created, c.model
	data, err := wire.Spell(a)
	if err != nil { // there is nothing in it that has no spelling
		data = json.RawMessage("{}")
	}
	c.write(sse.Append(nil, sse.Event{Data: data}))
}

func (c *completion) write(b []byte) { c.v.write(b) }

// beginStream begins an answer that is a stream of events.
func (v *visit) beginStream() {
	v.begun = true
	v.w.Header().Set("Content-Type", "text/event-stream")
	v.w.WriteHeader(http.StatusOK)
}

// write writes a piece of a stream. Who is gone is noticed by its request.
func (v *visit) write(b []byte) {
	if _, err := v.w.Write(b); err == nil {
		_ = http.NewResponseController(v.w).Flush()
	}
}
