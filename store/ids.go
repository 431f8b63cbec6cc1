package store

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"iter"
	"strings"
	"time"

	"firn.dev"
)

// Use is what is known of an entry id that a caller chose.
type Use uint8

// What is known of an id.
const (
	// Free is an id that no entry of the session has.
	Free Use = iota
	// Late is a free id of our own form that was made more than an hour before
	// another one of the session. Its entry is marked, see [IDs].
	Late
	// InUse is an id that an entry of the session has.
	InUse
)

// IDs knows which entry ids of a session are in use. It reads the session
// backwards, as far as an answer needs it, and remembers what it read, so that
// an append costs the same in a session of years as in one of a day. Use it
// under the lock of the session. The zero value knows nothing.
//
// Ids of our own form (see [firn.NewEntryID]) are ordered by the time they were
// made, and almost stand in that order. What makes an answer exact is a rule that
// holds for every entry without the mark "late": no entry before it has an id that
// is more than [lateness] greater. So whoever looks for an id need not look further
// back than to an unmarked one that is more than that smaller. A store keeps the
// rule: an id that it makes is greater than all it knows, and one that a caller
// chose and that would break the rule is looked for in the whole session and then
// marked. Ids of other forms have no order, and are looked for in the whole session,
// once as long as it is in memory.
type IDs struct {
	// own are ids of our form by their numbers, other are fingerprints of all others.
	own, other map[uint64]struct{}
	// from is where the part of the session begins whose ids are known; whole is
	// set if that is all of it.
	from  Pos
	whole bool
	// low is the smallest unmarked id of our form that is known, high the greatest.
	low, high uint64
}

// lateness is how much smaller than an earlier one the id of an entry may be
// without a mark: an hour, in the unit of [ordinal].
const lateness = uint64(time.Hour/time.Millisecond) << 20

// lateField is the extra field of entries whose ids break the order.
const lateField = "late"

// mostIDs is how many ids that were read back are remembered at most.
const mostIDs = 1 << 20

// digits are those that ids of our own form are written with, see [firn.NewEntryID].
const digits = "0123456789abcdefghjkmnpqrstvwxyz"

var fingerprints = maphash.MakeSeed()

// ordinal is the number that an id of our own form is; false if it has another
// form. Unlike [firn.EntryID.Made] it does not depend on the clock.
func ordinal(id firn.EntryID) (uint64, bool) {
	if len(id) != 13 || id[0] > 'f' {
		return 0, false
	}
	var n uint64
	for i := range len(id) {
		d := strings.IndexByte(digits, id[i])
		if d < 0 {
			return 0, false
		}
		n = n<<5 | uint64(d)
	}
	return n, true
}

// Reset forgets all ids: the session ends at end, and nothing before it is known.
func (x *IDs) Reset(end Pos) {
	*x = IDs{from: end, whole: end == Start, own: make(map[uint64]struct{}), other: make(map[uint64]struct{})}
}

// Add notes the id of an entry that was appended at the end of what is known.
func (x *IDs) Add(e *firn.Entry) {
	x.note(e.ID, isMarked(e))
}

// note notes an id.
func (x *IDs) note(id firn.EntryID, marked bool) {
	n, ours := ordinal(id)
	if !ours {
		if id != "" {
			x.other[maphash.String(fingerprints, string(id))] = struct{}{}
		}
		return
	}
	x.own[n] = struct{}{}
	x.high = max(x.high, n)
	if !marked && (x.low == 0 || n < x.low) {
		x.low = n
	}
}

// Newest returns the greatest id of our own form that is known; empty if none is.
func (x *IDs) Newest() firn.EntryID {
	if x.high == 0 {
		return ""
	}
	var b [13]byte
	for i, n := len(b)-1, x.high; i >= 0; i, n = i-1, n>>5 {
		b[i] = digits[n&31]
	}
	return firn.EntryID(b[:])
}

// Has reports whether an id is known to be in use. Others may be too.
func (x *IDs) Has(id firn.EntryID) bool {
	n, ours := ordinal(id)
	set := x.own
	if !ours {
		n, set = maphash.String(fingerprints, string(id)), x.other
	}
	_, ok := set[n]
	return ok
}

// Use tells whether an id is in use. Back yields the records before a position,
// newest first.
func (x *IDs) Use(id firn.EntryID, back func(before Pos) iter.Seq2[Record, error]) (Use, error) {
	n, ours := ordinal(id)
	ordered := func() bool { return ours && x.low != 0 && x.low < n && n-x.low > lateness }
	found, err := x.find(id, back, ordered)
	late := ours && x.high > n && x.high-n > lateness
	if err == nil && !found && late { // its place says nothing
		found, err = x.find(id, back, func() bool { return false })
	}
	switch {
	case err != nil:
		return InUse, fmt.Errorf("look for the ids that are in use: %w", err)
	case found:
		return InUse, nil
	case late:
		return Late, nil
	}
	return Free, nil
}

// find looks for an id among those that are known, and then further back until
// it is there or enough was read.
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

// Open reads back from the end to the latest entry and to the latest unmarked one
// with an id of our own form, which is mostly the same. It returns the latest entry
// and whether there is any record at all.
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

// walk looks at the records before those whose ids are known, until it is enough,
// and notes their ids. Of several in one line it looks at all.
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
		full = full || len(x.own)+len(x.other) >= mostIDs
		if rec.Gap == nil && rec.Glance.Kind != firn.KindHeader && !full {
			x.note(rec.Glance.ID, marked(&rec))
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

// marked reports whether the id of a record breaks the order. One that cannot be
// read counts as such, since it proves nothing.
func marked(rec *Record) bool {
	if _, ours := ordinal(rec.Glance.ID); !ours {
		return true
	}
	if line := rec.Line(); line != nil && !bytes.Contains(line, []byte(`"`+lateField+`"`)) {
		return false
	}
	e, err := rec.Entry()
	return err != nil || isMarked(&e)
}

// isMarked reports whether an entry is marked as one whose id breaks the order.
func isMarked(e *firn.Entry) bool {
	if e.Extra.Get(lateField) != nil {
		return true
	}
	o, ok := e.Body.(*firn.Opaque)
	if !ok {
		return false
	}
	held, err := takeApart(o.Raw)
	return err != nil || held.rest.Get(lateField) != nil
}
