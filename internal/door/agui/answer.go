package agui

import (
	"encoding/json"

	"firn.dev"
	"firn.dev/internal/base/sse"
	"firn.dev/internal/door/conversation"
	"firn.dev/wire"
)

// event is an event of a run. Members that do not belong to its type are empty.
type event struct {
	Type      string   `json:"type"`
	Thread    string   `json:"threadId,omitempty"`
	Run       string   `json:"runId,omitempty"`
	Message   string   `json:"messageId,omitempty"`
	Role      string   `json:"role,omitempty"`
	Delta     string   `json:"delta,omitempty"`
	Call      string   `json:"toolCallId,omitempty"`
	CallName  string   `json:"toolCallName,omitempty"`
	Parent    string   `json:"parentMessageId,omitempty"`
	Content   *string  `json:"content,omitempty"`
	Outcome   *outcome `json:"outcome,omitempty"`
	Usage     []usage  `json:"usage,omitempty"`
	Reason    string   `json:"message,omitempty"`
	ErrorCode string   `json:"code,omitempty"`
}

// outcome is how a run ended. Pending are the calls that the client must run.
type outcome struct {
	Type    string   `json:"type"`
	Pending []string `json:"pendingToolCallIds,omitempty"`
}

// usage are the tokens that a model used.
type usage struct {
	Provider   string `json:"provider,omitempty"`
	Model      string `json:"model,omitempty"`
	Input      int64  `json:"inputTokens"`
	Output     int64  `json:"outputTokens"`
	CacheRead  int64  `json:"cachedInputTokens"`
	CacheWrite int64  `json:"cacheWriteInputTokens"`
}

// open is the kind of the message that is being sent.
type open int

const (
	nothing open = iota
	text
	reasoning
)

// answer sends the progress of a turn as events.
type answer struct {
	v           *conversation.Request
	thread, run string
	// entry is the ID of the current answer, sent the message in progress, and open its kind.
	entry firn.EntryID
	sent  string
	open  open
}

var _ conversation.ToolListener = (*answer)(nil)

// send sends an event.
func (a *answer) send(e event) {
	if !a.v.Started {
		a.v.BeginStream()
		a.send(event{Type: "RUN_STARTED", Thread: a.thread, Run: a.run})
	}
	data, err := wire.Marshal(e)
	if err != nil { // cannot happen: all values marshal
		data = json.RawMessage("{}")
	}
	a.v.Write(sse.Append(nil, sse.Event{Data: data}))
}

// KeepAlive starts the stream, and later sends a comment, which readers ignore.
func (a *answer) KeepAlive() {
	if !a.v.Started {
		a.v.BeginStream()
		a.send(event{Type: "RUN_STARTED", Thread: a.thread, Run: a.run})
		return
	}
	a.v.Write([]byte(":\n\n"))
}

// Entry receives the ID of the answer that follows.
func (a *answer) Entry(id firn.EntryID) {
	if id != "" && id != a.entry {
		a.close()
		a.entry = id
	}
}

// Text sends a part of the answer. A further answer of the turn is a message of its own.
func (a *answer) Text(piece string, round bool) {
	if round || a.open != text {
		a.close()
		a.open, a.sent = text, a.messageID("")
		a.send(event{Type: "TEXT_MESSAGE_START", Message: a.sent, Role: "assistant"})
	}
	a.send(event{Type: "TEXT_MESSAGE_CONTENT", Message: a.sent, Delta: piece})
}

// Think sends a part of the reasoning.
func (a *answer) Think(piece string) {
	if piece == "" {
		return
	}
	if a.open != reasoning {
		a.close()
		a.open, a.sent = reasoning, a.messageID("-reasoning")
		a.send(event{Type: "REASONING_START", Message: a.sent})
		a.send(event{Type: "REASONING_MESSAGE_START", Message: a.sent, Role: "reasoning"})
	}
	a.send(event{Type: "REASONING_MESSAGE_CONTENT", Message: a.sent, Delta: piece})
}

// messageID returns the ID of a message of the current answer.
func (a *answer) messageID(suffix string) string {
	if a.entry == "" {
		a.entry = firn.NewEntryID()
	}
	return string(a.entry) + suffix
}

// close ends the message in progress.
func (a *answer) close() {
	switch a.open {
	case text:
		a.send(event{Type: "TEXT_MESSAGE_END", Message: a.sent})
	case reasoning:
		a.send(event{Type: "REASONING_MESSAGE_END", Message: a.sent})
		a.send(event{Type: "REASONING_END", Message: a.sent})
	}
	a.open = nothing
}

// ToolStarted sends a call of a tool of the agent.
func (a *answer) ToolStarted(call wire.Tool) {
	a.close()
	a.call(call)
}

// ToolCompleted sends the result of a call.
func (a *answer) ToolCompleted(call wire.Tool) {
	a.close()
	a.send(event{Type: "TOOL_CALL_RESULT", Message: call.Call + "-result", Call: call.Call, Role: "tool", Content: &call.Text})
}

// call sends a call with its arguments.
func (a *answer) call(call wire.Tool) {
	a.send(event{Type: "TOOL_CALL_START", Call: call.Call, CallName: call.Name, Parent: string(a.entry)})
	if len(call.Arguments) > 0 {
		a.send(event{Type: "TOOL_CALL_ARGS", Call: call.Call, Delta: string(call.Arguments)})
	}
	a.send(event{Type: "TOOL_CALL_END", Call: call.Call})
}

// end ends the run with the calls that the client must run, and the token usage.
func (a *answer) end(done wire.Answer) {
	a.close()
	result := outcome{Type: "success"}
	for _, call := range done.Pending {
		a.call(call)
		result.Pending = append(result.Pending, call.Call)
	}
	u := done.Usage
	a.send(event{Type: "RUN_FINISHED", Thread: a.thread, Run: a.run, Outcome: &result, Usage: []usage{
		{Provider: done.Provider, Model: done.Model, Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite},
	}})
}

// fail ends the run with an error. If nothing was sent yet, the error is returned and gets
// its own HTTP status.
func (a *answer) fail(err error) error {
	if !a.v.Started {
		return err
	}
	a.close()
	p, _ := conversation.ProblemOf(err)
	reason := p.Message
	if p.Hint != "" {
		reason += "; " + p.Hint
	}
	a.send(event{Type: "RUN_ERROR", Reason: reason, ErrorCode: string(p.Kind)})
	return nil
}
