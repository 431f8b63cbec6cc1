package wire

import (
	"time"

	"firn.dev"
)

// StoreLine is a line of a store listing: a session, or a key and the session it points to.
type StoreLine struct {
	*StoredSession
	Key string  `json:"key,omitempty"`
	To  firn.ID `json:"to,omitempty"`
}

// StoredSession is a session in its store, including archived and removed ones.
type StoredSession struct {
	ID firn.ID `json:"id"`
	// Bytes is the size of its lines as a file, Modified when they last changed.
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified,omitzero"`
	Archived bool      `json:"archived,omitempty"`
	// Removed means that it is in the bin, Reason why.
	Removed bool   `json:"removed,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Receipt is the receipt of a purged session; nothing else is left of it.
	Receipt *Receipt `json:"receipt,omitempty"`
}
