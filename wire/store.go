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
	// Removed means that it is in the trash bin, Reason why.
	Removed bool   `json:"removed,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Receipt is the receipt of a purged session; nothing else is left of it.
	Receipt *Receipt `json:"receipt,omitempty"`
}

// Merge says where entries from another machine are added to a session.
type Merge struct {
	// Expect is the end of the session as the caller read it; 0 for a new session.
	Expect firn.Pos `json:"expect"`
	// Head is the entry at which the conversation continues afterwards.
	Head firn.EntryID `json:"head,omitempty"`
}

// Merged is the result of a merge.
type Merged struct {
	// Added is the number of lines that were added.
	Added int `json:"added"`
	// End is the new end of the session.
	End firn.Pos `json:"end"`
}
