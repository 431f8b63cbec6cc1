package wire

import "time"

// MemoryPlace says which notes are meant. An empty agent is the default one.
type MemoryPlace struct {
	Agent string
	// Key is that of conversations with a person or a group, whose notes are
	// kept apart; Project a directory that is worked on. Both may be empty.
	Key, Project string
	// Scope is agent, user or project, and means only those notes; empty means
	// all that count in such a conversation, or, to write, the most particular.
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
	// Name is that of the file, without its ending. Ref names the note among all:
	// scope/name.
	Name string `json:"name"`
	Ref  string `json:"ref"`
	// Title, Description and Type stand in the front matter of the file.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Type        string `json:"type,omitempty"`
	// Confidence is how sure it is, from 0 to 1; zero if that is not said.
	Confidence float64   `json:"confidence,omitempty"`
	Created    time.Time `json:"created,omitzero"`
	// Sources are the entries it came from, as session/entry.
	Sources []string `json:"sources,omitempty"`
	// Bytes is how long the text is, Count how many facts are in it, of notes
	// that are lists of them.
	Bytes int `json:"bytes"`
	Count int `json:"count,omitempty"`
	// File is where it is. Body and Facts are told of one note, not in lists.
	File  string `json:"file,omitempty"`
	Body  string `json:"body,omitempty"`
	Facts []Fact `json:"facts,omitempty"`
}

// Fact is one thing to know: a line of a note.
type Fact struct {
	// Ref names it among all: scope/name#id.
	Ref        string    `json:"ref"`
	Category   string    `json:"category,omitempty"`
	Text       string    `json:"text"`
	Confidence float64   `json:"confidence,omitempty"`
	Day        time.Time `json:"day,omitzero"`
	Sources    []string  `json:"sources,omitempty"`
	// Superseded says that a newer fact has taken its place.
	Superseded bool `json:"superseded,omitempty"`
}

// Recalled is something that memory found.
type Recalled struct {
	// Scope is that of a note; empty for something that was said in a session.
	Scope string `json:"scope,omitempty"`
	// Ref is scope/name or scope/name#id, or session/entry.
	Ref        string    `json:"ref"`
	Title      string    `json:"title,omitempty"`
	Text       string    `json:"text"`
	Type       string    `json:"type,omitempty"`
	Confidence float64   `json:"confidence,omitempty"`
	Time       time.Time `json:"time,omitzero"`
	Sources    []string  `json:"sources,omitempty"`
	// Score is how well it fits, from 0 to 1.
	Score float64 `json:"score"`
}

// NewNote asks for something to be remembered.
type NewNote struct {
	// Text is what to remember. Without a name, each line is a fact of its own
	// and is noted under the day.
	Text        string  `json:"text"`
	Name        string  `json:"name,omitempty"`
	Description string  `json:"description,omitempty"`
	Type        string  `json:"type,omitempty"`
	Confidence  float64 `json:"confidence,omitempty"`
	// Sources are entries that say so, as session/entry.
	Sources []string `json:"sources,omitempty"`
}

// Remembered tells what became of it.
type Remembered struct {
	Scope string `json:"scope"`
	Note  string `json:"note"`
	// Refs name what is new, Known counts what was noted already.
	Refs  []string `json:"refs"`
	Known int      `json:"known,omitempty"`
	// Change names the change, if it can be undone.
	Change string `json:"change,omitempty"`
	File   string `json:"file,omitempty"`
}

// MemoryChange is a change of notes that was made as a whole. Old versions are
// kept, so that it can be undone.
type MemoryChange struct {
	ID    string `json:"id,omitempty"`
	Scope string `json:"scope"`
	// Kind is add, forget, clear, extract, dream or undo.
	Kind string    `json:"kind"`
	Time time.Time `json:"time"`
	// Of is the change that an undo took back.
	Of     string       `json:"of,omitempty"`
	Edits  []MemoryEdit `json:"edits"`
	Files  []string     `json:"files,omitempty"`
	Undone bool         `json:"undone,omitempty"`
}

// MemoryEdit is one thing that a change does.
type MemoryEdit struct {
	Do   string `json:"do"`
	Note string `json:"note,omitempty"`
	// Old are the lines that went, New those that came.
	Old     []string `json:"old,omitempty"`
	New     []string `json:"new,omitempty"`
	Why     string   `json:"why,omitempty"`
	Sources []string `json:"sources,omitempty"`
}

// Cleared tells that notes were taken away, one change for each scope.
type Cleared struct {
	Changes []MemoryChange `json:"changes"`
}

// DreamOrder asks for notes to be tidied up.
type DreamOrder struct {
	// Plan only tells what would be done.
	Plan bool `json:"plan,omitempty"`
	// IfDue does nothing unless it is time: the last one is a day ago and there
	// are enough new conversations.
	IfDue bool `json:"ifDue,omitempty"`
}

// Dream tells what came of tidying up the notes of one scope.
type Dream struct {
	Scope string `json:"scope"`
	// Shut is the gate that was shut: time, sessions or lock; empty if it was
	// done, or planned. Why says it in a sentence.
	Shut string `json:"shut,omitempty"`
	Why  string `json:"why,omitempty"`
	// Planned says that nothing was done.
	Planned bool `json:"planned,omitempty"`
	// Sessions is how many conversations were looked through, Found how many
	// facts they had to offer, Notes how many notes there are.
	Sessions int          `json:"sessions"`
	Found    int          `json:"found"`
	Notes    int          `json:"notes"`
	Change   MemoryChange `json:"change"`
	// Tokens and Cost are what models used.
	Tokens int64   `json:"tokens,omitempty"`
	Cost   float64 `json:"cost,omitempty"`
	// Without says why a model was done without, where it was.
	Without []string `json:"without,omitempty"`
}

// UndoMemory asks for a change to be taken back: all of it, or some of its
// edits, by their places from 0.
type UndoMemory struct {
	Edits []int `json:"edits,omitempty"`
}
