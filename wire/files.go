package wire

import (
	"time"

	"firn.dev"
)

// FileRewind is a request to give files the state that they had at an entry of a session.
type FileRewind struct {
	// To is an entry; Back goes back that many turns instead.
	To   firn.EntryID `json:"to,omitempty"`
	Back int          `json:"back,omitempty"`
	// From is the entry whose state the files have now; empty means the head.
	From firn.EntryID `json:"from,omitempty"`
	// Plan changes nothing.
	Plan bool `json:"plan,omitempty"`
	// Force restores files although they were changed by something else. Their content is
	// kept first.
	Force bool `json:"force,omitempty"`
	// Diff includes a unified diff of each text file.
	Diff bool `json:"diff,omitempty"`
}

// FileAction is what happens to a file.
type FileAction string

// Actions on files.
const (
	FileCreated FileAction = "create"
	FileChanged FileAction = "change"
	FileDeleted FileAction = "delete"
)

// FileElsewhere is the problem of a file that tools of a terminal with another home changed.
// Only that terminal can restore it.
const FileElsewhere = "stored by another terminal"

// FileStep is what a rewind does to one file, or what a session did to it.
type FileStep struct {
	Path   string     `json:"path"`
	Action FileAction `json:"action"`
	// Added and Removed count lines. They are zero for binary files.
	Added   int    `json:"added,omitempty"`
	Removed int    `json:"removed,omitempty"`
	Diff    string `json:"diff,omitempty"`
	Binary  bool   `json:"binary,omitempty"`
	// Problem is the reason why the file is not restored: "changed since", "not stored" or
	// [FileElsewhere], or an error.
	Problem string `json:"problem,omitempty"`
	// Done is set if the file was restored.
	Done bool `json:"done,omitempty"`
}

// FilesRewound is the result of a [FileRewind].
type FilesRewound struct {
	Session firn.ID `json:"session"`
	// From and To are entries. To is empty before the first entry.
	From  firn.EntryID `json:"from,omitempty"`
	To    firn.EntryID `json:"to,omitempty"`
	Plan  bool         `json:"plan,omitempty"`
	Steps []FileStep   `json:"steps"`
	// Undone and Redone are the answers whose tool calls changed files of the steps with
	// the problem [FileElsewhere]: their changes are to be taken back or applied again.
	Undone []firn.EntryID `json:"undone,omitempty"`
	Redone []firn.EntryID `json:"redone,omitempty"`
}

// BlamedLine is a line of a file with the tool call that wrote it. Session is empty if the
// line was written by something else.
type BlamedLine struct {
	N       int          `json:"n"`
	Text    string       `json:"text"`
	Session firn.ID      `json:"session,omitempty"`
	Entry   firn.EntryID `json:"entry,omitempty"`
	Call    string       `json:"call,omitempty"`
	Tool    string       `json:"tool,omitempty"`
	Time    time.Time    `json:"time,omitzero"`
	// Commit is the git commit of a line that no tool call wrote; nil if it is not known.
	Commit *BlamedCommit `json:"commit,omitempty"`
}

// BlamedCommit is a git commit that wrote a line.
type BlamedCommit struct {
	Hash    string `json:"hash"`
	Author  string `json:"author,omitempty"`
	Summary string `json:"summary,omitempty"`
}

// Blame lists the lines of a file.
type Blame struct {
	Path  string       `json:"path"`
	Lines []BlamedLine `json:"lines"`
}
