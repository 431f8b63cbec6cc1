package agent

import (
	"encoding/json"
	"time"

	"firn.dev"
)

// Event is something that happened in a turn. The set is closed: the types of
// this file.
type Event interface{ event() }

// Started says that the user's message is durable. It comes first.
type Started struct {
	Session firn.ID
	// Entry is the user's message; empty if the turn goes on with what was
	// not answered. Repeated says that it was in the log already.
	Entry    firn.EntryID
	Repeated bool
	// Recovered says that the turn before was interrupted in the middle of an
	// answer, which is now marked so.
	Recovered bool
}

// Appended says that an entry is in the log and durable.
type Appended struct {
	Entry firn.Entry
	// End is the position behind it and behind what was appended with it.
	End firn.Pos
}

// Delta is a piece of an answer as it comes. Of an answer that begins with
// [NoReply] nothing comes as text; one that only ends with it was shown by then.
type Delta struct {
	// Entry is the name that the answer will have in the log.
	Entry firn.EntryID
	// Thinking says that the model says it to itself.
	Thinking bool
	Text     string
}

// Interrupted says that an answer broke off. What there was of it is in the
// log, marked, and the model will not see it again.
type Interrupted struct {
	Entry firn.EntryID
	Err   error
}

// Retrying says that the model will be asked again.
type Retrying struct {
	Attempt int
	Delay   time.Duration
	Err     error
}

// ToolStarted says that a tool begins to run; the call is durable.
type ToolStarted struct {
	Call      string
	Name      string
	Arguments json.RawMessage
}

// ToolDone says that a tool is done. Those of one answer come in the order
// they end in; their results are stored in the order of the calls.
type ToolDone struct {
	Call, Name string
	State      CallState
	// Text is what the model is told, as far as it is text.
	Text string
	Took time.Duration
}

// WindowUsage tells how full the model's window is, after each answer.
type WindowUsage struct {
	Tokens, Window int64
	// Estimated says that Tokens is not what the provider reported.
	Estimated bool
	// Usage is what the answer cost.
	Usage *firn.Usage
}

// CompactionStarted says that a compaction begins.
type CompactionStarted struct {
	Reason string
	Tokens int64
}

// CompactionDone says how a compaction ended.
type CompactionDone struct {
	Entry         firn.EntryID
	Before, After int64
	// Count is how many compactions the branch has had.
	Count    int
	Strategy string
	// Failure says why the summary was made without a model; nil if a model made it, or
	// none was asked.
	Failure error
	// Err says why there is none.
	Err error
}

// CompactionDue says that it is time to compact, to who wants to be asked.
type CompactionDue struct{ Tokens, Limit int64 }

// Flushed says that the agent was given time to write down what it wants to
// keep, before a compaction.
type Flushed struct {
	// Notes is how many notes it wrote.
	Notes int
	Err   error
}

// Notice is a sentence for the user. With a level it is a warning; without, it is for
// sessions that are verbose.
type Notice struct {
	Text  string
	Level Level
}

// Finished ends a turn that went well. It comes last.
type Finished struct{ Outcome }

// Outcome is how a turn ended.
type Outcome struct {
	// Text is the final answer; Entry its place in the log.
	Text  string
	Entry firn.EntryID
	// Provider and Model say who gave it.
	Provider, Model string
	// Silent says that the answer is not for the user.
	Silent bool
	// Usage sums up all answers of the turn, and what was asked beside them.
	Usage firn.Usage
	// Rounds is how often the model was asked, Calls how many tools ran.
	Rounds, Calls int
	Stop          firn.StopReason
	// Pending are calls of the caller's tools, if the turn ended with some.
	Pending []firn.ToolCall
	// Err is set if the turn failed. Finished never has one.
	Err error
}

func (Started) event()           {}
func (Appended) event()          {}
func (Delta) event()             {}
func (Interrupted) event()       {}
func (Retrying) event()          {}
func (ToolStarted) event()       {}
func (ToolDone) event()          {}
func (WindowUsage) event()       {}
func (CompactionStarted) event() {}
func (CompactionDone) event()    {}
func (CompactionDue) event()     {}
func (Flushed) event()           {}
func (Notice) event()            {}
func (Finished) event()          {}
