package wire

import (
	"fmt"
	"strconv"
	"strings"

	"firn.dev"
)

// Damage is a fault in a stored session: bytes that could not be read as an entry, or an
// entry that differs from its written form.
type Damage struct {
	// Kind is the kind of fault; clients must expect unknown values.
	Kind firn.GapKind `json:"kind"`
	// At and Next are its extent.
	At   firn.Pos `json:"at"`
	Next firn.Pos `json:"next"`
	// Part is the number of the session's file, from 1, Offset the byte offset in that
	// file, and Bytes the length. Part is zero in a store without files.
	Part   int   `json:"part,omitempty"`
	Offset int64 `json:"offset,omitempty"`
	Bytes  int64 `json:"bytes,omitempty"`
	// N and Entry are the number and the ID of the entry, if they could be read; otherwise
	// After is the number of the preceding entry, if known.
	N     int          `json:"n,omitempty"`
	Entry firn.EntryID `json:"entry,omitempty"`
	After int          `json:"after,omitempty"`
	// Lost is true if content could not be read. It is false if all of it was read and only
	// its place had to be guessed.
	Lost bool `json:"lost,omitempty"`
	// Reason describes the fault.
	Reason string `json:"reason"`
	// Places is the number of places it represents, if more than one.
	Places int `json:"places,omitempty"`
}

// Count returns the number of places the damage represents.
func (d Damage) Count() int { return max(d.Places, 1) }

// String describes the damage and its place in one line.
func (d Damage) String() string {
	what := d.subject() + " "
	switch {
	case d.Kind == firn.GapBadText:
		what += "contains invalid UTF-8"
	case d.Kind == firn.GapGlued:
		what += "lacks a newline before it"
	case !d.Lost:
		what += "is out of place"
	default:
		what += "could not be read"
	}
	if d.Places > 1 {
		what += fmt.Sprintf(", nor could %d places after it", d.Places-1)
	}
	return what + " (" + d.Reason + "; " + d.place() + ")"
}

// subject names the entry, or the place of the lost entry.
func (d Damage) subject() string {
	switch {
	case d.N > 0:
		return "entry #" + strconv.Itoa(d.N)
	case d.Entry != "":
		return "entry " + string(d.Entry)
	case d.At == 0 && d.Lost:
		return "the header"
	}
	some := "an entry"
	if d.Bytes >= manyBytes {
		some = "one entry or more"
	}
	if d.After > 0 {
		return some + " after #" + strconv.Itoa(d.After)
	}
	return some + " here"
}

// manyBytes is the size of a disk block. A damaged place of that size may have held several
// entries.
const manyBytes = 4096

func (d Damage) place() string {
	if d.Part == 0 {
		return "at position " + grouped(int64(d.At))
	}
	place := fmt.Sprintf("at byte %s of part %d", grouped(d.Offset), d.Part)
	if d.Bytes > 0 {
		place = grouped(d.Bytes) + " bytes " + place
	}
	return place
}

// grouped formats a number with thousands separators.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, groups...), ",")
}
