package wire

import "firn.dev"

// CompactionDetail is what a compaction did to the window.
type CompactionDetail struct {
	// Compaction has the whole summary.
	Compaction
	Session firn.ID `json:"session"`
	// Head is the entry before it: the branch that ends there is what was there
	// when it was made.
	Head firn.EntryID `json:"head,omitempty"`
	// FirstKept is the first entry that it kept; empty if none was.
	FirstKept firn.EntryID `json:"firstKept,omitempty"`
	// Replaced are the runs of entries that were in the window before it and are
	// stood for by its summary, Stayed those that were in it before and after.
	Replaced []Run `json:"replaced"`
	Stayed   []Run `json:"stayed"`
	// Earlier is the compaction whose summary it replaced, if any.
	Earlier firn.EntryID `json:"earlier,omitempty"`
	// Was and Is are the window before and after it by kind, as estimates.
	Was WindowTotals `json:"was"`
	Is  WindowTotals `json:"is"`
}

// Batch changes many sessions in the same way.
type Batch struct {
	// IDs are at most 500 sessions, by their ids.
	IDs   []firn.ID `json:"ids"`
	Patch Patch     `json:"patch"`
	// AddTags and DropTags change tags of each and leave it the others.
	AddTags  []string `json:"addTags,omitempty"`
	DropTags []string `json:"dropTags,omitempty"`
}

// BatchResult is what came of one session of a batch.
type BatchResult struct {
	ID firn.ID `json:"id"`
	// Before is the patch that makes it what it was: the undo.
	Before *Patch `json:"before,omitempty"`
	// Error says why it was not changed; empty if it was.
	Error string `json:"error,omitempty"`
}

// Tag is a word that people put on sessions, and how many have it.
type Tag struct {
	Name     string `json:"name"`
	Sessions int    `json:"sessions"`
}

// NoteText is the text of a note.
type NoteText struct {
	Text string `json:"text"`
}
