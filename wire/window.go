package wire

import (
	"encoding/json"

	"firn.dev"
)

// Window is the content that will be sent to the model of a session next, with statistics.
type Window struct {
	Session firn.ID `json:"session"`
	// Head is the last entry it contains, End the position it was read at.
	Head     firn.EntryID `json:"head,omitempty"`
	End      firn.Pos     `json:"end"`
	Provider string       `json:"provider,omitempty"`
	Model    string       `json:"model,omitempty"`
	// Profile names the provider rules that the messages were adapted to.
	Profile string `json:"profile,omitempty"`
	Usage   Usage  `json:"usage"`
	// Totals are the token counts of the parts.
	Totals WindowTotals `json:"totals"`
	// Compactions is the number of compactions on the branch.
	Compactions int `json:"compactions,omitempty"`
	// In are the runs of entries in the window, Out those outside it.
	In  []Run `json:"in"`
	Out []Run `json:"out"`
	// Items are the latest messages of the window, oldest first; Count is the total number.
	Items []WindowItem `json:"items"`
	Count int          `json:"count"`
	// Injected lists the text sent for one turn that is not in the log: notes, recalled
	// memory, the environment, instruction files. It is computed for a turn that answers
	// the last user message.
	Injected []Injected `json:"injected,omitempty"`
	Repairs  []Repair   `json:"repairs,omitempty"`
	// Damage lists the faults of the live part, oldest first. Unreadable entries are not
	// sent and not replaced.
	Damage []Damage `json:"damage,omitempty"`
	// Request is the request in the provider's format, if requested.
	Request json.RawMessage `json:"request,omitempty"`
}

// WindowTotals are estimates of the tokens of a window by kind.
type WindowTotals struct {
	// System is the system prompt, Specs the tool definitions.
	System int64 `json:"system"`
	Specs  int64 `json:"specs"`
	// Notes is the text injected for one run, Summary the summary of a compaction, Tools
	// the tool results, Kept all other messages.
	Notes   int64 `json:"notes"`
	Summary int64 `json:"summary"`
	Kept    int64 `json:"kept"`
	Tools   int64 `json:"tools"`
}

// Injected is text that is sent for one turn and is not in the log.
type Injected struct {
	Name   string `json:"name"`
	Tokens int64  `json:"tokens"`
	// Sources names its source files, if any.
	Sources []string `json:"sources,omitempty"`
	// Preview is the start of its text, on one line.
	Preview string `json:"preview,omitempty"`
}

// Run is a run of consecutive entries of the branch.
type Run struct {
	First firn.EntryID `json:"first,omitempty"`
	Last  firn.EntryID `json:"last,omitempty"`
	// From and To are their numbers, as in #n; zero if not known.
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
	// Count is the number of entries; -1 if not known.
	Count int `json:"count"`
	// Why is a one-word reason why they are out; empty if they are in. Pruned entries are
	// in, with less content.
	Why string `json:"why,omitempty"`
}

// WindowItem is one message of a window.
type WindowItem struct {
	Role   firn.Role `json:"role"`
	Tokens int64     `json:"tokens"`
	// From are the entries it was built from, Injected the injections it contains.
	From     []firn.EntryID `json:"from,omitempty"`
	Injected []string       `json:"injected,omitempty"`
	// Synthetic means that the message is not from the log but required by a provider rule.
	Synthetic bool `json:"synthetic,omitempty"`
	// Preview is the start of its text, on one line.
	Preview string `json:"preview,omitempty"`
}

// Repair is a change made so that the provider accepts the window. The log is not changed.
type Repair struct {
	Rule  string       `json:"rule"`
	Entry firn.EntryID `json:"entry,omitempty"`
	What  string       `json:"what"`
}
