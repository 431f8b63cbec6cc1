// Package wire holds the words of the gateway's protocol: what is sent over
// HTTP, as Go types.
//
// The gateway, its client and the command line share them and nothing else.
// Members of JSON are named in camelCase. Times are RFC 3339, positions are
// numbers that grow along a session, and an entry travels as the very line that
// is in the file.
package wire

import (
	"encoding/json"
	"time"

	"firn.dev"
)

// Session is what the gateway tells of a session.
type Session struct {
	ID    firn.ID `json:"id"`
	Agent string  `json:"agent,omitempty"`
	Key   string  `json:"key,omitempty"`
	// Current says that Key points at this session.
	Current bool   `json:"current,omitempty"`
	Title   string `json:"title,omitempty"`
	// Prompt is the beginning of the first thing the user said.
	Prompt string `json:"prompt,omitempty"`
	// CWD is the directory that it was begun in; Directories are those that messages were
	// said in besides, the latest last.
	CWD         string   `json:"cwd,omitempty"`
	Directories []string `json:"directories,omitempty"`
	// Parent is the session that this one was forked from, or that began it:
	// Subagent says that an agent began it there.
	Parent   string `json:"parent,omitempty"`
	Subagent bool   `json:"subagent,omitempty"`
	// Source is the folder of another tool it is mirrored from; empty if it is
	// ours. Tags are what people have put on it.
	Source  string    `json:"source,omitempty"`
	Tags    []string  `json:"tags,omitempty"`
	Created time.Time `json:"created,omitzero"`
	Updated time.Time `json:"updated,omitzero"`
	// Bytes is the size of all parts, Parts how many files they are, Files where
	// they are; files are told only of one session, not in lists.
	Bytes int64    `json:"bytes"`
	Parts int      `json:"parts"`
	Files []string `json:"files,omitempty"`
	// End is the position behind the last entry.
	End      firn.Pos `json:"end"`
	Archived bool     `json:"archived,omitempty"`
	Hidden   bool     `json:"hidden,omitempty"`
	// Live says that a turn is running, Since when it began, Queued how many
	// messages wait.
	Live   bool      `json:"live,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Queued int       `json:"queued,omitempty"`
	// Waiting are the messages that wait; told of one session, not in lists.
	Waiting []Waiting `json:"waiting,omitempty"`
	// Unread is how many places of the session could not be read, as far as is
	// known: those that the word index met when it last read the session, or, if
	// they are more, those of the live part where the state is told.
	Unread int `json:"unread,omitempty"`
	// Fault says what is wrong with a session that cannot be read.
	Fault string `json:"fault,omitempty"`
	// Counts are those of the end of the latest turn, as lists know them; nil if
	// nothing was counted yet.
	Counts *Counts `json:"counts,omitempty"`
	// State is told of one session, not in lists.
	State *State `json:"state,omitempty"`
}

// Counts are what a list tells of how much is in a session.
type Counts struct {
	Turns       int `json:"turns"`
	Messages    int `json:"messages"`
	Compactions int `json:"compactions"`
	Branches    int `json:"branches"`
	// Tokens is what was used in all, Window how large the conversation was.
	Tokens int64   `json:"tokens"`
	Window int64   `json:"window"`
	Cost   float64 `json:"cost"`
}

// Waiting is a message that waits for its turn.
type Waiting struct {
	ID     firn.EntryID `json:"id"`
	Text   string       `json:"text"`
	Sender string       `json:"sender,omitempty"`
}

// State is what the live part of a session tells.
type State struct {
	Head     firn.EntryID `json:"head"`
	Provider string       `json:"provider,omitempty"`
	Model    string       `json:"model,omitempty"`
	Thinking string       `json:"thinking,omitempty"`
	Verbose  string       `json:"verbose,omitempty"`
	// Send is the session's override of the send policy: allow, deny or empty.
	Send string `json:"send,omitempty"`
	// Auth is the session's profile of credentials, as provider/profile; empty if it uses
	// the usual ones.
	Auth   string `json:"auth,omitempty"`
	Window Usage  `json:"window"`
	// Turns is how often the user spoke, Compactions how many there were.
	Turns       int `json:"turns"`
	Compactions int `json:"compactions"`
	// Breaker is set if the last try to compact failed.
	Breaker *Breaker `json:"breaker,omitempty"`
	// Branches is how many ends of branches there are; one if nothing was left.
	Branches int      `json:"branches"`
	Counters Counters `json:"counters"`
	// Damage lists the faults of the live part, oldest first: what the model is
	// not sent because it could not be read.
	Damage []Damage `json:"damage,omitempty"`
	// Interrupted says that the last turn did not end by itself.
	Interrupted bool `json:"interrupted,omitempty"`
	// Messages is how many messages there are, of whomever, Uptime how many
	// seconds the turns took together.
	Messages int   `json:"messages"`
	Uptime   int64 `json:"uptime"`
}

// Usage is how full a model's window is.
type Usage struct {
	Tokens int64 `json:"tokens"`
	Window int64 `json:"window"`
	// Estimated says that Tokens is not what the provider reported; Assumed
	// that Window is not known of the model.
	Estimated bool `json:"estimated,omitempty"`
	Assumed   bool `json:"assumed,omitempty"`
	// Level is "high" from 80 percent on and "full" from 95 percent on.
	Level string `json:"level,omitempty"`
}

// Breaker says how often compaction failed in a row. It is open after Limit failures:
// then no model is asked for a summary until it closes by itself.
type Breaker struct {
	Failures int  `json:"failures"`
	Limit    int  `json:"limit"`
	Open     bool `json:"open"`
	// Last is when the last try failed, Until when an open breaker closes.
	Last  time.Time `json:"last"`
	Until time.Time `json:"until,omitzero"`
	// Error is why the last try failed.
	Error string `json:"error,omitempty"`
}

// Counters are what a session has used in all.
type Counters struct {
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Cost       float64 `json:"cost"`
	Answers    int     `json:"answers"`
}

// Page is a part of a list. Cursor asks for the next one; it is empty at the
// end. Total is how many there are, if that is known, else -1.
type Page[T any] struct {
	Items  []T    `json:"items"`
	Cursor string `json:"cursor,omitempty"`
	Total  int    `json:"total"`
}

// NewSession asks for a session: the one a key points at, begun if it points
// nowhere, or without a key a new one.
type NewSession struct {
	Key   string `json:"key,omitempty"`
	Agent string `json:"agent,omitempty"`
	CWD   string `json:"cwd,omitempty"`
	Title string `json:"title,omitempty"`
	// Fresh begins a new session even if the key has one, and points the key at it.
	Fresh bool `json:"fresh,omitempty"`
}

// Patch changes a session. What is nil stays as it is.
type Patch struct {
	Title *string `json:"title,omitempty"`
	// Model is provider/model. Of model, thinking, verbose, send and auth, null or "default"
	// takes back what was chosen for the session.
	Model    *string `json:"model,omitempty"`
	Thinking *string `json:"thinking,omitempty"`
	Verbose  *string `json:"verbose,omitempty"`
	// Send is allow, deny or inherit.
	Send *string `json:"send,omitempty"`
	// Auth is a profile of credentials: its name, or provider/name. Without a provider
	// that of the model in force is meant.
	Auth     *string `json:"auth,omitempty"`
	Archived *bool   `json:"archived,omitempty"`
	// Hidden hides the session or shows it again.
	Hidden *bool `json:"hidden,omitempty"`
	// Tags stand instead of those there are.
	Tags *[]string `json:"tags,omitempty"`
}

// Entry is an entry where it stands, or a gap where nothing could be read.
type Entry struct {
	At   firn.Pos `json:"at"`
	Next firn.Pos `json:"next"`
	// N numbers the entries of the session in the order of the file from 1, in
	// every view: the n of #n. It is zero if that is not known.
	N int `json:"n,omitempty"`
	// Line is the line of the file, as it is; Card is the entry as a page shows
	// it, instead of the line, if that was asked for.
	Line json.RawMessage `json:"line,omitempty"`
	// Text is the line byte for byte, instead of it, if that was asked for: white
	// space between its parts does not survive in Line.
	Text string `json:"text,omitempty"`
	Card *Card  `json:"card,omitempty"`
	// Out says in one word why the entry is not in the window; empty if it is, or
	// if that was not asked.
	Out string `json:"out,omitempty"`
	// Gap says why nothing could be read here. There is no line or card then.
	Gap string `json:"gap,omitempty"`
	// Damage says what is wrong here: with the entry, if there is one, or with
	// the bytes that could not be read. It is nil if the gap is only a last line
	// that is being written.
	Damage *Damage `json:"damage,omitempty"`
}

// Views of a session's entries.
const (
	// ViewDisk is all that is in the files, in order.
	ViewDisk = "disk"
	// ViewBranch is the path to the head.
	ViewBranch = "branch"
	// ViewWindow is what the model is sent next.
	ViewWindow = "window"
)

// Appended tells where entries went.
type Appended struct {
	IDs []firn.EntryID `json:"ids"`
	End firn.Pos       `json:"end"`
}

// Turn asks for a turn: the user says something, or, without text and parts,
// what was not answered is answered.
type Turn struct {
	Text string `json:"text,omitempty"`
	// Images are sent beside the text.
	Images []Image `json:"images,omitempty"`
	// ID names the message, so that sending it twice is saying it once.
	ID firn.EntryID `json:"id,omitempty"`
	// Sender is who says it, for sessions with several people.
	Sender string `json:"sender,omitempty"`
	// Agent is who is to answer; empty means the agent of the session.
	Agent string `json:"agent,omitempty"`
	// CWD is the directory that it is said in. The session keeps it if it is another one
	// than it knew before; empty leaves that as it is.
	CWD string `json:"cwd,omitempty"`
	// Queue says what to do if a turn is running: steer, followup, collect or
	// interrupt; empty leaves it to the settings.
	Queue string `json:"queue,omitempty"`
	// Wait is false to be answered as soon as the message is durable.
	Wait *bool `json:"wait,omitempty"`
	// Terms is how this one turn is to be run.
	Terms *Terms `json:"terms,omitempty"`
}

// Terms is how a client wants one turn to be run. It is not kept: a turn that a
// later gateway runs in its stead has the agent's own.
type Terms struct {
	// Instructions are sent behind the system prompt.
	Instructions string `json:"instructions,omitempty"`
	// Bare leaves out the agent's system prompt and tools, and what is injected.
	Bare bool `json:"bare,omitempty"`
	// Tools are the client's, and stand instead of the agent's. When the model
	// calls one the turn is over, and the answer has the calls as pending. The
	// client appends what came of them and asks for a turn without text.
	Tools []ToolSpec `json:"tools,omitempty"`
	// NoTools leaves the model without any.
	NoTools bool `json:"noTools,omitempty"`
	// MaxTokens bounds each answer; zero leaves it to the model.
	MaxTokens int64 `json:"maxTokens,omitempty"`
}

// ToolSpec is a tool as a model sees it. Schema is the JSON schema of its
// arguments.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// Image is a picture, as base64.
type Image struct {
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
}

// Answer is what came of a turn.
type Answer struct {
	Session firn.ID `json:"session"`
	// Message is the user's message, Entry the answer.
	Message firn.EntryID `json:"message,omitempty"`
	Entry   firn.EntryID `json:"entry,omitempty"`
	Text    string       `json:"text"`
	// Agent, Provider and Model say who gave the answer.
	Agent    string `json:"agent,omitempty"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	// Silent says that the answer is not for the user.
	Silent bool     `json:"silent,omitempty"`
	Rounds int      `json:"rounds,omitempty"`
	Calls  int      `json:"calls,omitempty"`
	Stop   string   `json:"stop,omitempty"`
	Usage  Counters `json:"usage"`
	// Queued says that the message is durable and will be answered later.
	Queued bool `json:"queued,omitempty"`
	// Pending are calls of the client's tools, if the turn ended with some.
	Pending []Tool `json:"pending,omitempty"`
}
