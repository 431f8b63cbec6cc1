package wire

import "time"

// MemoryPlace selects notes. An empty agent means the default one.
type MemoryPlace struct {
	Agent string
	// Key is the key of conversations with a person or a group, whose notes are kept
	// separately; Project is a project directory. Both may be empty.
	Key, Project string
	// Scope restricts the selection to agent, user or project notes. Empty means all that
	// apply to such a conversation or, for writing, the most specific.
	Scope string
}

// The scopes of notes.
const (
	MemoryOfAgent   = "agent"
	MemoryOfUser    = "user"
	MemoryOfProject = "project"
)

// Note is a file of notes.
type Note struct {
	Scope string `json:"scope"`
	// Name is the name of the file without its extension. Ref is the unique reference of
	// the note: scope/name.
	Name string `json:"name"`
	Ref  string `json:"ref"`
	// Title, Description and Type are from the front matter of the file.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Type        string `json:"type,omitempty"`
	// Confidence is the confidence, from 0 to 1; zero if not given.
	Confidence float64   `json:"confidence,omitempty"`
	Created    time.Time `json:"created,omitzero"`
	// Sources are the source entries, as session/entry.
	Sources []string `json:"sources,omitempty"`
	// Bytes is the length of the text. Count is the number of facts, for notes that are
	// lists of facts.
	Bytes int `json:"bytes"`
	Count int `json:"count,omitempty"`
	// File is the path. Body and Facts are set only for a single note, not in lists.
	File  string `json:"file,omitempty"`
	Body  string `json:"body,omitempty"`
	Facts []Fact `json:"facts,omitempty"`
}

// Fact is a single fact: a line of a note.
type Fact struct {
	// Ref is the unique reference: scope/name#id.
	Ref        string    `json:"ref"`
	Category   string    `json:"category,omitempty"`
	Text       string    `json:"text"`
	Confidence float64   `json:"confidence,omitempty"`
	Day        time.Time `json:"day,omitzero"`
	Sources    []string  `json:"sources,omitempty"`
	// Superseded means that a newer fact has replaced it.
	Superseded bool `json:"superseded,omitempty"`
}

// Recalled is a result of a memory search.
type Recalled struct {
	// Scope is the scope of a note; empty for a session entry.
	Scope string `json:"scope,omitempty"`
	// Ref is scope/name or scope/name#id, or session/entry.
	Ref        string    `json:"ref"`
	Title      string    `json:"title,omitempty"`
	Text       string    `json:"text"`
	Type       string    `json:"type,omitempty"`
	Confidence float64   `json:"confidence,omitempty"`
	Time       time.Time `json:"time,omitzero"`
	Sources    []string  `json:"sources,omitempty"`
	// Score is the relevance, from 0 to 1.
	Score float64 `json:"score"`
}

// NewNote is a request to remember something.
type NewNote struct {
	// Text is the text to remember. Without a name, each line is a separate fact in the
	// note of the day.
	Text        string  `json:"text"`
	Name        string  `json:"name,omitempty"`
	Description string  `json:"description,omitempty"`
	Type        string  `json:"type,omitempty"`
	Confidence  float64 `json:"confidence,omitempty"`
	// Sources are the source entries, as session/entry.
	Sources []string `json:"sources,omitempty"`
}

// Remembered is the result of remembering.
type Remembered struct {
	Scope string `json:"scope"`
	Note  string `json:"note"`
	// Refs are the new facts and notes; Known counts those that were already noted.
	Refs  []string `json:"refs"`
	Known int      `json:"known,omitempty"`
	// Change identifies the change, if it can be undone.
	Change string `json:"change,omitempty"`
	File   string `json:"file,omitempty"`
}

// MemoryChange is an atomic change of notes. Old versions are kept, so that it can be
// undone.
type MemoryChange struct {
	ID    string `json:"id,omitempty"`
	Scope string `json:"scope"`
	// Kind is add, forget, clear, extract, dream or undo.
	Kind string    `json:"kind"`
	Time time.Time `json:"time"`
	// Of is the change that an undo reverted.
	Of     string       `json:"of,omitempty"`
	Edits  []MemoryEdit `json:"edits"`
	Files  []string     `json:"files,omitempty"`
	Undone bool         `json:"undone,omitempty"`
}

// MemoryEdit is one edit of a change.
type MemoryEdit struct {
	Do   string `json:"do"`
	Note string `json:"note,omitempty"`
	// Old are the removed lines, New the added ones.
	Old     []string `json:"old,omitempty"`
	New     []string `json:"new,omitempty"`
	Why     string   `json:"why,omitempty"`
	Sources []string `json:"sources,omitempty"`
}

// Cleared is the result of clearing notes, one change per scope.
type Cleared struct {
	Changes []MemoryChange `json:"changes"`
}

// DreamOrder is a request to consolidate notes.
type DreamOrder struct {
	// Plan only returns the changes that would be made.
	Plan bool `json:"plan,omitempty"`
	// IfDue does nothing unless a consolidation is due: the last one is a day ago and there
	// are enough new conversations.
	IfDue bool `json:"ifDue,omitempty"`
}

// Dream is the result of consolidating the notes of one scope.
type Dream struct {
	Scope string `json:"scope"`
	// Shut is the condition that prevented it: time, sessions or lock; empty if it was done
	// or planned. Why explains it.
	Shut string `json:"shut,omitempty"`
	Why  string `json:"why,omitempty"`
	// Planned means that nothing was changed.
	Planned bool `json:"planned,omitempty"`
	// Sessions is the number of conversations examined, Found the number of facts in them,
	// and Notes the number of notes.
	Sessions int          `json:"sessions"`
	Found    int          `json:"found"`
	Notes    int          `json:"notes"`
	Change   MemoryChange `json:"change"`
	// Tokens and Cost are the usage of models.
	Tokens int64   `json:"tokens,omitempty"`
	Cost   float64 `json:"cost,omitempty"`
	// Without lists why no model was used, where that happened.
	Without []string `json:"without,omitempty"`
}

// UndoMemory is a request to revert a change: all of it, or the edits with the given
// indexes, from 0.
type UndoMemory struct {
	Edits []int `json:"edits,omitempty"`
}
