package wire

import (
	"time"

	"firn.dev"
)

// Card is an entry as a page shows it: said in safe HTML, without the line of
// the file. All HTML in it was made here from plain text and has passed a
// sanitizer; it has no scripts, no styles and nothing from elsewhere.
type Card struct {
	ID     firn.EntryID `json:"id"`
	Parent firn.EntryID `json:"parent,omitempty"`
	Kind   firn.Kind    `json:"kind"`
	// Type is what a program calls an entry of its own: firn.counters and the like.
	Type string `json:"type,omitempty"`
	// Role is user, assistant, tool, shell or system; empty for entries that
	// nobody said.
	Role string    `json:"role,omitempty"`
	Time time.Time `json:"time,omitzero"`
	// Sender is who said it, where several people do. Provider and Model say who
	// answered.
	Sender   string `json:"sender,omitempty"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Label    string `json:"label,omitempty"`
	// Hidden says that a tombstone hides it.
	Hidden bool `json:"hidden,omitempty"`
	// Note says in a few words what an entry is that nobody said: the model is
	// another now, the title is, the key was reset, a message waits.
	Note   string  `json:"note,omitempty"`
	Blocks []Block `json:"blocks,omitempty"`
	// Compaction is told of compactions.
	Compaction *Compaction `json:"compaction,omitempty"`
	// Usage is what an answer used. Stop is why it ended, if not by itself;
	// Error what went wrong.
	Usage *Counters `json:"usage,omitempty"`
	Stop  string    `json:"stop,omitempty"`
	Error string    `json:"error,omitempty"`
	// Tokens is about how much of a window it takes up, Bytes how long its line
	// in the file is.
	Tokens int64 `json:"tokens,omitempty"`
	Bytes  int64 `json:"bytes"`
	// Cut says that long texts were cut short; the entry asked for alone is whole.
	Cut bool `json:"cut,omitempty"`
}

// Kinds of blocks.
const (
	BlockText     = "text"
	BlockThinking = "thinking"
	BlockCall     = "call"
	BlockResult   = "result"
	BlockImage    = "image"
	BlockOther    = "other"
)

// Block is a piece of what a card says.
type Block struct {
	Kind string `json:"kind"`
	HTML string `json:"html,omitempty"`
	// Call ties a call to its result; Name is that of the tool. Preview is a line
	// of the arguments or of the result, for when it is folded up. Failed says
	// that the result is an error. Ms is how long the tool took, if that is known.
	Call    string `json:"call,omitempty"`
	Name    string `json:"name,omitempty"`
	Preview string `json:"preview,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
	Ms      int64  `json:"ms,omitempty"`
	// Bytes is how long the whole text is, Cut that HTML has less of it.
	Bytes int64 `json:"bytes,omitempty"`
	Cut   bool  `json:"cut,omitempty"`
	// Src is where an image is to be had, MimeType its type.
	Src      string `json:"src,omitempty"`
	MimeType string `json:"mimeType,omitempty"`
}

// Growth is how an answer grows on a page: the blocks of HTML from a place on
// are these now; those before it stay as they are.
type Growth struct {
	// Entry is the name that the answer will have in the log: its card stands
	// instead of all that grew. Another name begins another answer.
	Entry    firn.EntryID `json:"entry,omitempty"`
	Thinking bool         `json:"thinking,omitempty"`
	From     int          `json:"from"`
	Blocks   []string     `json:"blocks"`
}

// Partial is what has been said of an answer that is being given: it stands
// instead of all deltas that somebody may have heard.
type Partial struct {
	// Entry is the name that the answer will have in the log.
	Entry    firn.EntryID `json:"entry,omitempty"`
	Text     string       `json:"text,omitempty"`
	Thinking string       `json:"thinking,omitempty"`
	// Tools are the calls that run.
	Tools []Tool `json:"tools,omitempty"`
}

// Episode is a turn of a session's branch in numbers: what a chart of it shows.
type Episode struct {
	// Turn numbers the turns of the branch from 1. First and Last are its entries,
	// N is the number of the first one.
	Turn  int          `json:"turn"`
	First firn.EntryID `json:"first"`
	Last  firn.EntryID `json:"last"`
	N     int          `json:"n,omitempty"`
	Time  time.Time    `json:"time,omitzero"`
	// Preview is the beginning of what the user said.
	Preview string `json:"preview,omitempty"`
	// Window is how full the window was at its end, by kind.
	Window WindowTotals `json:"window"`
	// Own is about how many tokens the turn itself has.
	Own   int64    `json:"own"`
	Usage Counters `json:"usage"`
	Calls int      `json:"calls,omitempty"`
	// Compactions are those that were made within the turn and count.
	Compactions []Compaction `json:"compactions,omitempty"`
}

// Course is how a session's branch went: its turns, oldest first. Of very long
// ones several turns are told as one: Step is how many.
type Course struct {
	Session firn.ID `json:"session"`
	Turns   int     `json:"turns"`
	Step    int     `json:"step"`
	// Partial says that the session is so long that only its end was read.
	Partial  bool      `json:"partial,omitempty"`
	Episodes []Episode `json:"episodes"`
}
