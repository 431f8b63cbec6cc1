package firn

import (
	"encoding/json"
	"strings"
	"time"
)

// ResponseIDField is the extra field of an assistant message that holds the provider's ID
// of the answer. Consecutive messages with the same ID are parts of one answer; only the
// first of them has the usage.
const ResponseIDField = "responseId"

// Message is a message to or from a model.
type Message struct {
	Role  Role
	Parts []Part
	// Time is when the message was created; the entry's time is when it was written.
	Time time.Time
	// API, Provider and Model identify the model that answered; only on assistant messages.
	API, Provider, Model string
	// Usage is the token usage of the answer, as reported by the provider.
	Usage *Usage
	// StopReason is why the assistant stopped.
	StopReason StopReason
	// Error is the error message if StopReason is StopError or StopAborted.
	Error string
	// Extra holds members of the message that have no field here.
	Extra Fields
}

// Kind returns KindMessage.
func (*Message) Kind() Kind { return KindMessage }

// Role is the role of a message's author.
type Role string

// The roles of messages. Messages with other roles are kept but not sent.
const (
	RoleUser       Role = "user"
	RoleAssistant  Role = "assistant"
	RoleToolResult Role = "toolResult"
	RoleShell      Role = "bashExecution"
	RoleSystem     Role = "system"
)

// StopReason is why an assistant message ended.
type StopReason string

// The reasons why an assistant message ends.
const (
	StopEnd     StopReason = "stop"
	StopLength  StopReason = "length"
	StopToolUse StopReason = "toolUse"
	StopError   StopReason = "error"
	StopAborted StopReason = "aborted"
)

// Usage counts the tokens of one answer.
type Usage struct {
	Input, Output         int64
	CacheRead, CacheWrite int64
	// Total is the size of the conversation after the answer; old files lack it.
	Total int64
	Cost  Cost
	// Extra holds members of the usage that have no field here.
	Extra Fields
}

// Context returns the size of the conversation in tokens after the answer.
func (u *Usage) Context() int64 {
	if u.Total > 0 {
		return u.Total
	}
	return u.Input + u.Output + u.CacheRead + u.CacheWrite
}

// Cost is the price of one answer in US dollars.
type Cost struct {
	Input, Output, CacheRead, CacheWrite, Total float64
}

// Part is a part of a message: [Text], [Image], [Thinking], [ToolCall], [ToolResult],
// [Shell] or [OpaquePart]. The set is closed. Parts are values, never pointers: a type
// switch has the case Text, not *Text.
type Part interface{ part() }

// Text is plain text.
type Text struct {
	Text string
	// Signature is an opaque value of the provider. It is returned only to the same model.
	Signature string
	Extra     Fields
}

// Image is an image; Data is base64.
type Image struct {
	MimeType string
	Data     string
	Extra    Fields
}

// Thinking is the reasoning of a model.
type Thinking struct {
	Text string
	// Signature proves to the provider that the text is unmodified.
	Signature string
	// Redacted thinking has no readable text; Signature holds all of it.
	Redacted bool
	Extra    Fields
}

// ToolCall is a model's request to run a tool.
type ToolCall struct {
	ID, Name string
	// Arguments is a JSON object, byte for byte as the model produced it.
	Arguments json.RawMessage
	// Signature is an opaque value of the provider. It is returned only to the same model.
	Signature string
	Extra     Fields
}

// ToolResult is the result of a ToolCall. It is the only part of a message of
// RoleToolResult.
type ToolResult struct {
	CallID, Name string
	Content      []Part
	IsError      bool
	// Details is for people and programs; it is never sent to a model.
	Details json.RawMessage
}

// Shell is a command that the user ran outside the conversation, with its output. It is the
// only part of a message of RoleShell.
type Shell struct {
	Command, Output string
	// ExitCode is nil while running or when the command was killed.
	ExitCode             *int
	Cancelled, Truncated bool
	// FullOutput is a file with the full output if it was truncated.
	FullOutput string
	// Hidden output is never sent to a model.
	Hidden bool
}

// OpaquePart is a part of an unknown kind. It is kept but not sent, except for documents.
type OpaquePart struct {
	Type string
	Raw  json.RawMessage
}

func (Text) part()       {}
func (Image) part()      {}
func (Thinking) part()   {}
func (ToolCall) part()   {}
func (ToolResult) part() {}
func (Shell) part()      {}
func (OpaquePart) part() {}

// JoinText joins the text parts among parts with line breaks.
func JoinText(parts []Part) string {
	var texts []string
	for _, p := range parts {
		if t, ok := p.(Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}
