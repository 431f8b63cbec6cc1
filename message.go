package firn

import (
	"encoding/json"
	"strings"
	"time"
)

// ResponseIDField is the extra field of an assistant's message that holds the
// id which the provider gave to its answer. Messages that follow each other and
// have the same are pieces of one answer; only the first of them has the usage.
const ResponseIDField = "responseId"

// Message is something said to or by a model.
type Message struct {
	Role  Role
	Parts []Part
	// Time is when it was said; the entry's time is when it was written.
	Time time.Time
	// API, Provider and Model say who answered; only on assistant messages.
	API, Provider, Model string
	// Usage is what the answer cost, as the provider reported it.
	Usage *Usage
	// StopReason says why the assistant stopped.
	StopReason StopReason
	// Error is what went wrong when StopReason is StopError or StopAborted.
	Error string
	// Extra holds members of the message that we have no field for.
	Extra Fields
}

// Kind returns KindMessage.
func (*Message) Kind() Kind { return KindMessage }

// Role says who speaks.
type Role string

// The roles of messages. Others may be read; they are kept and not sent.
const (
	RoleUser       Role = "user"
	RoleAssistant  Role = "assistant"
	RoleToolResult Role = "toolResult"
	RoleShell      Role = "bashExecution"
	RoleSystem     Role = "system"
)

// StopReason says why an assistant's message ended.
type StopReason string

// Why an assistant's message ended.
const (
	StopEnd     StopReason = "stop"
	StopLength  StopReason = "length"
	StopToolUse StopReason = "toolUse"
	StopError   StopReason = "error"
	StopAborted StopReason = "aborted"
)

// Usage counts tokens of one answer.
type Usage struct {
	Input, Output         int64
	CacheRead, CacheWrite int64
	// Total is the size of the conversation after the answer; old files lack it.
	Total int64
	Cost  Cost
	// Extra holds members of the usage that we have no field for.
	Extra Fields
}

// Context is how many tokens the conversation had when the answer was given.
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

// Part is a piece of a message: [Text], [Image], [Thinking], [ToolCall],
// [ToolResult], [Shell] or [OpaquePart]. The set is closed.
type Part interface{ part() }

// Text is plain text.
type Text struct {
	Text string
	// Signature is a provider's private mark; only the same model may get it back.
	Signature string
	Extra     Fields
}

// Image is a picture, as base64 in Data.
type Image struct {
	MimeType string
	Data     string
	Extra    Fields
}

// Thinking is what a model said to itself.
type Thinking struct {
	Text string
	// Signature proves to the provider that the text is its own, unchanged.
	Signature string
	// Redacted thinking has no readable text; Signature holds all of it.
	Redacted bool
	Extra    Fields
}

// ToolCall asks for a tool to be run.
type ToolCall struct {
	ID, Name string
	// Arguments is a JSON object, byte for byte as the model gave it.
	Arguments json.RawMessage
	// Signature is a provider's private mark; only the same model may get it back.
	Signature string
	Extra     Fields
}

// ToolResult answers a ToolCall. It is the one part of a message of RoleToolResult.
type ToolResult struct {
	CallID, Name string
	Content      []Part
	IsError      bool
	// Details is for people and programs; a model never sees it.
	Details json.RawMessage
}

// Shell is a command the user ran beside the conversation, and what it
// printed. It is the one part of a message of RoleShell.
type Shell struct {
	Command, Output string
	// ExitCode is nil while running or when the command was killed.
	ExitCode             *int
	Cancelled, Truncated bool
	// FullOutput is a file with all of the output when it was truncated.
	FullOutput string
	// Hidden output is never sent to a model.
	Hidden bool
}

// OpaquePart is a piece of a kind we do not know. It is kept and not sent, but for documents.
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

// JoinText joins the text parts among parts, a line break between each two.
func JoinText(parts []Part) string {
	var texts []string
	for _, p := range parts {
		if t, ok := p.(Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}
