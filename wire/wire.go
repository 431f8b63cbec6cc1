// Package wire defines the types of the gateway's HTTP API. The gateway, its client and the
// command line share them.
//
// JSON members are named in camelCase. Times are RFC 3339, positions are numbers that
// increase along a session, and an entry is transferred as the exact line of its file.
package wire

import (
	"encoding/json"
	"time"

	"firn.dev"
)

// Session describes a session.
type Session struct {
	ID    firn.ID `json:"id"`
	Agent string  `json:"agent,omitempty"`
	Key   string  `json:"key,omitempty"`
	// Current means that Key points to this session.
	Current bool   `json:"current,omitempty"`
	Title   string `json:"title,omitempty"`
	// Prompt is the start of the first user message.
	Prompt string `json:"prompt,omitempty"`
	// CWD is the directory that it was started in; Directories are other directories of its
	// messages, the latest last.
	CWD         string   `json:"cwd,omitempty"`
	Directories []string `json:"directories,omitempty"`
	// Parent is the session that this one was forked from or that spawned it. Subagent
	// means that an agent spawned it.
	Parent   string `json:"parent,omitempty"`
	Subagent bool   `json:"subagent,omitempty"`
	// Source is the mirrored folder of another tool; empty if the session belongs to firn.
	// Tags are the user's tags.
	Source string `json:"source,omitempty"`
	// Imported is the tool that the session was imported from, such as claudecode.
	Imported string   `json:"imported,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	// Group is the group of the session in a list with groups: a directory, a source or a
	// day.
	Group   string    `json:"group,omitempty"`
	Created time.Time `json:"created,omitzero"`
	Updated time.Time `json:"updated,omitzero"`
	// Bytes is the size of all parts, Parts the number of files, Files their paths; Files
	// is set only for a single session, not in lists.
	Bytes int64    `json:"bytes"`
	Parts int      `json:"parts"`
	Files []string `json:"files,omitempty"`
	// End is the position after the last entry.
	End      firn.Pos `json:"end"`
	Archived bool     `json:"archived,omitempty"`
	Hidden   bool     `json:"hidden,omitempty"`
	// Empty means that the session has no messages and no title. Lists
	// leave it out.
	Empty bool `json:"empty,omitempty"`
	// Live means that a turn is running, Since is when it started, Queued the number of
	// queued messages.
	Live   bool      `json:"live,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Queued int       `json:"queued,omitempty"`
	// Waiting are the queued messages; only for a single session, not in lists.
	Waiting []Waiting `json:"waiting,omitempty"`
	// Unread is the number of known unreadable places: those found by the full-text index
	// when it last read the session or, if more, those of the live part where the state is
	// included.
	Unread int `json:"unread,omitempty"`
	// Fault describes why a session cannot be read.
	Fault string `json:"fault,omitempty"`
	// Counts are those of the end of the latest turn, as lists have them; nil if nothing
	// was counted yet.
	Counts *Counts `json:"counts,omitempty"`
	// State is set for a single session, not in lists.
	State *State `json:"state,omitempty"`
}

// Counts are the size figures of a session in lists.
type Counts struct {
	Turns       int `json:"turns"`
	Messages    int `json:"messages"`
	Compactions int `json:"compactions"`
	Branches    int `json:"branches"`
	// Tokens is the total usage, Window the size of the conversation.
	Tokens int64   `json:"tokens"`
	Window int64   `json:"window"`
	Cost   float64 `json:"cost"`
}

// Waiting is a queued message.
type Waiting struct {
	ID     firn.EntryID `json:"id"`
	Text   string       `json:"text"`
	Sender string       `json:"sender,omitempty"`
}

// QueueChange is a change of a session's queue.
type QueueChange struct {
	// Order lists messages in the order in which they are answered. Queued messages that it
	// does not name come after them, in their present order.
	Order []firn.EntryID `json:"order,omitempty"`
	// Remove lists messages to remove from the queue.
	Remove []firn.EntryID `json:"remove,omitempty"`
}

// Queue is a session's queue after a change.
type Queue struct {
	// Items are the queued messages, the next one first.
	Items []Waiting `json:"items"`
	// Removed are the messages that the change removed.
	Removed []Unqueued `json:"removed,omitempty"`
}

// Unqueued is a message that was removed from a queue, with its whole content.
type Unqueued struct {
	ID     firn.EntryID `json:"id"`
	Text   string       `json:"text"`
	Images []Image      `json:"images,omitempty"`
	Sender string       `json:"sender,omitempty"`
}

