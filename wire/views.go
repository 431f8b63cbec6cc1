package wire

import (
	"encoding/json"
	"time"

	"firn.dev"
)

// NewEntries is a request to append entries: either lines of the native dialect or a user
// message.
type NewEntries struct {
	Entries []json.RawMessage `json:"entries,omitempty"`
	User    string            `json:"user,omitempty"`
}

// Moved is the result of moving the head of a session.
type Moved struct {
	Session firn.ID `json:"session"`
	// Entry is the entry that moved the head, To the new head; empty if it is before the
	// first entry.
	Entry firn.EntryID `json:"entry"`
	To    firn.EntryID `json:"to,omitempty"`
	// From is the old head. Moving the head back there undoes the move.
	From firn.EntryID `json:"from,omitempty"`
	// Left is the number of entries on the abandoned branch. Text is its first user
	// message, for editing and resending.
	Left int    `json:"left"`
	Text string `json:"text,omitempty"`
	// Summary is the summary of the abandoned branch, if requested.
	Summary string   `json:"summary,omitempty"`
	End     firn.Pos `json:"end"`
}

// Label is a request to label an entry; an empty name removes the label.
type Label struct {
	// Entry is a reference to an entry.
	Entry string `json:"entry"`
	Name  string `json:"name"`
}

// Hide is a request to hide an entry or to show it again.
type Hide struct {
	Entry  string `json:"entry"`
	Reason string `json:"reason,omitempty"`
}

// Remove is a request to remove a session.
type Remove struct {
	Reason string `json:"reason,omitempty"`
	// Bin moves its files to the trash bin; otherwise it is only hidden.
	Bin bool `json:"bin,omitempty"`
}

// Removed is the result of removing a session. No data is lost.
type Removed struct {
	Session firn.ID `json:"session"`
	Title   string  `json:"title,omitempty"`
	// Bin means that its files are in the trash bin; otherwise it is hidden.
	Bin bool `json:"bin,omitempty"`
	// Parts is the number of files, Files their paths, Bytes their size.
	Parts int      `json:"parts"`
	Files []string `json:"files,omitempty"`
	Bytes int64    `json:"bytes"`
	// BytesRemoved is the number of deleted bytes: always zero.
	BytesRemoved int64 `json:"bytesRemoved"`
}

// Receipt is the proof of a permanent erasure.
type Receipt struct {
	Session firn.ID        `json:"session"`
	Entries []firn.EntryID `json:"entries,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	// Begun is when it started; zero in a plan.
	Begun time.Time `json:"begun,omitzero"`
	// Done is zero while it is running; an interrupted purge can be requested again.
	Done  time.Time `json:"done,omitzero"`
	Bytes int64     `json:"bytes"`
	Files []string  `json:"files"`
	// Already means that the session had been erased before, at Done, and that nothing was
	// erased now.
	Already bool `json:"already,omitempty"`
	// Notes is the number of facts and notes erased because they had no other source.
	Notes int `json:"notes,omitempty"`
	// Typed is the number of lines erased from the terminal history of the home.
	Typed int `json:"typed,omitempty"`
	// Unread is why the session could not be read completely before it was erased: lines of
	// it may then be left in the terminal history.
	Unread string `json:"unread,omitempty"`
	// Forks are sessions forked from this one. Their copies of its entries were not erased.
	Forks []firn.ID `json:"forks,omitempty"`
	// Summaries are entries of the same session that summarize erased entries together with
	// others. They were not erased and may repeat erased content.
	Summaries []firn.EntryID `json:"summaries,omitempty"`
}

// Compacted is the result of a compaction, or with Plan its plan.
type Compacted struct {
	Compaction
	Plan *CompactionPlan `json:"plan,omitempty"`
}

// CompactionPlan describes where a session would be cut.
type CompactionPlan struct {
	// FirstKept is the first entry that would be kept; empty if none.
	FirstKept firn.EntryID `json:"firstKept,omitempty"`
	// Summarised and Kept count entries and their estimated tokens.
	Summarised       int   `json:"summarised"`
	SummarisedTokens int64 `json:"summarisedTokens"`
	Kept             int   `json:"kept"`
	KeptTokens       int64 `json:"keptTokens"`
	// Split means that the cut is within a turn.
	Split bool `json:"split,omitempty"`
	// Before is the current size of the window.
	Before int64  `json:"before"`
	Model  string `json:"model,omitempty"`
	// Nothing is why nothing would be compacted; empty if something would.
	Nothing string `json:"nothing,omitempty"`
}

// Spending is the usage of sessions.
type Spending struct {
	// By is day, model, agent or session; And is the second grouping, if requested.
	By    string        `json:"by"`
	And   string        `json:"and,omitempty"`
	Since time.Time     `json:"since,omitzero"`
	Rows  []SpendingRow `json:"rows"`
	Total Counters      `json:"total"`
	// Sessions is the number of sessions included. Partial means that there are more.
	Sessions int  `json:"sessions"`
	Partial  bool `json:"partial,omitempty"`
}

// UsageReport is the usage of all sessions in a period, by several dimensions.
type UsageReport struct {
	// Since is the first day of the period; empty if it has no limit.
	Since string `json:"since,omitempty"`
	// Calendar has the days with usage of the last year, oldest first, whatever the period.
	Calendar []UsageDay `json:"calendar"`
	// Days and Agents are the usage by day and model, and by day and agent, oldest first.
	Days   []SpendingRow `json:"days"`
	Agents []SpendingRow `json:"agents"`
	// Models and Projects are sums, the most expensive first. A project is a directory.
	Models   []SpendingRow `json:"models"`
	Projects []SpendingRow `json:"projects"`
	// Tools are the calls of tools, most calls first.
	Tools []ToolUse `json:"tools"`
	Total Counters  `json:"total"`
	// Sessions is the number of sessions with entries, in all periods. Partial means that
	// some could not be read, or are not counted yet.
	Sessions int  `json:"sessions"`
	Partial  bool `json:"partial,omitempty"`
}

// UsageDay is the usage of one day.
type UsageDay struct {
	Day     string  `json:"day"`
	Answers int     `json:"answers"`
	Tokens  int64   `json:"tokens"`
	Cost    float64 `json:"cost"`
}

// ToolUse is the number of calls of a tool and how many of them failed.
type ToolUse struct {
	Name     string `json:"name"`
	Calls    int    `json:"calls"`
	Failures int    `json:"failures"`
}

// SpendingRow is the usage of one day, model, agent or session.
type SpendingRow struct {
	Name string `json:"name"`
	// And is the value of the second grouping, if requested.
	And string `json:"and,omitempty"`
	// Title is the title of a session, or the start of its first message.
	Title string `json:"title,omitempty"`
	Counters
}
