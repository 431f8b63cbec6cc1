package agent

import (
	"encoding/json"
	"time"

	"firn.dev"
	"firn.dev/provider"
)

// Event is an event of a turn. The set is closed: the types of this file.
type Event interface{ event() }

// Started is the first event: the user's message is durable.
type Started struct {
	Session firn.ID
	// Entry is the user's message; empty if the turn continues an unanswered one. Repeated
	// means that it was already in the log.
	Entry    firn.EntryID
	Repeated bool
	// Recovered means that the previous turn was interrupted in the middle of an answer,
	// which is now marked.
	Recovered bool
}

// Appended reports that an entry is durable in the log.
type Appended struct {
	Entry firn.Entry
	// End is the position after the entry and all entries appended with it.
	End firn.Pos
}

// Delta is a piece of a streaming answer. An answer that starts with [NoReply] produces no
// text; one that ends with it has already been shown.
type Delta struct {
	// Entry is the ID that the answer will have in the log.
	Entry firn.EntryID
	// Thinking marks text of the model's reasoning.
	Thinking bool
	Text     string
}

// Interrupted reports that an answer was cut off. The partial answer is in the log with a
// mark and is not sent to the model again.
type Interrupted struct {
	Entry firn.EntryID
	Err   error
}

// Retrying reports that the model will be called again.
type Retrying struct{ provider.Retrying }

// ToolStarted reports that a tool starts to run; the call is durable.
type ToolStarted struct {
	Call      string
	Name      string
	Arguments json.RawMessage
}

// ApprovalRequested reports that a call waits for the answer of a user. The question is
// durable.
type ApprovalRequested struct{ Question }

// ApprovalAnswered reports that the answer to a question is durable.
type ApprovalAnswered struct{ Answer }

// ToolProgress is output of a running tool, for display only: the result contains it too.
type ToolProgress struct{ Call, Name, Text string }

// ToolDone reports that a tool has finished. The events of one answer arrive in the order
// of completion; the results are stored in the order of the calls.
type ToolDone struct {
	Call, Name string
	State      CallState
	// Text is the text of the result as sent to the model.
	Text string
	Took time.Duration
	// Details is the tool's own data, for display.
	Details json.RawMessage
}

// WindowUsage reports how full the model's window is after an answer.
type WindowUsage struct {
	Tokens, Window int64
	// Estimated means that Tokens was not reported by the provider.
	Estimated bool
	// Usage is the usage of the answer.
	Usage *firn.Usage
}

// CompactionStarted reports the start of a compaction.
type CompactionStarted struct {
	Reason string
	Tokens int64
}

// CompactionDone reports the end of a compaction.
type CompactionDone struct {
	Entry         firn.EntryID
	Before, After int64
	// Count is the number of compactions on the branch.
	Count    int
	Strategy string
	// Failure is why the summary was made without a model; nil if a model made it or none
	// was called.
	Failure error
	// Err is why the compaction failed.
	Err error
}

// CompactionDue reports that compaction is due, if the mode is compact.Suggest.
type CompactionDue struct{ Tokens, Limit int64 }

// Flushed reports that the agent was given a turn to write notes before a compaction.
type Flushed struct {
	// Notes is the number of notes written.
	Notes int
	Err   error
}

// Notice is a sentence for the user. With a level it is a warning; without, it is meant for
// verbose sessions.
type Notice struct {
	Text  string
	Level Level
}

// Finished is the last event of a successful turn.
type Finished struct{ Outcome }

// Outcome is the result of a turn.
type Outcome struct {
	// Text is the final answer; Entry is its entry in the log.
	Text  string
	Entry firn.EntryID
	// Provider and Model identify the model that gave the answer.
	Provider, Model string
	// Silent means that the answer is not for the user.
	Silent bool
	// Usage is the sum of all answers of the turn and its other model calls.
	Usage firn.Usage
	// Rounds is the number of model calls, Calls the number of tool calls.
	Rounds, Calls int
	Stop          firn.StopReason
	// Pending are the calls of the caller's tools if the turn ended with any.
	Pending []firn.ToolCall
	// Err is set if the turn failed; nil in Finished.
	Err error
}

func (Started) event()           {}
func (Appended) event()          {}
func (Delta) event()             {}
func (Interrupted) event()       {}
func (Retrying) event()          {}
func (ToolStarted) event()       {}
func (ApprovalRequested) event() {}
func (ApprovalAnswered) event()  {}
func (ToolProgress) event()      {}
func (ToolDone) event()          {}
func (WindowUsage) event()       {}
func (CompactionStarted) event() {}
func (CompactionDone) event()    {}
func (CompactionDue) event()     {}
func (Flushed) event()           {}
func (Notice) event()            {}
func (Finished) event()          {}
