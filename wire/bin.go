package wire

import (
	"time"

	"firn.dev"
)

// Binned is a session in the bin.
type Binned struct {
	Session firn.ID `json:"session"`
	Agent   string  `json:"agent,omitempty"`
	Key     string  `json:"key,omitempty"`
	// Title is the title, or the beginning of the first message if there is none.
	Title string `json:"title,omitempty"`
	// Removed is when the session was moved to the bin, Reason why, Erased when
	// maintenance erases it; zero if that is not known or not set.
	Removed time.Time `json:"removed,omitzero"`
	Reason  string    `json:"reason,omitempty"`
	Erased  time.Time `json:"erased,omitzero"`
	// Updated is the time of its latest entry, Bytes the space it takes in the bin.
	Updated time.Time `json:"updated,omitzero"`
	Bytes   int64     `json:"bytes"`
	// Fault says what is wrong with it, Error why it was not erased.
	Fault string `json:"fault,omitempty"`
	Error string `json:"error,omitempty"`
}

// Bin is a list of sessions in the bin, the one removed last first. Total and Bytes
// count all of them, also those that are not listed.
type Bin struct {
	Items []Binned `json:"items"`
	Total int      `json:"total"`
	Bytes int64    `json:"bytes"`
}

// EmptyBin asks to erase sessions in the bin for good.
type EmptyBin struct {
	// Sessions names the sessions; empty means all.
	Sessions []firn.ID `json:"sessions,omitempty"`
	// Before selects those that were moved to the bin before then; zero means all.
	Before time.Time `json:"before,omitzero"`
	Reason string    `json:"reason,omitempty"`
	// Sure must be set: it cannot be undone. Plan asks only what would be erased.
	Sure bool `json:"sure,omitempty"`
	Plan bool `json:"plan,omitempty"`
}

// EmptiedBin reports what was erased from the bin, or with Plan what would be.
type EmptiedBin struct {
	Plan bool `json:"plan,omitempty"`
	// Items are the sessions that were chosen; those with an Error are still there.
	Items []Binned `json:"items"`
	// Erased and Bytes count those that were erased, Failed those that were not.
	Erased int   `json:"erased"`
	Bytes  int64 `json:"bytes"`
	Failed int   `json:"failed,omitempty"`
	// Left counts the sessions that stay in the bin.
	Left int `json:"left"`
}
