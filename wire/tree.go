package wire

import (
	"time"

	"firn.dev"
)

// Tree is the shape of a session: a page of its entries, newest first, each
// with the one it follows.
type Tree struct {
	Session firn.ID `json:"session"`
	// Head is the entry the next one follows.
	Head  firn.EntryID `json:"head,omitempty"`
	Nodes []Node       `json:"nodes"`
	// Cursor asks for older nodes; it is empty when there are none.
	Cursor string `json:"cursor,omitempty"`
	// Total is how many entries the tree has, Branches how many of them nothing
	// follows.
	Total    int `json:"total"`
	Branches int `json:"branches"`
	// Damage lists the places between the nodes that could not be read, oldest
	// first.
	Damage []Damage `json:"damage,omitempty"`
}

// Node is an entry's place in a tree.
type Node struct {
	ID firn.EntryID `json:"id"`
	// Parent is the entry it follows, as it was read: where the file is at fault
	// that may be another one than the line says. Empty for a root.
	Parent firn.EntryID `json:"parent,omitempty"`
	// N numbers the entries of the session in the order of the file, from 1: the
	// n of #n.
	N int `json:"n"`
	// Up is the number of the entry it follows, zero for a root: always less than
	// N. Where a file uses an id twice it tells what Parent cannot.
	Up   int       `json:"up,omitempty"`
	At   firn.Pos  `json:"at"`
	Kind firn.Kind `json:"kind"`
	Role firn.Role `json:"role,omitempty"`
	Time time.Time `json:"time,omitzero"`
	// Preview is the beginning of what it says, on one line.
	Preview string `json:"preview,omitempty"`
	Label   string `json:"label,omitempty"`
	// Tokens is about how much of a window it takes up.
	Tokens int64 `json:"tokens,omitempty"`
	// OnPath says that the entry leads to the head.
	OnPath bool `json:"onPath,omitempty"`
	// Compaction is told of compactions: current, past or undone.
	Compaction string `json:"compaction,omitempty"`
	// Compacted says that a summary stands for the entry, Hidden that a
	// tombstone hides it.
	Compacted bool `json:"compacted,omitempty"`
	Hidden    bool `json:"hidden,omitempty"`
	// Fault says what is wrong with an entry that cannot be read or whose place
	// had to be guessed. Lost is true if content of it could not be read.
	Fault string `json:"fault,omitempty"`
	Lost  bool   `json:"lost,omitempty"`
}

// What a compaction is in a tree.
const (
	// NodeCurrent is the one in force.
	NodeCurrent = "current"
	// NodePast was replaced by a later one, or is on another branch.
	NodePast = "past"
	// NodeUndone was undone.
	NodeUndone = "undone"
)
