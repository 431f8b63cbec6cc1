package wire

import (
	"encoding/json"

	"firn.dev"
)

// Event is an event of a session's stream. Its ID in the stream is a position: a client
// that reconnects with the last ID it saw misses nothing that is in the log. Events that
// are not in the log, such as deltas, have no ID of their own and are not repeated.
type Event struct {
	// Name is one of the names below.
	Name    string   `json:"name"`
	Session firn.ID  `json:"session,omitempty"`
	Pos     firn.Pos `json:"pos,omitempty"`
	// Data depends on the name.
	Data json.RawMessage `json:"data,omitempty"`
}

// DataOf decodes the data of an event. It returns the zero value if the data is not a T.
func DataOf[T any](e Event) T {
	var data T
	_ = json.Unmarshal(e.Data, &data)
	return data
}

// The names of events. The comments give the type of their data.
const (
	EntryAppended       = "entry.appended"       // Entry
	HeadMoved           = "head.moved"           // Entry
	DeltaText           = "delta.text"           // Delta
	DeltaThinking       = "delta.thinking"       // Delta
	DeltaHTML           = "delta.html"           // Growth; replaces both deltas on streams for pages
	TurnPartial         = "turn.partial"         // Partial; sent to a client that connects during a turn
	ToolStarted         = "tool.started"         // Tool
	ToolProgress        = "tool.progress"        // Tool; Text is output of the running call
	ToolCompleted       = "tool.completed"       // Tool
	ToolCall            = "tool.call"            // ClientCall; only to the client that offered the tool
	ToolCanceled        = "tool.canceled"        // ClientCall; likewise
	ApprovalRequested   = "approval.requested"   // Approval
	ApprovalAnswered    = "approval.answered"    // ApprovalAnswer
	TurnStarted         = "turn.started"         // Answer, as far as known
	TurnCompleted       = "turn.completed"       // Answer
	TurnFailed          = "turn.failed"          // Problem
	TurnQueued          = "turn.queued"          // Answer
	WindowUsage         = "window.usage"         // Usage
	CompactionStarted   = "compaction.started"   // Compaction
	CompactionCompleted = "compaction.completed" // Compaction
	CompactionUndone    = "compaction.undone"    // Compaction
	SessionUpdated      = "session.updated"      // Session
	Retry               = "retry"                // Notice
	NoticeEvent         = "notice"               // Notice
	Gap                 = "gap"                  // Missed; the client was too slow: fetch the entries from Pos on
	Bye                 = "bye"                  // the gateway is shutting down
)

// Delta is a piece of an answer.
type Delta struct {
	Text string `json:"text"`
	// Entry is the ID that the answer will have in the log.
	Entry firn.EntryID `json:"entry,omitempty"`
}

// Tool is a running tool call.
type Tool struct {
	Call      string          `json:"call"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// State, Text and Ms are set when it is done.
	State string `json:"state,omitempty"`
	Text  string `json:"text,omitempty"`
	Ms    int64  `json:"ms,omitempty"`
	// Diff is the change of a file as a unified diff, if the call made one.
	Diff string `json:"diff,omitempty"`
}

// Missed is the data of a gap event.
type Missed struct {
	// Anew means that the session was moved to another store and that all positions have
	// changed: discard everything and fetch it from the start.
	Anew bool `json:"anew,omitempty"`
}

// Notice is a sentence for the user.
type Notice struct {
	Text string `json:"text"`
	// Level is the level of a warning, as in [Usage]; empty if it is none.
	Level string `json:"level,omitempty"`
}

// Compaction is a compaction, possibly a failed one.
type Compaction struct {
	ID      firn.EntryID `json:"id,omitempty"`
	Summary string       `json:"summary,omitempty"`
	// Before and After are the tokens of the window.
	Before   int64  `json:"before,omitempty"`
	After    int64  `json:"after,omitempty"`
	Count    int    `json:"count,omitempty"`
	Strategy string `json:"strategy,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Model    string `json:"model,omitempty"`
	// Undone means that it was undone; Current that it is the one in effect.
	Undone  bool   `json:"undone,omitempty"`
	Current bool   `json:"current,omitempty"`
	At      string `json:"at,omitempty"`
	Error   string `json:"error,omitempty"`
	// Failure is why the summary was made without a model.
	Failure string `json:"failure,omitempty"`
}
