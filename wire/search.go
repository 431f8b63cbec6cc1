package wire

import (
	"time"

	"firn.dev"
)

// SearchQuery is a search for messages. Query is in the search language; the other fields
// narrow it like filters in the query.
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
	// Prompt means that Query is a prompt and not a query: its words are searched without
	// syntax, hidden entries are left out, and there are no hits unless one is likely to be
	// about the prompt.
	Prompt bool `json:"prompt,omitempty"`
	// Group puts the hits of a page that are in the same session one after the other. The
	// session with the best hit is first.
	Group bool `json:"group,omitempty"`
	// In is talk (the default), tools or all.
	In string `json:"in,omitempty"`
	// Machines selects how sessions of jobs, hooks and sub-agents rank: lower (the default),
	// equal, hide or only.
	Machines string `json:"machines,omitempty"`
	// Literal finds Query as it is written, word for word, in the session of that ID:
	// every entry with it, the latest first. Other filters than In do not apply.
	Literal bool `json:"literal,omitempty"`
	// Before and After are the numbers of context items around a hit; nil means 4.
	Before *int `json:"before,omitempty"`
	After  *int `json:"after,omitempty"`
	// Limit is the maximum number of hits; zero means 20.
	Limit  int    `json:"limit,omitempty"`
	Cursor string `json:"cursor,omitempty"`
}

// Found is a page of hits, best first.
type Found struct {
	Items  []Hit  `json:"items"`
	Cursor string `json:"cursor,omitempty"`
	// Unread is the number of unreadable places in the searchable sessions. Their content
	// cannot be found.
	Unread int `json:"unread,omitempty"`
	// Unsearched are sessions that could not be read: they were not searched, or not in
	// their current state. At most 1000 are listed.
	Unsearched []Unsearched `json:"unsearched,omitempty"`
	// Index is the state of the index if it is not up to date: there may be more hits.
	Index *IndexState `json:"index,omitempty"`
}

// Unsearched is a session that could not be read, and why.
type Unsearched struct {
	Session firn.ID `json:"session"`
	Reason  string  `json:"reason"`
}

// Hit is a search hit with its context.
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
	// Score is comparable within one response only; Coverage is the matched share of the
	// query, from 0 to 1.
	Score    float64 `json:"score"`
	Coverage float64 `json:"coverage"`
	// Relevance is the estimated probability that the hit is about the query. It is
	// comparable between queries.
	Relevance float64 `json:"relevance"`
	// Parts are the parts of the score of an answer to a question, by name: its words, its
	// neighbors, similar words, the speaker and so on. Two parts are negative: asks, for
	// a text that is a question itself, and machine, for messages of jobs, hooks and
	// sub-agents.
	Parts map[string]float64 `json:"parts,omitempty"`
	// Snippet is an excerpt of the text with secrets masked; Matches are the byte ranges of
	// the matches in it, as pairs.
	Snippet string   `json:"snippet"`
	Matches [][2]int `json:"matches,omitempty"`
	// Marks are states of the entry: compacted, hidden, other-branch, archived.
	Marks []string `json:"marks,omitempty"`
	// Window is the hit with its context on its branch, in order.
	Window []HitItem `json:"window"`
	// Copies are other places with the same text: forks and mirrors.
	Copies []HitPlace `json:"copies,omitempty"`
}

// HitItem is an entry in the context of a hit.
type HitItem struct {
	Entry firn.EntryID `json:"entry"`
	At    firn.Pos     `json:"at"`
	N     int          `json:"n"`
	Role  string       `json:"role"`
	Tools []string     `json:"tools,omitempty"`
	Time  time.Time    `json:"time"`
	Text  string       `json:"text"`
	// Hit marks the hit itself.
	Hit bool `json:"hit,omitempty"`
}

// HitPlace is the place of a copy.
type HitPlace struct {
	Session firn.ID      `json:"session"`
	Entry   firn.EntryID `json:"entry"`
}

// IndexState is the state of the full-text index.
type IndexState struct {
	// Building means that sessions are being read: Done of Total. Rebuilding means that a
	// new index is built while the old one is used.
	Building   bool `json:"building"`
	Rebuilding bool `json:"rebuilding,omitempty"`
	Done       int  `json:"done"`
	Total      int  `json:"total"`
	// Read is the approximate number of bytes read, of Bytes. A single session may be most
	// of it.
	Read  int64 `json:"read,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`
	// Failed is the error of the last attempt, empty if there was none.
	Failed string `json:"failed,omitempty"`
	// Vectors is the progress of the vectors of an embeddings model, if one is set.
	Vectors *VectorState `json:"vectors,omitempty"`
}

// VectorState is the progress of the vectors of messages.
type VectorState struct {
	// Model is the model and its host. Done of Total messages have a vector.
	Model string `json:"model"`
	Done  int    `json:"done"`
	Total int    `json:"total"`
	// Failed is the error of the last call, empty if it succeeded. Search works without
	// vectors.
	Failed string `json:"failed,omitempty"`
}

// IndexReport reports whether the indexes match the sessions.
type IndexReport struct {
	OK bool `json:"ok"`
	// Differences are the mismatches, at most 1000.
	Differences []IndexDifference `json:"differences"`
}

// IndexDifference is a mismatch between an index and a session.
type IndexDifference struct {
	// Index is words or catalog.
	Index   string `json:"index"`
	Session string `json:"session,omitempty"`
	Detail  string `json:"detail"`
}