// State is the state of a session, derived from its live part.
type State struct {
	Head     firn.EntryID `json:"head"`
	Provider string       `json:"provider,omitempty"`
	Model    string       `json:"model,omitempty"`
	// Foreign means that another program recorded the last answer: Provider, Model and
	// Window are those of that answer, not those of the next one. A Window.Window of zero
	// is not known.
	Foreign bool `json:"foreign,omitempty"`
	// Next is the model of the next answer, as provider/model, if Foreign is set.
	Next     string `json:"next,omitempty"`
	Thinking string `json:"thinking,omitempty"`
	Verbose  string `json:"verbose,omitempty"`
	// Send is the session's override of the send policy: allow, deny or empty.
	Send string `json:"send,omitempty"`
	// Auth is the session's credential profile, as provider/profile; empty if it uses the
	// default.
	Auth   string `json:"auth,omitempty"`
	Window Usage  `json:"window"`
	// Turns is the number of user messages, Compactions the number of compactions.
	Turns       int `json:"turns"`
	Compactions int `json:"compactions"`
	// Breaker is set if the last attempt to compact failed.
	Breaker *Breaker `json:"breaker,omitempty"`
	// Branches is the number of branch ends; one if no branch was abandoned.
	Branches int      `json:"branches"`
	Counters Counters `json:"counters"`
	// Damage lists the faults of the live part, oldest first: unreadable entries that are
	// not sent to the model.
	Damage []Damage `json:"damage,omitempty"`
	// Interrupted means that the last turn did not end normally.
	Interrupted bool `json:"interrupted,omitempty"`
	// Messages is the number of messages of all roles, Uptime the total duration of the
	// turns in seconds.
	Messages int   `json:"messages"`
	Uptime   int64 `json:"uptime"`
}

// Usage is how full a model's window is.
type Usage struct {
	Tokens int64 `json:"tokens"`
	Window int64 `json:"window"`
	// Estimated means that Tokens was not reported by the provider; Assumed that the
	// model's Window is not known.
	Estimated bool `json:"estimated,omitempty"`
	Assumed   bool `json:"assumed,omitempty"`
	// Level is "high" from 80 percent on and "full" from 95 percent on.
	Level string `json:"level,omitempty"`
}

// Breaker counts consecutive compaction failures. It opens after Limit failures: no model
// is called for a summary until it closes automatically.
type Breaker struct {
	Failures int  `json:"failures"`
	Limit    int  `json:"limit"`
	Open     bool `json:"open"`
	// Last is when the last attempt failed, Until when an open breaker closes.
	Last  time.Time `json:"last"`
	Until time.Time `json:"until,omitzero"`
	// Error is why the last attempt failed.
	Error string `json:"error,omitempty"`
}

// Counters are the total usage of a session.
type Counters struct {
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead"`
	CacheWrite int64   `json:"cacheWrite"`
	Cost       float64 `json:"cost"`
	Answers    int     `json:"answers"`
}

// Page is a page of a list. Cursor requests the next one; it is empty at the end. Total is
// the total number, or -1 if unknown.
type Page[T any] struct {
	Items  []T    `json:"items"`
	Cursor string `json:"cursor,omitempty"`
	Total  int    `json:"total"`
}

// NewSession is a request for a session: the session of a key, created if there is none, or
// a new session without a key.
type NewSession struct {
	Key   string `json:"key,omitempty"`
	Agent string `json:"agent,omitempty"`
	CWD   string `json:"cwd,omitempty"`
	Title string `json:"title,omitempty"`
	// Fresh starts a new session even if the key has one, and points the key to it.
	Fresh bool `json:"fresh,omitempty"`
	// Defaults starts it with the settings of the agent, instead of the model, thinking
	// level and other choices of the key's previous session.
	Defaults bool `json:"defaults,omitempty"`
}

// Patch changes a session. Nil fields stay unchanged.
type Patch struct {
	Title *string `json:"title,omitempty"`
	// Model is provider/model. For model, thinking, verbose, send and auth, null or
	// "default" resets the session's choice.
	Model    *string `json:"model,omitempty"`
	Thinking *string `json:"thinking,omitempty"`
	Verbose  *string `json:"verbose,omitempty"`
	// Send is allow, deny or inherit.
	Send *string `json:"send,omitempty"`
	// Auth is a credential profile: its name, or provider/name. Without a provider, the
	// provider of the current model is used.
	Auth     *string `json:"auth,omitempty"`
	Archived *bool   `json:"archived,omitempty"`
	// Hidden hides the session or shows it again.
	Hidden *bool `json:"hidden,omitempty"`
	// Tags replaces the existing tags.
	Tags *[]string `json:"tags,omitempty"`
}

// Entry is an entry with its position, or a gap where nothing could be read.
type Entry struct {
	At   firn.Pos `json:"at"`
	Next firn.Pos `json:"next"`
	// N is the number of the entry in file order, from 1, in every view: the n of #n. It is
	// zero if not known.
	N int `json:"n,omitempty"`
	// Line is the line of the file; Card is the entry rendered for a page, which replaces
	// Line if requested.
	Line json.RawMessage `json:"line,omitempty"`
	// Text is the line byte for byte, which replaces Line if requested: Line does not
	// preserve white space between tokens.
	Text string `json:"text,omitempty"`
	Card *Card  `json:"card,omitempty"`
	// Out is a one-word reason why the entry is not in the window; empty if it is, or if
	// not requested.
	Out string `json:"out,omitempty"`
	// Gap is why nothing could be read here. There is no line or card then.
	Gap string `json:"gap,omitempty"`
	// Damage describes the fault of the entry, if there is one, or of the unreadable bytes.
	// It is nil if the gap is only a last line that is being written.
	Damage *Damage `json:"damage,omitempty"`
}

