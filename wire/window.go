package wire

import (
	"encoding/json"

	"firn.dev"
)

// Window is what the model of a session is sent next, and an account of it.
type Window struct {
	Session firn.ID `json:"session"`
	// Head is the entry it ends with, End the position it was read at.
	Head     firn.EntryID `json:"head,omitempty"`
	End      firn.Pos     `json:"end"`
	Provider string       `json:"provider,omitempty"`
	Model    string       `json:"model,omitempty"`
	// Profile names the rules that the messages were made to obey.
	Profile string `json:"profile,omitempty"`
	Usage   Usage  `json:"usage"`
	// Totals are what the counter makes of the parts.
	Totals WindowTotals `json:"totals"`
	// Compactions is how many compactions the branch has had.
	Compactions int `json:"compactions,omitempty"`
	// In are the runs of entries that are in, Out those that are not.
	In  []Run `json:"in"`
	Out []Run `json:"out"`
	// Items are the latest messages of the window, oldest first; Count is how
	// many there are in all.
	Items []WindowItem `json:"items"`
	Count int          `json:"count"`
	// Injected lists what is sent for one turn and is not in the log: notes, what
	// memory recalls, the environment, instruction files. It is that of a turn which
	// answers the last message of the user.
	Injected []Injected `json:"injected,omitempty"`
	Repairs  []Repair   `json:"repairs,omitempty"`
	// Damage lists the faults of the live part, oldest first. What could not be
	// read is not sent, and nothing is sent in its place.
	Damage []Damage `json:"damage,omitempty"`
	// Request is the request as the provider would get it, if it was asked for.
	Request json.RawMessage `json:"request,omitempty"`
}

// WindowTotals are estimates of the tokens of a window by kind.
type WindowTotals struct {
	// System is the system prompt, Specs what the model is told of its tools.
	System int64 `json:"system"`
	Specs  int64 `json:"specs"`
	// Notes is what is injected for one run, Summary the summary of a
	// compaction, Tools the results of tools, Kept all other messages.
	Notes   int64 `json:"notes"`
	Summary int64 `json:"summary"`
	Kept    int64 `json:"kept"`
	Tools   int64 `json:"tools"`
}

// Injected is something that is sent for one turn and is not in the log.
type Injected struct {
	Name   string `json:"name"`
	Tokens int64  `json:"tokens"`
	// Sources names the files it comes from, if it comes from files.
	Sources []string `json:"sources,omitempty"`
	// Preview is the beginning of it, on one line.
	Preview string `json:"preview,omitempty"`
}

// Run is a number of entries of the branch, one after the other.
type Run struct {
	First firn.EntryID `json:"first,omitempty"`
	Last  firn.EntryID `json:"last,omitempty"`
	// From and To are their numbers, as in #n; zero if not known.
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
	// Count is how many they are; -1 if that is not known.
	Count int `json:"count"`
	// Why says in one word why they are out; empty if they are in. Those that
	// are pruned are in, with less in them.
	Why string `json:"why,omitempty"`
}

// WindowItem is one message of a window.
type WindowItem struct {
	Role   firn.Role `json:"role"`
	Tokens int64     `json:"tokens"`
	// From names the entries it was made of, Injected what is in it that is not
	// in the log.
	From     []firn.EntryID `json:"from,omitempty"`
	Injected []string       `json:"injected,omitempty"`
	// Synthetic says that nobody said it: a rule needed it.
	Synthetic bool `json:"synthetic,omitempty"`
	// Preview is the beginning of what it says, on one line.
	Preview string `json:"preview,omitempty"`
}

// Repair is one change that was made so that the provider takes the window.
// The log is as it was.
type Repair struct {
	Rule  string       `json:"rule"`
	Entry firn.EntryID `json:"entry,omitempty"`
	What  string       `json:"what"`
}
