package wire

import "firn.dev"

// CompactionDetail describes the effect of a compaction on the window.
type CompactionDetail struct {
	// Compaction has the full summary.
	Compaction
	Session firn.ID `json:"session"`
	// Head is the entry before the compaction: the end of the branch that was compacted.
	Head firn.EntryID `json:"head,omitempty"`
	// FirstKept is the first entry that it kept; empty if none.
	FirstKept firn.EntryID `json:"firstKept,omitempty"`
	// Replaced are the runs of entries that the summary replaced in the window, Stayed
	// those that were kept in it.
	Replaced []Run `json:"replaced"`
	Stayed   []Run `json:"stayed"`
	// Earlier is the compaction whose summary it replaced, if any.
	Earlier firn.EntryID `json:"earlier,omitempty"`
	// Was and Is are estimates of the window before and after it, by kind.
	Was WindowTotals `json:"was"`
	Is  WindowTotals `json:"is"`
}

// Batch changes many sessions in the same way.
type Batch struct {
	// IDs are the IDs of at most 500 sessions.
	IDs   []firn.ID `json:"ids"`
	Patch Patch     `json:"patch"`
	// AddTags and DropTags add and remove tags of each session.
	AddTags  []string `json:"addTags,omitempty"`
	DropTags []string `json:"dropTags,omitempty"`
}

// BatchResult is the result for one session of a batch.
type BatchResult struct {
	ID firn.ID `json:"id"`
	// Before is the patch that undoes the change.
	Before *Patch `json:"before,omitempty"`
	// Error is why the session was not changed; empty on success.
	Error string `json:"error,omitempty"`
}

// Tag is a tag and the number of sessions that have it.
type Tag struct {
	Name     string `json:"name"`
	Sessions int    `json:"sessions"`
}

// NoteText is the text of a note.
type NoteText struct {
	Text string `json:"text"`
}
