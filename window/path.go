package window

import (
	"encoding/json"

	"firn"
)

// Path is the live part of a session: what a reader needs to go on with it.
type Path struct {
	// Entries runs from the kept-from mark (or the root) to the head, oldest
	// first. What is on another branch, hidden by a tombstone or older than the
	// mark is not in it. Entries that no model sees (labels, titles, compactions
	// and the like) are.
	Entries []firn.Entry
	// Head is the entry the next one follows. It is named even if it is hidden.
	Head firn.EntryID
	// Compaction is the one that counts, nil if there is none.
	Compaction *firn.Entry
	// State is the model and thinking level that the path settled, as far as
	// it was read.
	State firn.State
	// Hidden says that the session as a whole was hidden. It is known only if
	// the header was reached; who knows the session's id can ask [Path.Hides].
	Hidden bool
	// Out tells what was left out and why, oldest first.
	Out []Omission
	// Gaps are the faults met on the way, oldest first: records that could not
	// be read, and entries of the path whose parent had to be guessed.
	Gaps []firn.Gap
	// Header is nil if it was not reached.
	Header *firn.Header
	// Start is where reading stopped: nothing before it was looked at.
	Start firn.Pos
	// End is the position after the newest record that was read, zero if there
	// was none. Append there, and it is refused if somebody else spoke
	// meanwhile; follow from there, and nothing is missed or seen twice.
	End firn.Pos

	hides map[firn.EntryID]mark
	// stale is how many entries, from the oldest, were written before something
	// of the path was hidden or shown again: what they tell of its size is not
	// true any more.
	stale int
}

// Hides reports whether a tombstone that counts, among those that were read,
// points at id. Ask it with the session's id to learn whether the session as a
// whole is hidden.
func (p Path) Hides(id firn.EntryID) bool {
	_, ok := p.hides[id]
	return ok
}

// Why says in one word why an entry is not sent.
type Why string

// Why an entry is not sent.
const (
	// Compacted entries are stood for by a summary.
	Compacted Why = "compacted"
	// Pruned entries were shortened or cleared to make room.
	Pruned Why = "pruned"
	// Tombstoned entries were hidden by a later entry.
	Tombstoned Why = "tombstoned"
	// OtherBranch entries do not lead to the head.
	OtherBranch Why = "other-branch"
	// Hidden entries are messages that are never sent: an answer that failed, a
	// command kept from the model, a role we do not know.
	Hidden Why = "hidden"
	// Erased entries were purged; only their place is left.
	Erased Why = "erased"
)

// Omission is a run of entries that are not sent, and why.
type Omission struct {
	Why Why
	// First and Last are the oldest and the newest of them, if known.
	First, Last firn.EntryID
	// Count is how many they are; -1 if they were not read, which then goes for
	// everything before the position Before.
	Count int
	// Before is the position right behind the last of them; zero if not known.
	Before firn.Pos
}

// settle finds the model and thinking level in force at the end of the
// entries. A compaction answers for everything before it.
func settle(entries []firn.Entry) firn.State {
	var s firn.State
	for i := len(entries) - 1; i >= 0 && (s.Model == "" || s.ThinkingLevel == ""); i-- {
		switch b := entries[i].Body.(type) {
		case *firn.ModelChange:
			s = older(s, firn.State{Provider: b.Provider, Model: b.Model})
		case *firn.ThinkingChange:
			s = older(s, firn.State{ThinkingLevel: b.Level})
		case *firn.Message:
			if b.Role == firn.RoleAssistant && !mirrored(b) {
				s = older(s, firn.State{Provider: b.Provider, Model: b.Model})
			}
		case *firn.Compaction:
			s = older(s, stateOf(b.Details))
		}
	}
	return s
}

// older fills what s leaves open from an earlier state. Provider and model
// belong together.
func older(s, earlier firn.State) firn.State {
	if s.Model == "" {
		s.Provider, s.Model = earlier.Provider, earlier.Model
	}
	if s.ThinkingLevel == "" {
		s.ThinkingLevel = earlier.ThinkingLevel
	}
	return s
}

// stateOf reads the member "state" of a compaction's details; what is not
// there or not understood is empty. Names count to the letter, which
// encoding/json does not promise for structs.
func stateOf(details json.RawMessage) firn.State {
	var outer, inner map[string]json.RawMessage
	if json.Unmarshal(details, &outer) != nil || json.Unmarshal(outer["state"], &inner) != nil {
		return firn.State{}
	}
	return firn.State{
		Provider:      stringOf(inner["provider"]),
		Model:         stringOf(inner["modelId"]),
		ThinkingLevel: stringOf(inner["thinkingLevel"]),
	}
}

func stringOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// mirrored reports whether an assistant's message is a copy that OpenClaw
// keeps of what it delivered. No model said it, so it tells neither the model
// in force nor a usage.
func mirrored(m *firn.Message) bool {
	return m.Provider == "openclaw" || m.Provider == "clawdbot"
}
