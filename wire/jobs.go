package wire

import (
	"time"

	"firn.dev"
)

// Job is a job that runs at certain times, and how it is with it.
type Job struct {
	ID       string `json:"id"`
	Schedule string `json:"schedule"`
	Zone     string `json:"zone,omitempty"`
	Agent    string `json:"agent"`
	// Key is the key of its sessions: each run has its own.
	Key     string `json:"key"`
	Message string `json:"message,omitempty"`
	Enabled bool   `json:"enabled"`
	CatchUp bool   `json:"catchUp,omitempty"`
	// Next is when it runs next, zero if never; Last when it ran last, by the
	// log, and Session the session of that run.
	Next    time.Time `json:"next,omitzero"`
	Last    time.Time `json:"last,omitzero"`
	Session firn.ID   `json:"session,omitempty"`
	Running bool      `json:"running,omitempty"`
	// Runs counts the runs in the log that are listed, Kept those that are
	// archived.
	Runs int `json:"runs"`
	Kept int `json:"kept,omitempty"`
	// Skipped counts the times it should have run while it was running, Missed
	// those that nobody was there for and that were not made up for, both since
	// the gateway was started.
	Skipped int `json:"skipped,omitempty"`
	Missed  int `json:"missed,omitempty"`
	// Error says what went wrong with the last run, if it failed.
	Error string `json:"error,omitempty"`
}

// Maintenance tells what was cleared away, or what would be.
type Maintenance struct {
	// Mode is warn or enforce; Done says that the actions were taken, and is
	// false for a dry run and for warn.
	Mode string    `json:"mode"`
	Done bool      `json:"done"`
	At   time.Time `json:"at"`
	// Sessions is how many sessions there were, Bytes how large they were
	// together. The bin is counted apart, in BinSessions and BinBytes.
	Sessions    int   `json:"sessions"`
	Bytes       int64 `json:"bytes"`
	BinSessions int   `json:"binSessions"`
	BinBytes    int64 `json:"binBytes"`
	// Actions are what is to be done, in order.
	Actions []Action `json:"actions"`
	// Protected counts the sessions that are out of reach, by why they are.
	Protected map[string]int `json:"protected,omitempty"`
	// Kept counts those of them that a setting asks for.
	Kept map[string]int `json:"kept,omitempty"`
	// Exceeded are the limits that are still exceeded afterwards.
	Exceeded []Exceeded `json:"exceeded,omitempty"`
	// Removed, Archived and Erased count the actions by what they do, Failed those that
	// could not be done, Spared those that were not since the session was used
	// meanwhile.
	Removed  int `json:"removed"`
	Archived int `json:"archived"`
	Erased   int `json:"erased,omitempty"`
	Failed   int `json:"failed,omitempty"`
	Spared   int `json:"spared,omitempty"`
	// BytesBinned is how much goes to the bin. It takes up space there until it
	// is erased. BytesErased is how much is erased from the bin for good.
	BytesBinned int64 `json:"bytesBinned"`
	BytesErased int64 `json:"bytesErased,omitempty"`
}

// Exceeded is a limit that is exceeded.
type Exceeded struct {
	// Setting names the limit; Agent is whose it is if each agent has one.
	Setting string `json:"setting"`
	Agent   string `json:"agent,omitempty"`
	// Limit is the most there may be, Is what there is: sessions or bytes. Bin is how
	// many of the bytes are in the bin.
	Limit int64 `json:"limit"`
	Is    int64 `json:"is"`
	Bin   int64 `json:"bin,omitempty"`
}

// Action is what maintenance does to a session.
type Action struct {
	// Do is remove, which is into the bin, archive, or erase, which is from the bin
	// and for good.
	Do      string  `json:"do"`
	Session firn.ID `json:"session"`
	Agent   string  `json:"agent,omitempty"`
	Key     string  `json:"key,omitempty"`
	Title   string  `json:"title,omitempty"`
	// Why names the setting that asks for it.
	Why     string    `json:"why"`
	Bytes   int64     `json:"bytes"`
	Updated time.Time `json:"updated,omitzero"`
	// Outcome is done, spared or failed; empty if it was not tried. Error says
	// what went wrong.
	Outcome string `json:"outcome,omitempty"`
	Error   string `json:"error,omitempty"`
}

// What maintenance does to a session.
const (
	ActionRemove  = "remove"
	ActionArchive = "archive"
	ActionErase   = "erase"
)

// What came of an action.
const (
	OutcomeDone   = "done"
	OutcomeSpared = "spared"
	OutcomeFailed = "failed"
)
