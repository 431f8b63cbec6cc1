package wire

import (
	"time"

	"firn.dev"
)

// Key is a key and where it points.
type Key struct {
	Key   string `json:"key"`
	Agent string `json:"agent"`
	// Session is the current session; empty if there is none yet.
	Session firn.ID `json:"session,omitempty"`
	// Title is that of the current session, or how it begins.
	Title string `json:"title,omitempty"`
	// ChatType is direct, group or channel; Kind the kind of key.
	ChatType string    `json:"chatType,omitempty"`
	Kind     string    `json:"kind,omitempty"`
	Updated  time.Time `json:"updated,omitzero"`
	// Reset is the policy that holds for the key, in words.
	Reset string `json:"reset,omitempty"`
	// History are all sessions the key ever pointed at, latest first; told of
	// one key, not in lists.
	History []Session `json:"history,omitempty"`
}

// Inbound is a message from outside: who says what, where.
type Inbound struct {
	Agent     string  `json:"agent,omitempty"`
	Channel   string  `json:"channel"`
	AccountID string  `json:"accountId,omitempty"`
	PeerKind  string  `json:"peerKind"`
	PeerID    string  `json:"peerId"`
	ThreadID  string  `json:"threadId,omitempty"`
	Sender    string  `json:"sender,omitempty"`
	Text      string  `json:"text"`
	Images    []Image `json:"images,omitempty"`
	// Subject is what the group or channel is called; its sessions are called so
	// unless they have a title.
	Subject string `json:"subject,omitempty"`
	// ID names the message at its source, so that it is taken once.
	ID string `json:"id,omitempty"`
	// Wait asks for the answer; else the message is acknowledged when durable.
	Wait bool `json:"wait,omitempty"`
}

// Routed tells what became of a message from outside.
type Routed struct {
	Key     string       `json:"key"`
	Session firn.ID      `json:"session"`
	Message firn.EntryID `json:"message,omitempty"`
	// Reset tells why a new session was begun: daily, idle, ttl, removed, new or
	// reset.
	Reset string `json:"reset,omitempty"`
	// Reply is for the sender: what a command says, or the answer if it was
	// waited for. Deliver says that it may be sent, by the send policy.
	Reply   string  `json:"reply,omitempty"`
	Deliver bool    `json:"deliver"`
	Answer  *Answer `json:"answer,omitempty"`
	// Repeated says that the message was taken before.
	Repeated bool `json:"repeated,omitempty"`
}

// Status is how the gateway is.
type Status struct {
	Version string `json:"version"`
	// Home and Store are where everything is kept; empty for who may not know.
	Home    string    `json:"home"`
	Store   string    `json:"store"`
	Started time.Time `json:"started"`
	// Gateway says how it was reached: its address, or "in-process". TCP is where it
	// listens for clients that have a token, and browsers, if it does. Who may not
	// know where things are is told neither.
	Gateway  string    `json:"gateway"`
	TCP      string    `json:"tcp,omitempty"`
	PID      int       `json:"pid"`
	Sessions int       `json:"sessions"`
	Running  int       `json:"running"`
	Queued   int       `json:"queued"`
	Agents   []Agent   `json:"agents"`
	Recent   []Session `json:"recent,omitempty"`
}

// Agent is an agent as it is set up.
type Agent struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Window   int64  `json:"window"`
	Assumed  bool   `json:"assumed,omitempty"`
}

// Model is a model that can be chosen.
type Model struct {
	ID        string `json:"id"` // provider/model
	Window    int64  `json:"window"`
	MaxOutput int64  `json:"maxOutput,omitempty"`
	Assumed   bool   `json:"assumed,omitempty"`
}

// Move asks for the head to be moved.
type Move struct {
	// To is an entry; Back goes back so many turns instead.
	To   firn.EntryID `json:"to,omitempty"`
	Back int          `json:"back,omitempty"`
	// Summary sums up the branch that is left.
	Summary bool `json:"summary,omitempty"`
}

// Fork asks for a new session that goes on from an entry of this one.
type Fork struct {
	// At is the last entry that is taken along; empty means the head.
	At    firn.EntryID `json:"at,omitempty"`
	Title string       `json:"title,omitempty"`
	Key   string       `json:"key,omitempty"`
}

// Compact asks for a compaction.
type Compact struct {
	Hint       string `json:"hint,omitempty"`
	KeepRecent int64  `json:"keepRecent,omitempty"`
	Model      string `json:"model,omitempty"`
	// Plan tells what would be done and does nothing.
	Plan bool `json:"plan,omitempty"`
}

// Erase asks for a purge.
type Erase struct {
	Entries []firn.EntryID `json:"entries,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	// Sure must be the session's id: it cannot be undone.
	Sure firn.ID `json:"sure"`
	// Plan asks only what would be erased: the receipt tells it, and has no times.
	Plan bool `json:"plan,omitempty"`
}
