package wire

import (
	"time"

	"firn.dev"
)

// Key is a key and the session it points to.
type Key struct {
	Key   string `json:"key"`
	Agent string `json:"agent"`
	// Session is the current session; empty if there is none yet.
	Session firn.ID `json:"session,omitempty"`
	// Title is the title of the current session, or the start of its first message.
	Title string `json:"title,omitempty"`
	// ChatType is direct, group or channel; Kind is the kind of key.
	ChatType string    `json:"chatType,omitempty"`
	Kind     string    `json:"kind,omitempty"`
	Updated  time.Time `json:"updated,omitzero"`
	// Reset describes the reset policy of the key.
	Reset string `json:"reset,omitempty"`
	// History are all sessions the key ever pointed to, latest first; only for a single
	// key, not in lists.
	History []Session `json:"history,omitempty"`
}

// Inbound is a message from an external channel.
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
	// Subject is the name of the group or channel; it is the default title of its sessions.
	Subject string `json:"subject,omitempty"`
	// ID is the ID of the message at its source, for deduplication.
	ID string `json:"id,omitempty"`
	// Wait waits for the answer; otherwise the message is acknowledged once it is durable.
	Wait bool `json:"wait,omitempty"`
}

// Routed is the result of an inbound message.
type Routed struct {
	Key     string       `json:"key"`
	Session firn.ID      `json:"session"`
	Message firn.EntryID `json:"message,omitempty"`
	// Reset is why a new session was started: daily, idle, ttl, removed, new or reset.
	Reset string `json:"reset,omitempty"`
	// Reply is for the sender: the output of a command, or the answer if it was awaited.
	// Deliver means that the send policy allows sending it.
	Reply   string  `json:"reply,omitempty"`
	Deliver bool    `json:"deliver"`
	Answer  *Answer `json:"answer,omitempty"`
	// Repeated means that the message was already received.
	Repeated bool `json:"repeated,omitempty"`
	// Challenge repeats the challenge with which a service checks the address of a hook. There
	// is no message then.
	Challenge string `json:"challenge,omitempty"`
}

// Setting is a setting of the gateway that people change, with where it is set.
type Setting struct {
	// Path is the name of the setting, such as agents.main.model. Value is its value; a
	// list is in TOML syntax.
	Path  string `json:"path"`
	Value string `json:"value"`
	// Layer is default, file, environment or flag. Where is the file and line, the variable
	// or the flag; the directory of the file is omitted.
	Layer       string `json:"layer"`
	Where       string `json:"where,omitempty"`
	Description string `json:"description"`
}

// Status is the status of the gateway.
type Status struct {
	Version string `json:"version"`
	// Home and Store are the storage locations; empty if the caller may not see them.
	Home    string    `json:"home"`
	Store   string    `json:"store"`
	Started time.Time `json:"started"`
	// Gateway is the address the gateway was reached at, or "in-process". TCP is the
	// address for clients with a token and browsers, if there is one. Both are empty if the
	// caller may not see them.
	Gateway  string    `json:"gateway"`
	TCP      string    `json:"tcp,omitempty"`
	PID      int       `json:"pid"`
	Sessions int       `json:"sessions"`
	Running  int       `json:"running"`
	Queued   int       `json:"queued"`
	Agents   []Agent   `json:"agents"`
	Recent   []Session `json:"recent,omitempty"`
	// MCP are the MCP servers that agents use. It is absent if the caller may not see them.
	MCP []MCPServer `json:"mcp,omitempty"`
}

// MCPServer is a server of the Model Context Protocol whose tools agents can use.
type MCPServer struct {
	Name string `json:"name"`
	// Source is where it is configured: settings, or .mcp.json of a project.
	Source string `json:"source"`
	// State is idle, starting, ready or failed. Problem says why it failed.
	State   string `json:"state"`
	Problem string `json:"problem,omitempty"`
	// Tools are the names of its tools; empty unless it is ready.
	Tools []string `json:"tools"`
}

// Agent is a configured agent.
type Agent struct {
	ID       string `json:"id"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Window   int64  `json:"window"`
	Assumed  bool   `json:"assumed,omitempty"`
}

// Model is an available model.
type Model struct {
	ID        string `json:"id"` // provider/model
	Window    int64  `json:"window"`
	MaxOutput int64  `json:"maxOutput,omitempty"`
	Assumed   bool   `json:"assumed,omitempty"`
	// Local is set if a server on the gateway's machine offers it.
	Local bool `json:"local,omitempty"`
}

// Move is a request to move the head.
type Move struct {
	// To is an entry, or - for the place before the first one; Back is the number of turns
	// to go back instead.
	To   firn.EntryID `json:"to,omitempty"`
	Back int          `json:"back,omitempty"`
	// Summary summarizes the abandoned branch.
	Summary bool `json:"summary,omitempty"`
}

// Fork is a request for a new session that continues from an entry of this one.
type Fork struct {
	// At is the last entry to copy; empty means the head.
	At    firn.EntryID `json:"at,omitempty"`
	Title string       `json:"title,omitempty"`
	Key   string       `json:"key,omitempty"`
}

// Compact is a request for a compaction.
type Compact struct {
	Hint       string `json:"hint,omitempty"`
	KeepRecent int64  `json:"keepRecent,omitempty"`
	Model      string `json:"model,omitempty"`
	// Plan returns the plan without running it.
	Plan bool `json:"plan,omitempty"`
}

// Erase is a request for a purge.
type Erase struct {
	Entries []firn.EntryID `json:"entries,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	// Sure must be the session's ID, because a purge cannot be undone.
	Sure firn.ID `json:"sure"`
	// Plan only returns a receipt of the data that would be erased, without times.
	Plan bool `json:"plan,omitempty"`
}
