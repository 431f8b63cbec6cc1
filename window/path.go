package window

import (
	"slices"
	"strconv"

	"firn.dev"
)

// Path is the live part of a session: everything a reader needs to continue it.
type Path struct {
	// Entries runs from the kept-from mark (or the root) to the head, oldest first. It
	// excludes entries of other branches, entries hidden by a tombstone and entries older
	// than the mark. It includes entries that no model sees, such as labels, titles and
	// compactions.
	Entries []firn.Entry
	// Head is the entry that the next one follows. It is set even if the entry is hidden.
	Head firn.EntryID
	// Compaction is the compaction in effect, or nil.
	Compaction *firn.Entry
	// State is the model, thinking level, verbosity and send policy in effect at the head,
	// as far as the path was read. The model of an answer counts too.
	State firn.State
	// Chosen is the part of the state that was chosen explicitly, by an entry or before a
	// compaction that recorded it. Answers choose nothing.
	Chosen firn.State
	// Hidden reports whether the session as a whole is hidden. It is known only if the
	// header was reached; otherwise call [Path.Hides] with the session's ID.
	Hidden bool
	// Out lists the entries that were left out, with reasons: first those that were not
	// collected, oldest first, then those left out or shortened by each fitting method,
	// oldest first. An entry that was shortened and then left out is listed twice.
	Out []Omission
	// Gaps are the faults found while reading, oldest first: unreadable records, and
	// entries of the path whose parent had to be guessed.
	Gaps []firn.Gap
	// Header is nil if it was not reached.
	Header *firn.Header
	// Start is the position where reading stopped. Nothing before it was read.
	Start firn.Pos
	// End is the position after the newest record that was read, or zero if there was none.
	// An append at End fails if another writer appended in the meantime. Following from End
	// neither misses nor repeats a record.
	End firn.Pos

	hides map[firn.EntryID]mark
	// stale is the number of entries, from the oldest, that were written before a part of
	// the path was hidden, shown again, left out or shortened. The usage they report no
	// longer applies.
	stale int
}

// Hides reports whether a tombstone in effect, among those that were read, targets id. Call
// it with the session's ID to find out whether the whole session is hidden.
func (p Path) Hides(id firn.EntryID) bool {
	_, ok := p.hides[id]
	return ok
}

// Reason is the reason why an entry is not sent.
type Reason string

// Reasons why an entry is not sent.
const (
	// Compacted entries are represented by a summary.
	Compacted Reason = "compacted"
	// Pruned entries are tool results that were shortened or cleared to make room. They are
	// the exception: they are still sent, with less content.
	Pruned Reason = "pruned"
	// OverBudget entries are the oldest ones, which did not fit.
	OverBudget Reason = "over-budget"
	// TurnLimit entries are older than the requested number of turns.
	TurnLimit Reason = "turn-limit"
	// Tombstoned entries were hidden by a later entry.
	Tombstoned Reason = "tombstoned"
	// OtherBranch entries are not ancestors of the head.
	OtherBranch Reason = "other-branch"
	// Hidden entries are messages that are never sent: failed answers, commands withheld
	// from the model, unknown roles.
	Hidden Reason = "hidden"
	// Erased entries were purged; only their position is left.
	Erased Reason = "erased"
	// Unreadable entries are damaged: their line could not be decoded.
	Unreadable Reason = "unreadable"
)

// Omission is a run of entries that are not sent, with the reason.
type Omission struct {
	Why Reason
	// First and Last are the oldest and the newest of the entries, if known.
	First, Last firn.EntryID
	// Count is the number of entries. It is -1 if they were not read; the omission then
	// covers everything before Before.
	Count int
	// Before is the position after the last of the entries; zero if unknown.
	Before firn.Pos
}

// PathOf builds a path from messages that a caller supplies, for replaying them or moving
// them to another provider. The entry IDs are synthetic and deterministic; there is no log.
// The path shares memory with the parts of the messages.
func PathOf(messages []firn.Message) Path {
	p := Path{Entries: make([]firn.Entry, len(messages))}
	bodies := slices.Clone(messages)
	for i := range bodies {
		id := firn.EntryID("m" + strconv.Itoa(i+1))
		p.Entries[i] = firn.Entry{ID: id, Parent: p.Head, Time: bodies[i].Time, Body: &bodies[i]}
		p.Head = id
	}
	p.State, p.Chosen = resolveState(p.Entries, true), resolveState(p.Entries, false)
	return p
}
