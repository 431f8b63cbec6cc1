package wire

import (
	"time"

	"firn.dev"
)

// SearchQuery asks for what was said. Query is in the language of searches;
// the others narrow it, as filters in the query do.
type SearchQuery struct {
	Query   string `json:"q,omitempty"`
	Role    string `json:"role,omitempty"`
	Tool    string `json:"tool,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Key     string `json:"key,omitempty"`
	Source  string `json:"source,omitempty"`
	Path    string `json:"path,omitempty"`
	Session string `json:"session,omitempty"`
	Since   string `json:"since,omitempty"`
	Until   string `json:"until,omitempty"`
	// In is talk, which empty means, tools or all.
	In string `json:"in,omitempty"`
	// Before and After are how many items around a hit are told; nil is 4.
	Before *int `json:"before,omitempty"`
	After  *int `json:"after,omitempty"`
	// Limit is how many hits; zero is 20.
	Limit  int    `json:"limit,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}

// Found is what a search found: a page of hits, the best first.
type Found struct {
	Items  []Hit  `json:"items"`
	Cursor string `json:"cursor,omitempty"`
	// Unread is how many places could not be read in the sessions that may be
	// found. What stood there cannot be found.
	Unread int `json:"unread,omitempty"`
	// Unsearched are sessions that could not be read at all: they were not
	// searched, or not as they are now. At most 1000 are named.
	Unsearched []Unsearched `json:"unsearched,omitempty"`
	// Index tells how far the index is, if it is not up to date: then there may
	// be more.
	Index *IndexState `json:"index,omitempty"`
}

// Unsearched is a session that could not be read, and why.
type Unsearched struct {
	Session firn.ID `json:"session"`
	Reason  string  `json:"reason"`
}

// Hit is something that was found, with what stands around it.
type Hit struct {
	Session firn.ID      `json:"session"`
	Entry   firn.EntryID `json:"entry"`
	At      firn.Pos     `json:"at"`
	// N is its number in the session: the n of #n.
	N      int    `json:"n"`
	Agent  string `json:"agent,omitempty"`
	Key    string `json:"key,omitempty"`
	Source string `json:"source,omitempty"`
	Title  string `json:"title,omitempty"`
	CWD    string `json:"cwd,omitempty"`
	// Role is user, assistant, tool, shell, system, summary or title.
	Role  string    `json:"role"`
	Tools []string  `json:"tools,omitempty"`
	Time  time.Time `json:"time"`
	// Score is for comparison within one answer; Coverage is the share of what
	// was asked for that it has, from 0 to 1.
	Score    float64 `json:"score"`
	Coverage float64 `json:"coverage"`
	// Snippet is a piece of the text, without secrets; Matches are where in it
	// the words are, as pairs of bytes.
	Snippet string   `json:"snippet"`
	Matches [][2]int `json:"matches,omitempty"`
	// Marks are what has become of it: compacted, hidden, other-branch, archived.
	Marks []string `json:"marks,omitempty"`
	// Window is the hit and what stands around it on its branch, in order.
	Window []HitItem `json:"window"`
	// Copies are other places that say the same: forks and mirrors.
	Copies []HitPlace `json:"copies,omitempty"`
}

// HitItem is an entry in the window of a hit.
type HitItem struct {
	Entry firn.EntryID `json:"entry"`
	At    firn.Pos     `json:"at"`
	N     int          `json:"n"`
	Role  string       `json:"role"`
	Tools []string     `json:"tools,omitempty"`
	Time  time.Time    `json:"time"`
	Text  string       `json:"text"`
	// Hit says that it is the hit itself.
	Hit bool `json:"hit,omitempty"`
}

// HitPlace is where a copy stands.
type HitPlace struct {
	Session firn.ID      `json:"session"`
	Entry   firn.EntryID `json:"entry"`
}

// IndexState tells how the index of words is.
type IndexState struct {
	// Building says that sessions are being read: Done of Total. Rebuilding says
	// that it is built anew, beside the one that is used.
	Building   bool `json:"building"`
	Rebuilding bool `json:"rebuilding,omitempty"`
	Done       int  `json:"done"`
	Total      int  `json:"total"`
	// Read is how much of them was read, of Bytes, about: one may be most of it.
	Read  int64 `json:"read,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`
	// Failed says what went wrong the last time, empty if nothing did.
	Failed string `json:"failed,omitempty"`
}

// IndexReport tells whether the indexes say what the sessions do.
type IndexReport struct {
	OK bool `json:"ok"`
	// Differences are where they do not, at most 1000 of them.
	Differences []IndexDifference `json:"differences"`
}

// IndexDifference is a point in which an index is wrong.
type IndexDifference struct {
	// Index is words or catalogue.
	Index   string `json:"index"`
	Session string `json:"session,omitempty"`
	Detail  string `json:"detail"`
}
