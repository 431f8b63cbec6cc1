package wire

import (
	"time"

	"firn.dev"
)

// Job is a scheduled job and its state.
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
	// Next is the time of the next run, zero if never; Last is the time of the last run in
	// the log, and Session the session of that run.
	Next    time.Time `json:"next,omitzero"`
	Last    time.Time `json:"last,omitzero"`
	Session firn.ID   `json:"session,omitempty"`
	Running bool      `json:"running,omitempty"`
	// Runs counts the listed runs in the log, Kept the archived ones.
	Runs int `json:"runs"`
	Kept int `json:"kept,omitempty"`
	// Skipped counts runs skipped because the previous one was still running. Missed counts
	// runs that were missed while no gateway was running and were not made up for. Both
	// count since the gateway was started.
	Skipped int `json:"skipped,omitempty"`
	Missed  int `json:"missed,omitempty"`
	// Error is the error of the last run, if it failed.
	Error string `json:"error,omitempty"`
}

// Maintenance reports the actions of a maintenance run, or with a dry run those it would
// take.
type Maintenance struct {
	// Mode is warn or enforce. Done means that the actions were taken; it is false for a
	// dry run and for warn.
	Mode string    `json:"mode"`
	Done bool      `json:"done"`
	At   time.Time `json:"at"`
	// Sessions is the number of sessions, Bytes their total size. The trash bin is counted
	// separately, in BinSessions and BinBytes.
	Sessions    int   `json:"sessions"`
	Bytes       int64 `json:"bytes"`
	BinSessions int   `json:"binSessions"`
	BinBytes    int64 `json:"binBytes"`
	// Actions are the actions to take, in order.
	Actions []Action `json:"actions"`
	// Protected counts the sessions that maintenance must not touch, by reason.
	Protected map[string]int `json:"protected,omitempty"`
	// Kept counts those of them that a setting would otherwise select.
	Kept map[string]int `json:"kept,omitempty"`
	// Exceeded are the limits that are still exceeded afterwards.
	Exceeded []Exceeded `json:"exceeded,omitempty"`
	// Removed, Archived and Erased count the actions by type, Failed those that failed, and
	// Spared those not taken because the session was used meanwhile.
	Removed  int `json:"removed"`
	Archived int `json:"archived"`
	Erased   int `json:"erased,omitempty"`
	Failed   int `json:"failed,omitempty"`
	Spared   int `json:"spared,omitempty"`
	// BytesBinned is the number of bytes moved to the trash bin, where they take up space until
	// they are erased. BytesErased is the number of bytes erased from the trash bin permanently.
	BytesBinned int64 `json:"bytesBinned"`
	BytesErased int64 `json:"bytesErased,omitempty"`
}

// Exceeded is a limit that is exceeded.
type Exceeded struct {
	// Setting names the limit; Agent is set for a limit per agent.
	Setting string `json:"setting"`
	Agent   string `json:"agent,omitempty"`
	// Limit is the limit, Is the current value: sessions or bytes. Bin is the number of
	// those bytes in the trash bin.
	Limit int64 `json:"limit"`
	Is    int64 `json:"is"`
	Bin   int64 `json:"bin,omitempty"`
}

// Action is a maintenance action on a session.
type Action struct {
	// Do is remove (move to the trash bin), archive, or erase (delete from the trash bin
	// permanently).
	Do      string  `json:"do"`
	Session firn.ID `json:"session"`
	Agent   string  `json:"agent,omitempty"`
	Key     string  `json:"key,omitempty"`
	Title   string  `json:"title,omitempty"`
	// Why names the setting that caused it.
	Why     string    `json:"why"`
	Bytes   int64     `json:"bytes"`
	Updated time.Time `json:"updated,omitzero"`
	// Outcome is done, spared or failed; empty if it was not tried. Error is the error
	// message.
	Outcome string `json:"outcome,omitempty"`
	Error   string `json:"error,omitempty"`
}

// The maintenance actions.
const (
	ActionRemove  = "remove"
	ActionArchive = "archive"
	ActionErase   = "erase"
)

// The outcomes of an action.
const (
	OutcomeDone   = "done"
	OutcomeSpared = "spared"
	OutcomeFailed = "failed"
)
