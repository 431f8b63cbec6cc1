package wire

import (
	"encoding/json"
	"time"

	"firn.dev"
)

// NewEntries asks for entries to be appended: lines of the native dialect, or
// something that the user says. One of the two.
type NewEntries struct {
	Entries []json.RawMessage `json:"entries,omitempty"`
	User    string            `json:"user,omitempty"`
}

// Moved tells that the head of a session is elsewhere now.
type Moved struct {
	Session firn.ID `json:"session"`
	// Entry is the entry that moved the head, To where it is now: empty if it is
	// before everything.
	Entry firn.EntryID `json:"entry"`
	To    firn.EntryID `json:"to,omitempty"`
	// From is where it was. To go back there is the undo.
	From firn.EntryID `json:"from,omitempty"`
	// Left is how many entries are on the branch that was left, Text the first
	// thing that the user said on it: what one might want to say otherwise.
	Left int    `json:"left"`
	Text string `json:"text,omitempty"`
	// Summary is that of the branch that was left, if one was asked for.
	Summary string   `json:"summary,omitempty"`
	End     firn.Pos `json:"end"`
}

// Label asks for a name on an entry; an empty one takes it away.
type Label struct {
	// Entry is an entry as a reference names it.
	Entry string `json:"entry"`
	Name  string `json:"name"`
}

// Hide asks for an entry to be hidden, or to be shown again.
type Hide struct {
	Entry  string `json:"entry"`
	Reason string `json:"reason,omitempty"`
}

// Remove asks for a session to be put away.
type Remove struct {
	Reason string `json:"reason,omitempty"`
	// Bin moves its files to the bin; else it is only hidden.
	Bin bool `json:"bin,omitempty"`
}

// Removed tells that a session was put away, and that nothing was lost.
type Removed struct {
	Session firn.ID `json:"session"`
	Title   string  `json:"title,omitempty"`
	// Bin says that its files are in the bin; else it is hidden.
	Bin bool `json:"bin,omitempty"`
	// Parts is how many files there are, Files which, Bytes how large they are.
	Parts int      `json:"parts"`
	Files []string `json:"files,omitempty"`
	Bytes int64    `json:"bytes"`
	// BytesRemoved is how many bytes are gone: none.
	BytesRemoved int64 `json:"bytesRemoved"`
}

// Receipt proves that something was erased for good.
type Receipt struct {
	Session firn.ID        `json:"session"`
	Entries []firn.EntryID `json:"entries,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	// Begun is when it was begun; zero in a plan.
	Begun time.Time `json:"begun,omitzero"`
	// Done is zero while it is under way; one that was interrupted can be asked
	// for again.
	Done  time.Time `json:"done,omitzero"`
	Bytes int64     `json:"bytes"`
	Files []string  `json:"files"`
	// Already says that the session had been erased before, at Done: nothing was
	// erased now.
	Already bool `json:"already,omitempty"`
	// Notes is how many facts and notes went with it, which nothing else had
	// said.
	Notes int `json:"notes,omitempty"`
	// Typed is how many lines went from what was typed at terminals of the home.
	Typed int `json:"typed,omitempty"`
	// Unread is why not all of the session could be read before it went: lines of
	// it may then be left in what was typed.
	Unread string `json:"unread,omitempty"`
	// Forks are sessions that were forked from this one. They have copies of
	// what they took along, which were not erased.
	Forks []firn.ID `json:"forks,omitempty"`
	// Summaries are entries of the same session that sum up what was erased with
	// other things. They were not erased, and may repeat it.
	Summaries []firn.EntryID `json:"summaries,omitempty"`
}

// Compacted is a compaction that was made, or with Plan what one would do.
type Compacted struct {
	Compaction
	Plan *CompactionPlan `json:"plan,omitempty"`
}

// CompactionPlan is where a session would be cut.
type CompactionPlan struct {
	// FirstKept is the first entry that would be kept; empty if none would be.
	FirstKept firn.EntryID `json:"firstKept,omitempty"`
	// Summarised and Kept count entries, and the tokens they are estimated at.
	Summarised       int   `json:"summarised"`
	SummarisedTokens int64 `json:"summarisedTokens"`
	Kept             int   `json:"kept"`
	KeptTokens       int64 `json:"keptTokens"`
	// Split says that the cut is within a turn.
	Split bool `json:"split,omitempty"`
	// Before is the size of the window now.
	Before int64  `json:"before"`
	Model  string `json:"model,omitempty"`
	// Nothing says why nothing would be compacted; empty if something would.
	Nothing string `json:"nothing,omitempty"`
}

// Spending is what sessions have used.
type Spending struct {
	// By is day, model, agent or session; And is the second thing that rows
	// differ in, if two were asked for.
	By    string        `json:"by"`
	And   string        `json:"and,omitempty"`
	Since time.Time     `json:"since,omitzero"`
	Rows  []SpendingRow `json:"rows"`
	Total Counters      `json:"total"`
	// Sessions is how many were looked at. Partial says that there are more,
	// which were not.
	Sessions int  `json:"sessions"`
	Partial  bool `json:"partial,omitempty"`
}

// SpendingRow is what was used on one day, by one model, agent or session.
type SpendingRow struct {
	Name string `json:"name"`
	// And is the second thing, if two were asked for.
	And string `json:"and,omitempty"`
	// Title is that of a session, or how it begins.
	Title string `json:"title,omitempty"`
	Counters
}
