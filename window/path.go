package window

import (
	"slices"
	"strconv"

	"firn.dev"
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
	// State is the model, thinking level, verbosity and send policy that the path
	// settled, as far as it was read. An answer tells the model too.
	State firn.State
	// Chosen is what of the state was explicitly chosen, by an entry that says
	// so or before a compaction that remembers it; an answer chooses nothing.
	Chosen firn.State
	// Hidden says that the session as a whole was hidden. It is known only if
	// the header was reached; who knows the session's id can ask [Path.Hides].
	Hidden bool
	// Out tells what was left out and why: first what was not collected, oldest
	// first, then what each of the methods that make a path fit left out or
	// shortened, oldest first. What was shortened and then left out is named twice.
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
	// of the path was hidden or shown again, or saw what has since been left out
	// or shortened: what they tell of its size is not true any more.
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
	// Pruned entries are tool results that were shortened or cleared to make
	// room. They are the exception: they are still sent, with less in them.
	Pruned Why = "pruned"
	// OverBudget entries are the oldest, for which there was no room.
	OverBudget Why = "over-budget"
	// TurnLimit entries are older than the last turns that are asked for.
	TurnLimit Why = "turn-limit"
	// Tombstoned entries were hidden by a later entry.
	Tombstoned Why = "tombstoned"
	// OtherBranch entries do not lead to the head.
	OtherBranch Why = "other-branch"
	// Hidden entries are messages that are never sent: an answer that failed, a
	// command kept from the model, a role we do not know.
	Hidden Why = "hidden"
	// Erased entries were purged; only their place is left.
	Erased Why = "erased"
	// Unreadable entries are damaged: their line could not be read.
	Unreadable Why = "unreadable"
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

// PathOf makes a path of messages that a caller supplies, to replay them or to
// take them to another provider. The ids of its entries are made up, the same
// for the same number of messages; there is no log behind it. It shares memory
// with the parts of the messages.
func PathOf(messages []firn.Message) Path {
	p := Path{Entries: make([]firn.Entry, len(messages))}
	bodies := slices.Clone(messages)
	for i := range bodies {
		id := firn.EntryID("m" + strconv.Itoa(i+1))
		p.Entries[i] = firn.Entry{ID: id, Parent: p.Head, Time: bodies[i].Time, Body: &bodies[i]}
		p.Head = id
	}
	p.State, p.Chosen = settle(p.Entries, true), settle(p.Entries, false)
	return p
}
