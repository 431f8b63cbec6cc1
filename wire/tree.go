package wire

import (
	"time"

	"firn.dev"
)

// Tree is a page of a session's entries, newest first, each with its parent.
type Tree struct {
	Session firn.ID `json:"session"`
	// Head is the entry that the next one follows.
	Head  firn.EntryID `json:"head,omitempty"`
	Nodes []Node       `json:"nodes"`
	// Cursor requests older nodes; it is empty when there are none.
	Cursor string `json:"cursor,omitempty"`
	// Total is the number of entries in the tree, Branches the number of those without
	// children.
	Total    int `json:"total"`
	Branches int `json:"branches"`
	// Damage lists the unreadable places between the nodes, oldest first.
	Damage []Damage `json:"damage,omitempty"`
}

// Node is the place of an entry in a tree.
type Node struct {
	ID firn.EntryID `json:"id"`
	// Parent is the parent as read: in a damaged file it may differ from the one in the
	// line. Empty for a root.
	Parent firn.EntryID `json:"parent,omitempty"`
	// N is the number of the entry in file order, from 1: the n of #n.
	N int `json:"n"`
	// ParentN is the number of the parent, zero for a root; always less than N. It is
	// unambiguous even if a file uses an ID twice.
	ParentN int       `json:"up,omitempty"`
	At      firn.Pos  `json:"at"`
	Kind    firn.Kind `json:"kind"`
	Role    firn.Role `json:"role,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	// Preview is the start of its text, on one line.
	Preview string `json:"preview,omitempty"`
	Label   string `json:"label,omitempty"`
	// Tokens is its approximate size in a window.
	Tokens int64 `json:"tokens,omitempty"`
	// OnPath means that the entry is on the path to the head.
	OnPath bool `json:"onPath,omitempty"`
	// Compaction is the state of a compaction: current, past or undone.
	Compaction string `json:"compaction,omitempty"`
	// Compacted means that a summary replaces the entry, Hidden that a tombstone hides it.
	Compacted bool `json:"compacted,omitempty"`
	Hidden    bool `json:"hidden,omitempty"`
	// Fault describes an entry that cannot be read or whose place had to be guessed. Lost
	// is true if some of its content could not be read.
	Fault string `json:"fault,omitempty"`
	Lost  bool   `json:"lost,omitempty"`
}

// The states of a compaction in a tree.
const (
	// NodeCurrent is the one in effect.
	NodeCurrent = "current"
	// NodePast was replaced by a later one or is on another branch.
	NodePast = "past"
	// NodeUndone was undone.
	NodeUndone = "undone"
)
