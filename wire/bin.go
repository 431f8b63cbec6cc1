package wire

import (
	"time"

	"firn.dev"
)

// Binned is a session in the trash bin.
type Binned struct {
	Session firn.ID `json:"session"`
	Agent   string  `json:"agent,omitempty"`
	Key     string  `json:"key,omitempty"`
	// Title is the title, or the start of the first message if there is none.
	Title string `json:"title,omitempty"`
	// Removed is when the session was moved to the trash bin, Reason why, and Erased when
	// maintenance will erase it; zero if unknown or not set.
	Removed time.Time `json:"removed,omitzero"`
	Reason  string    `json:"reason,omitempty"`
	Erased  time.Time `json:"erased,omitzero"`
	// Updated is the time of its latest entry, Bytes the space it takes in the trash bin.
	Updated time.Time `json:"updated,omitzero"`
	Bytes   int64     `json:"bytes"`
	// Fault describes a damaged session, Error why it was not erased.
	Fault string `json:"fault,omitempty"`
	Error string `json:"error,omitempty"`
}

// Bin is a list of sessions in the trash bin, most recently removed first. Total and Bytes cover
// all of them, including those not listed.
type Bin struct {
	Items []Binned `json:"items"`
	Total int      `json:"total"`
	Bytes int64    `json:"bytes"`
}

// EmptyBin is a request to erase sessions in the trash bin permanently.
type EmptyBin struct {
	// Sessions names the sessions; empty means all.
	Sessions []firn.ID `json:"sessions,omitempty"`
	// Before selects sessions moved to the trash bin before that time; zero means all.
	Before time.Time `json:"before,omitzero"`
	Reason string    `json:"reason,omitempty"`
	// Sure must be set, because erasing cannot be undone. Plan only returns the sessions
	// that would be erased.
	Sure bool `json:"sure,omitempty"`
	Plan bool `json:"plan,omitempty"`
}

// EmptiedBin reports the sessions erased from the trash bin, or with Plan those that would be.
type EmptiedBin struct {
	Plan bool `json:"plan,omitempty"`
	// Items are the selected sessions; those with an Error are still there.
	Items []Binned `json:"items"`
	// Erased and Bytes count the erased sessions, Failed those that could not be erased.
	Erased int   `json:"erased"`
	Bytes  int64 `json:"bytes"`
	Failed int   `json:"failed,omitempty"`
	// Left counts the sessions that stay in the trash bin.
	Left int `json:"left"`
}
