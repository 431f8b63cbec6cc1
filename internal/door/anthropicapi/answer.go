package anthropicapi

import (
	"encoding/json"
	"net/http"

	"firn.dev"
	"firn.dev/internal/base/sse"
	"firn.dev/internal/door/conversation"
	"firn.dev/wire"
)

// message is an answer.
type message struct {
	ID           string   `json:"id"`
	Type         string   `json:"type"`
	Role         string   `json:"role"`
	Model        string   `json:"model"`
	Content      []any    `json:"content"`
	StopReason   *string  `json:"stop_reason"`
	StopSequence *string  `json:"stop_sequence"`
	Usage        usage    `json:"usage"`
	Firn         location `json:"firn"`
}

// location identifies the session and entry of a conversation.
type location struct {
	Session firn.ID      `json:"session"`
	Entry   firn.EntryID `json:"entry,omitempty"`
}

type usage struct {
	InputTokens   int64 `json:"input_tokens"`
	CacheCreation int64 `json:"cache_creation_input_tokens"`
	CacheRead     int64 `json:"cache_read_input_tokens"`
	OutputTokens  int64 `json:"output_tokens"`
}

// The blocks of an answer.
type (
	textBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	// thinkingBlock has no signature: the client need not send thinking back.
	thinkingBlock struct {
		Type      string `json:"type"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
	}
	toolUseBlock struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
)

// answer is an answer in progress. It collects the blocks, and sends events if the client
// requested a stream.
type answer struct {
	v      *conversation.Request
	stream bool
	// thinking is true if the client asked for the model's thinking.
	thinking bool
	m        message
	// open is the type of the block in progress, which is the last one; empty if there is
	// none. text is its text so far.
	open string
	text string
}

func newAnswer(v *conversation.Request, stream, thinking bool, m message) *answer {
	m.Type, m.Role, m.Content = "message", "assistant", []any{}
	return &answer{v: v, stream: stream, thinking: thinking, m: m}
}

// run runs the turn and answers with its result.
func (a *answer) run(p *conversation.Placed, options wire.TurnOptions) error {
	done, err := a.v.Run(p, options, a)
	if err != nil {
		return a.endWithError(err)
	}
	a.v.Remember(p, done)
	if a.stream && !a.v.Started {
		a.KeepAlive()
	}
	a.end(done.Answer)
	if a.stream {
		return nil
	}
	return a.v.Reply(http.StatusOK, a.m)
}

// endWithError ends a stream after an error. If nothing was sent yet, the error is returned
// and gets its own HTTP status.
func (a *answer) endWithError(err error) error {
	if !a.v.Started {
		return err
	}
	failure, _ := failureOf(err)
	a.send("error", failure)
	return nil
}

// event is an event of a stream.
type event struct {
	Type    string   `json:"type"`
	Message *message `json:"message,omitempty"`
	Index   *int     `json:"index,omitempty"`
	Block   any      `json:"content_block,omitempty"`
	Delta   any      `json:"delta,omitempty"`
	Usage   *usage   `json:"usage,omitempty"`
}

// The deltas of blocks and of the message.
type (
	textDelta struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	thinkingDelta struct {
		Type     string `json:"type"`
		Thinking string `json:"thinking"`
	}
	inputDelta struct {
		Type string `json:"type"`
		JSON string `json:"partial_json"`
	}
	messageDelta struct {
		StopReason   *string `json:"stop_reason"`
		StopSequence *string `json:"stop_sequence"`
	}
)

// send sends an event of a stream.
func (a *answer) send(name string, data any) {
	if !a.stream {
		return
	}
	encoded, err := wire.Marshal(data)
	if err != nil { // cannot happen: all values marshal
		encoded = json.RawMessage("{}")
	}
	a.v.Write(sse.Append(nil, sse.Event{Name: name, Data: encoded}))
}

func (a *answer) sendEvent(e event) { a.send(e.Type, e) }

// KeepAlive starts the stream, and later sends a sign of life.
func (a *answer) KeepAlive() {
	if !a.stream {
		return
	}
	if !a.v.Started {
		a.v.BeginStream()
		a.sendEvent(event{Type: "message_start", Message: &a.m})
	}
	a.sendEvent(event{Type: "ping"})
}

// Entry does nothing: the ID of a message is that of its question.
func (a *answer) Entry(firn.EntryID) {}

// Text adds a part of the answer. A further answer in the same turn is a new block.
func (a *answer) Text(piece string, round bool) { a.piece("text", piece, round) }

// Think adds a part of the thinking, if the client asked for it.
func (a *answer) Think(piece string) {
	if a.thinking {
		a.piece("thinking", piece, false)
	}
}

// piece adds text to the open block. It starts a new block if none, or one of another type,
// is open.
func (a *answer) piece(kind, piece string, anew bool) {
	if a.stream && !a.v.Started {
		a.KeepAlive()
	}
	if a.open != kind || anew {
		a.close()
		a.open = kind
		a.start(filled(kind, ""))
	}
	a.text += piece
	at := len(a.m.Content)
	var delta any = textDelta{"text_delta", piece}
	if kind == "thinking" {
		delta = thinkingDelta{"thinking_delta", piece}
	}
	a.sendEvent(event{Type: "content_block_delta", Index: &at, Delta: delta})
}

// filled returns a block of text or thinking.
func filled(kind, text string) any {
	if kind == "thinking" {
		return thinkingBlock{Type: kind, Thinking: text}
	}
	return textBlock{kind, text}
}

// start announces the next block.
func (a *answer) start(block any) {
	at := len(a.m.Content)
	a.sendEvent(event{Type: "content_block_start", Index: &at, Block: block})
}

// stop ends the block that was announced.
func (a *answer) stop(block any) {
	at := len(a.m.Content)
	a.sendEvent(event{Type: "content_block_stop", Index: &at})
	a.m.Content = append(a.m.Content, block)
}

// close ends the open block.
func (a *answer) close() {
	if a.open != "" {
		a.stop(filled(a.open, a.text))
	}
	a.open, a.text = "", ""
}

// end ends the answer with the calls that the client must run, and the token usage.
func (a *answer) end(done wire.Answer) {
	a.close()
	for _, call := range done.Pending {
		a.call(call)
	}
	reason := stopReason(done)
	a.m.StopReason = &reason
	a.m.Usage = usage{InputTokens: done.Usage.Input, CacheCreation: done.Usage.CacheWrite, CacheRead: done.Usage.CacheRead, OutputTokens: done.Usage.Output}
	a.m.Firn.Entry = done.Entry
	a.sendEvent(event{Type: "message_delta", Delta: messageDelta{StopReason: &reason}, Usage: &a.m.Usage})
	a.sendEvent(event{Type: "message_stop"})
}

// stopReason returns the reason for which an answer ended.
func stopReason(done wire.Answer) string {
	switch {
	case len(done.Pending) > 0:
		return "tool_use"
	case done.Stop == string(firn.StopLength):
		return "max_tokens"
	}
	return "end_turn"
}

// call adds a tool call.
func (a *answer) call(c wire.Tool) {
	block := toolUseBlock{Type: "tool_use", ID: c.Call, Name: c.Name, Input: json.RawMessage("{}")}
	a.start(block)
	at := len(a.m.Content)
	a.sendEvent(event{Type: "content_block_delta", Index: &at, Delta: inputDelta{"input_json_delta", string(c.Arguments)}})
	block.Input = c.Arguments
	a.stop(block)
}