// The views of a session's entries.
const (
	// ViewDisk is the whole file, in order.
	ViewDisk = "disk"
	// ViewBranch is the path to the head.
	ViewBranch = "branch"
	// ViewWindow is the content that will be sent to the model next.
	ViewWindow = "window"
)

// Appended is the result of an append.
type Appended struct {
	IDs []firn.EntryID `json:"ids"`
	End firn.Pos       `json:"end"`
	// Masked is the number of secrets that were replaced before the entries were stored.
	Masked int `json:"masked,omitempty"`
}

// Turn is a request for a turn with a user message. Without text and parts, it answers an
// unanswered message.
type Turn struct {
	Text string `json:"text,omitempty"`
	// Images are sent with the text.
	Images []Image `json:"images,omitempty"`
	// ID is the ID of the message, which makes retries idempotent.
	ID firn.EntryID `json:"id,omitempty"`
	// Sender is the author, for sessions with several people.
	Sender string `json:"sender,omitempty"`
	// Agent is the agent that answers; empty means the agent of the session.
	Agent string `json:"agent,omitempty"`
	// CWD is the working directory of the message. It is stored if it differs from the
	// session's previous one; empty leaves it unchanged.
	CWD string `json:"cwd,omitempty"`
	// Queue is the behavior if a turn is running: steer, followup, collect or interrupt;
	// empty means the configured one.
	Queue string `json:"queue,omitempty"`
	// Approve is the approval mode of the turn: read-only, ask, accept-edits or everything.
	// Empty means the agent's setting, or everything if it has none; auto means the setting,
	// or ask. Callers that are bound to agents or keys can only make it stricter.
	Approve string `json:"approve,omitempty"`
	// Wait is false to return as soon as the message is durable.
	Wait *bool `json:"wait,omitempty"`
	// Terms are the options of this turn.
	Terms *TurnOptions `json:"terms,omitempty"`
	// ClientTools are tools that the client runs. They need a stream of events.
	ClientTools *ClientTools `json:"clientTools,omitempty"`
}

// TurnOptions are the client's options for one turn. They are not stored: if another gateway
// takes the turn over, it uses the agent's settings.
type TurnOptions struct {
	// Instructions are sent after the system prompt.
	Instructions string `json:"instructions,omitempty"`
	// Bare leaves out the agent's system prompt, tools and injections.
	Bare bool `json:"bare,omitempty"`
	// Tools are the client's tools and replace the agent's. When the model calls one, the
	// turn ends and the answer has the calls as pending. The client appends their results
	// and requests a turn without text.
	Tools []ToolSpec `json:"tools,omitempty"`
	// NoTools disables tools.
	NoTools bool `json:"noTools,omitempty"`
	// MaxTokens limits each answer; zero leaves it to the model.
	MaxTokens int64 `json:"maxTokens,omitempty"`
	// Stop are sequences before which each answer ends.
	Stop []string `json:"stop,omitempty"`
	// Format is the form of the answers; nil means text.
	Format *AnswerFormat `json:"format,omitempty"`
	// Model (provider/model) and Thinking (a level) replace the session's for this turn; empty
	// means the session's.
	Model    string `json:"model,omitempty"`
	Thinking string `json:"thinking,omitempty"`
}

// AnswerFormat asks for answers in JSON. Models that cannot do that fail with Unsupported.
type AnswerFormat struct {
	// Name and Description describe the form to the model.
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// Schema is the JSON schema of the answers. Empty means any JSON object.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Strict asks the provider to enforce the schema; nil leaves it to the provider.
	Strict *bool `json:"strict,omitempty"`
}

// ToolSpec is the definition of a tool. Schema is the JSON schema of its arguments.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// Image is an image, as base64.
type Image struct {
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
}

// Answer is the result of a turn.
type Answer struct {
	Session firn.ID `json:"session"`
	// Message is the user's message, Entry the answer.
	Message firn.EntryID `json:"message,omitempty"`
	Entry   firn.EntryID `json:"entry,omitempty"`
	Text    string       `json:"text"`
	// Agent, Provider and Model identify the source of the answer.
	Agent    string `json:"agent,omitempty"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	// Silent means that the answer is not for the user.
	Silent bool     `json:"silent,omitempty"`
	Rounds int      `json:"rounds,omitempty"`
	Calls  int      `json:"calls,omitempty"`
	Stop   string   `json:"stop,omitempty"`
	Usage  Counters `json:"usage"`
	// Queued means that the message is durable and will be answered later.
	Queued bool `json:"queued,omitempty"`
	// Pending are the calls of the client's tools if the turn ended with any.
	Pending []Tool `json:"pending,omitempty"`
}
