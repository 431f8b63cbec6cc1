package search

import "firn.dev"

// Answer is what a search found.
type Answer struct {
	Hits []Hit
	// Cursor asks for more; empty if there is none.
	Cursor string
	// Unread is how many places could not be read in the sessions that may be
	// found: what stood there is not found.
	Unread int
	// Unsearched are the sessions that could not be read at all, and so were not
	// searched, or not as they are now.
	Unsearched []Unsearched
	// State says how much of the sessions was looked at: all, unless the index is
	// being built.
	State State
}

// Unsearched is a session that could not be read, and why.
type Unsearched struct {
	Session firn.ID
	Reason  string
}

// State tells how an index is.
type State struct {
	// Building says that sessions are being read; Done of Total, of which there
	// were changes, and Read of Bytes, about, as one of them may be most of it.
	Building    bool
	Done, Total int
	Read, Bytes int64
	// Rebuilding says that it is built anew beside the one that is used.
	Rebuilding bool
	// Failed says what went wrong the last time, empty if nothing did.
	Failed string
}

// Difference is a point in which an index does not tell what the sessions do.
type Difference struct {
	// Session is where, empty if it is the index as a whole.
	Session string
	// Detail says it in words.
	Detail string
}

// Words makes a query of a text as it is: every word of it counts, and nothing
// in it has a meaning of its own. Of a long text it is the first words.
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
