package store

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"iter"
	"time"

	"firn.dev"
	"firn.dev/internal/base/entryid"
)

// Use is the status of an entry ID chosen by a caller.
type Use uint8

// The values of Use.
const (
	// Free is an ID that no entry of the session has.
	Free Use = iota
	// Late is a free native ID that is more than an hour older than another one of the
	// session. Its entry is marked, see [IDs].
	Late
	// InUse is an ID that an entry of the session has.
	InUse
)

// IDs tracks the entry IDs that are in use in a session. It reads the session backwards
// only as far as necessary and caches the result, so the cost of an append does not depend
// on the length of the session. Use it under the lock of the session. The zero value is
// empty.
//
// Native IDs (see [firn.NewEntryID]) are ordered by creation time, and entries are nearly
// in that order. For every entry without the mark "late", no earlier entry has an ID
// greater by more than [lateness]. So a search for an ID can stop at an unmarked ID that is
// smaller by more than that. Stores maintain this invariant: a generated ID is greater than
// all known ones, and an ID chosen by a caller that would violate it is searched for in the
// whole session and then marked. IDs of other forms have no order. They are searched for in
// the whole session, once as long as the session is in memory.
type IDs struct {
	// own holds native IDs as numbers, other the hashes of all other IDs.
	own, other map[uint64]struct{}
	// from is the start of the part of the session whose IDs are known; whole is set if
	// that is the entire session.
	from  Pos
	whole bool
	// low is the smallest known native ID without a mark, high the greatest known native
	// ID.
	low, high uint64
	// newest is the ID of high, empty if it has to be formatted.
	newest firn.EntryID
}

// lateness is how much smaller than an earlier ID an unmarked ID may be: one hour, in the
// unit of [ordinal].
const lateness = uint64(time.Hour/time.Millisecond) << 20

// lateField is the extra field that marks entries whose IDs are out of order.
const lateField = "late"

// maxIDs limits the number of cached IDs.
const maxIDs = 1 << 20

var fingerprints = maphash.MakeSeed()

// Reset clears the cache for a session that ends at end.
func (x *IDs) Reset(end Pos) {
	*x = IDs{from: end, whole: end == Start, own: make(map[uint64]struct{}), other: make(map[uint64]struct{})}
}

// Add records the ID of an entry appended at the end.
func (x *IDs) Add(e *firn.Entry) {
	before := x.high
	x.addID(e.ID, isMarked(e))
	if x.high > before {
		x.newest = e.ID
	}
}

// addID records an ID.
func (x *IDs) addID(id firn.EntryID, marked bool) {
	n, ours := entryid.Number(id)
	if !ours {
		if id != "" {
			x.other[maphash.String(fingerprints, string(id))] = struct{}{}
		}
		return
	}
	x.own[n] = struct{}{}
	if n > x.high {
		x.high, x.newest = n, ""
	}
	if !marked && (x.low == 0 || n < x.low) {
		x.low = n
	}
}

// Newest returns the greatest known native ID; empty if there is none.
func (x *IDs) Newest() firn.EntryID {
	if x.high == 0 || x.newest != "" {
		return x.newest
	}
	var b [13]byte
	for i, n := len(b)-1, x.high; i >= 0; i, n = i-1, n>>5 {
		b[i] = entryid.Digits[n&31]
	}
	x.newest = firn.EntryID(b[:])
	return x.newest
}

// Has reports whether an ID is known to be in use. Only part of the session may be known.
func (x *IDs) Has(id firn.EntryID) bool {
	n, ours := entryid.Number(id)
	set := x.own
	if !ours {
		n, set = maphash.String(fingerprints, string(id)), x.other
	}
	_, ok := set[n]
	return ok
}

// Use returns the status of an ID. back yields the records before a position, newest first.
func (x *IDs) Use(id firn.EntryID, back func(before Pos) iter.Seq2[Record, error]) (Use, error) {
	n, ours := entryid.Number(id)
	ordered := func() bool { return ours && x.low != 0 && x.low < n && n-x.low > lateness }
	found, err := x.find(id, back, ordered)
	late := ours && x.high > n && x.high-n > lateness
	if err == nil && !found && late { // the order says nothing about a late ID
		found, err = x.find(id, back, func() bool { return false })
	}
	switch {
	case err != nil:
		return InUse, fmt.Errorf("find ids in use: %w", err)
	case found:
		return InUse, nil
	case late:
		return Late, nil
	}
	return Free, nil
}

// find searches for an ID in the cache, and then further back until it is found or enough
// returns true.
func (x *IDs) find(id firn.EntryID, back func(before Pos) iter.Seq2[Record, error], enough func() bool) (bool, error) {
	if x.Has(id) {
		return true, nil
	}
	if enough() {
		return false, nil
	}
	found := false
	err := x.walk(back, func(rec *Record) bool {
		found = found || rec.Gap == nil && rec.Glance.ID == id
		return found || enough()
	})
	return found, err
}

// Open reads back from the end to the latest entry and to the latest unmarked one with a
// native ID, usually the same. It returns the ID of the latest entry and whether there are
// any records.
func (x *IDs) Open(end Pos, back func(before Pos) iter.Seq2[Record, error]) (head firn.EntryID, some bool, err error) {
	x.Reset(end)
	err = x.walk(back, func(rec *Record) bool {
		some = true
		if rec.Gap == nil && rec.Glance.Kind != firn.KindHeader && head == "" {
			head = rec.Glance.ID
		}
		return x.low != 0
	})
	return head, some, err
}

// walk reads the records before the known part of the session until enough returns true,
// and records their IDs. It always processes all records of a line.
func (x *IDs) walk(back func(before Pos) iter.Seq2[Record, error], enough func(*Record) bool) error {
	if x.whole {
		return nil
	}
	done, full := false, false
	for rec, err := range back(x.from) {
		if err != nil {
			return err
		}
		if done && rec.Next <= x.from {
			return nil
		}
		full = full || len(x.own)+len(x.other) >= maxIDs
		if rec.Gap == nil && rec.Glance.Kind != firn.KindHeader && !full {
			x.addID(rec.Glance.ID, marked(&rec))
		}
		if !full {
			x.from = rec.At
		}
		if done = enough(&rec) || done; done && full {
			return nil
		}
	}
	x.whole = !full
	return nil
}

// marked reports whether a record is marked as out of order. An unreadable record counts as
// marked.
func marked(rec *Record) bool {
	if _, ours := entryid.Number(rec.Glance.ID); !ours {
		return true
	}
	if line := rec.Line(); line != nil && !bytes.Contains(line, []byte(`"`+lateField+`"`)) {
		return false
	}
	e, err := rec.Entry()
	return err != nil || isMarked(&e)
}

// isMarked reports whether an entry is marked as out of order.
func isMarked(e *firn.Entry) bool {
	if e.Extra.Get(lateField) != nil {
		return true
	}
	o, ok := e.Body.(*firn.Opaque)
	if !ok {
		return false
	}
	held, err := parseLine(o.Raw)
	return err != nil || held.rest.Get(lateField) != nil
}
