package wire

import (
	"encoding/json"

	"firn.dev"
)

// Event is an event of a session's stream. Its id in the stream is a position:
// who comes back with the last id it saw misses nothing that is in the log.
// What is not in the log (deltas and the like) has no id of its own and is not
// repeated.
type Event struct {
	// Name is one of the names below.
	Name    string   `json:"name"`
	Session firn.ID  `json:"session,omitempty"`
	Pos     firn.Pos `json:"pos,omitempty"`
	// Data depends on the name.
	Data json.RawMessage `json:"data,omitempty"`
}

// The names of events, and what their data is.
const (
	EntryAppended       = "entry.appended"       // Entry
	HeadMoved           = "head.moved"           // Entry
	DeltaText           = "delta.text"           // Delta
	DeltaThinking       = "delta.thinking"       // Delta
	DeltaHTML           = "delta.html"           // Growth, instead of both on streams for pages
	TurnPartial         = "turn.partial"         // Partial, to who begins to listen while a turn runs
	ToolStarted         = "tool.started"         // Tool
	ToolCompleted       = "tool.completed"       // Tool
	TurnStarted         = "turn.started"         // Answer, as far as it is known
	TurnCompleted       = "turn.completed"       // Answer
	TurnFailed          = "turn.failed"          // Problem
	TurnQueued          = "turn.queued"          // Answer
	WindowUsage         = "window.usage"         // Usage
	CompactionStarted   = "compaction.started"   // Compaction
	CompactionCompleted = "compaction.completed" // Compaction
	CompactionUndone    = "compaction.undone"    // Compaction
	SessionUpdated      = "session.updated"      // Session
	Retry               = "retry"                // Notice
	NoticeGiven         = "notice"               // Notice
	Gap                 = "gap"                  // Missed; the client was too slow: fetch what is missing from Pos on
	Bye                 = "bye"                  // the gateway is going away
)

// Delta is a piece of an answer.
type Delta struct {
	Text string `json:"text"`
	// Entry is the name that the answer will have in the log.
	Entry firn.EntryID `json:"entry,omitempty"`
}

// Tool is a tool call on its way.
type Tool struct {
	Call      string          `json:"call"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// State, Text and Ms are told when it is done.
	State string `json:"state,omitempty"`
	Text  string `json:"text,omitempty"`
	Ms    int64  `json:"ms,omitempty"`
}

// Missed is what a gap tells besides where it is.
type Missed struct {
	// Anew says that the session is kept elsewhere now, and that every position
	// has changed: forget what was fetched, and fetch it from the start.
	Anew bool `json:"anew,omitempty"`
}

// Notice is a sentence for the user.
type Notice struct {
	Text string `json:"text"`
	// Level is that of a warning, as in [Usage]; empty if it is none.
	Level string `json:"level,omitempty"`
}

// Compaction is a compaction, or one that failed.
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
	// Undone says that it does not count any more; Current that it is the one
	// in force.
	Undone  bool   `json:"undone,omitempty"`
	Current bool   `json:"current,omitempty"`
	At      string `json:"at,omitempty"`
	Error   string `json:"error,omitempty"`
	// Failure says why the summary was made without a model.
	Failure string `json:"failure,omitempty"`
}
