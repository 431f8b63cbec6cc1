package search

import (
	"slices"

	"firn.dev"
)

// Answer is the result of a search.
type Answer struct {
	Hits []Hit
	// Cursor requests more results; empty if there are none.
	Cursor string
	// Unread is the number of unreadable places in the searched sessions. Their content is
	// not found.
	Unread int
	// Unsearched are sessions that could not be read, so they were not searched, or not in
	// their current state.
	Unsearched []Unsearched
	// State reports how much of the sessions was searched: all, unless the index is being
	// built.
	State State
}

// Unsearched is a session that could not be read, and the reason.
type Unsearched struct {
	Session firn.ID
	Reason  string
}

// State is the state of an index.
type State struct {
	// Building is set while sessions are being read: Done of Total changed sessions, and
	// approximately Read of Bytes, since one session may be most of it.
	Building    bool
	Done, Total int
	Read, Bytes int64
	// Rebuilding is set while a new index is built next to the one in use.
	Rebuilding bool
	// Failed describes the last error; empty if there was none.
	Failed string
	// Vectors is the progress of the vectors of an embeddings model; nil if there is none.
	Vectors *VectorState
}

// VectorState is the progress of the vectors of messages.
type VectorState struct {
	// Model is the name of the model. Done of Total messages have a vector.
	Model       string
	Done, Total int
	// Failed describes the last error; empty if the last call succeeded.
	Failed string
}

// Difference is a difference between an index and the sessions.
type Difference struct {
	// Session is the session; empty for the index as a whole.
	Session string
	// Detail is a description for users.
	Detail string
}

// GroupBySession puts the hits of a session one after the other, in their order. Sessions are in
// the order of their first hits.
func GroupBySession(hits []Hit) {
	first := make(map[firn.ID]int)
	for i, h := range hits {
		if _, ok := first[h.Session]; !ok {
			first[h.Session] = i
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return first[a.Session] - first[b.Session] })
}

// Words returns a query for the words of a text, without query syntax. Of a long text it
// uses the first words.
func Words(text string) Query {
	node := &Node{Op: OpList}
	seen := make(map[string]bool)
	for _, token := range Tokens(text) {
		if token.Extra || len(node.Kids) == MaxWords {
			continue
		}
		t, ok := newTerm(text[token.Start:token.End], false, false)
		if !ok || seen[t.Whole+" "+t.Parts[0]] {
			continue
		}
		seen[t.Whole+" "+t.Parts[0]] = true
		node.Kids = append(node.Kids, &Node{Op: OpTerm, Term: t})
	}
	return Query{Want: tidy(node)}
}
