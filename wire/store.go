package wire

import (
	"time"

	"firn.dev"
)

// StoreLine is a line of what a store holds: a session, or a key and the session
// that it points at.
type StoreLine struct {
	*StoredSession
	Key string  `json:"key,omitempty"`
	To  firn.ID `json:"to,omitempty"`
}

// StoredSession is a session as its store holds it, also one that was put away.
type StoredSession struct {
	ID firn.ID `json:"id"`
	// Bytes is the size of its lines, as a file, Modified when they last changed.
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified,omitzero"`
	Archived bool      `json:"archived,omitempty"`
	// Removed says that it is in the bin, Reason why.
	Removed bool   `json:"removed,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Receipt is that of a session which was purged: all that is left of it.
	Receipt *Receipt `json:"receipt,omitempty"`
}
