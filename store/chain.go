package store

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/internal/base/entryid"
)

// Tail describes the end of a session, where the next entries are appended.
type Tail struct {
	// Session is the session's ID.
	Session firn.ID
	// New is set if the session is empty and needs a header.
	New bool
	// Head is the last entry with an ID; empty if there is none.
	Head firn.EntryID
	// Newest is a lower bound for new IDs in addition to Head; empty if there is none. See
	// [IDs.Newest].
	Newest firn.EntryID
	// Use reports whether an ID is in use in the session. It is called for every ID chosen
	// by a caller and must be correct for the whole session: see [IDs]. It is nil if there
	// are no entries.
	Use func(firn.EntryID) (Use, error)
}

// Prepare completes the entries passed to Append so that they can be written: it adds a
// header to a new session, fills in IDs, parents and times, and cleans all text (see
// [firn.CleanText]). An entry whose text was changed gets an extra field "cleaned". The raw
// line of an opaque entry is updated with the same ID, parent, time and extra fields.
//
// Prepare returns ErrInvalid for invalid entries, and ErrNotFound if a parent, target or
// first kept entry does not precede the entry. known reports whether a stored entry of the
// session has an ID. It may be slow: it is called only for IDs that are neither the head
// nor in the batch. Prepare does not modify its arguments; unchanged data is shared with
// the result.
func Prepare(tail Tail, now time.Time, entries []firn.Entry, known func(firn.EntryID) (bool, error)) ([]firn.Entry, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	c := chain{tail: tail, now: stamp(now), known: known, head: tail.Head, newest: newestOf(tail.Newest, tail.Head)}
	c.out = make([]firn.Entry, 0, len(entries)+1)
	if _, given := entries[0].Body.(*firn.Header); tail.New && !given {
		c.out = append(c.out, firn.Entry{Time: c.now, Body: fillHeader(firn.Header{}, tail.Session)})
	}
	for i := range entries {
		if err := c.add(entries[i]); err != nil {
			return nil, fmt.Errorf("append to session %s: entry %d of %d: %w", tail.Session, i+1, len(entries), err)
		}
	}
	return c.out, nil
}

// manyEntries is the batch size from which inBatch uses a map.
const manyEntries = 16

// chain holds the state of a batch that is being prepared.
type chain struct {
	tail  Tail
	now   time.Time
	known func(firn.EntryID) (bool, error)
	out   []firn.Entry
	// head is the default parent of the next entry.
	head firn.EntryID
	// newest is the lower bound for new IDs.
	newest firn.EntryID
	// ids holds the IDs of out in large batches; nil in small ones.
	ids map[firn.EntryID]struct{}
}

// add prepares the next entry of the batch.
func (c *chain) add(e firn.Entry) error {
	if e.Body == nil || reflect.ValueOf(e.Body).IsZero() {
		return fmt.Errorf("it has no body: %w", firn.ErrInvalid)
	}
	if _, ok := e.Body.(*firn.Opaque); ok {
		return c.addOpaque(e)
	}
	if err := c.setTime(&e); err != nil {
		return err
	}
	if e.Body.Kind() == firn.KindHeader {
		return c.addHeader(e)
	}
	if err := c.linkEntry(&e); err != nil {
		return err
	}
	if err := clean(&e); err != nil {
		return err
	}
	c.push(e)
	return nil
}

// setTime sets the entry's time if it is zero and rounds it to the stored precision.
func (c *chain) setTime(e *firn.Entry) error {
	if e.Time.IsZero() {
		e.Time = c.now
	}
	e.Time = stamp(e.Time)
	if y := e.Time.Year(); y < 1 || y > 9999 {
		return fmt.Errorf("its time is in the year %d: %w", y, firn.ErrInvalid)
	}
	return nil
}

// addHeader adds the header of a new session. A header is not part of the tree, so its ID
// and parent are cleared.
func (c *chain) addHeader(e firn.Entry) error {
	h, ok := e.Body.(*firn.Header)
	switch {
	case !ok:
		return fmt.Errorf("a header must be a *firn.Header, not a %T: %w", e.Body, firn.ErrInvalid)
	case !c.tail.New || len(c.out) > 0:
		return fmt.Errorf("a header can only be the first entry of a new session: %w", firn.ErrInvalid)
	case h.Session != "" && h.Session != c.tail.Session:
		return fmt.Errorf("its header is that of session %q: %w", h.Session, firn.ErrInvalid)
	case h.Version != 0 && h.Version != headerVersion:
		return fmt.Errorf("its header has version %d, we write %d: %w", h.Version, headerVersion, firn.ErrUnsupported)
	case h.Firn != 0 && h.Firn != firnVersion:
		return fmt.Errorf("its header has firn version %d, we write %d: %w", h.Firn, firnVersion, firn.ErrUnsupported)
	}
	e.ID, e.Parent, e.Body = "", "", fillHeader(*h, c.tail.Session)
	if err := clean(&e); err != nil {
		return err
	}
	c.out = append(c.out, e)
	return nil
}

// Format versions in the header of a new session.
const (
	headerVersion = 3
	firnVersion   = 1
)

// fillHeader completes the header of a new session.
func fillHeader(h firn.Header, id firn.ID) *firn.Header {
	h.Session, h.Version, h.Firn = id, headerVersion, firnVersion
	if h.Agent == "" {
		h.Agent = AgentOf(h.Key)
	}
	return &h
}

// linkEntry sets the entry's ID and parent and checks its target.
func (c *chain) linkEntry(e *firn.Entry) error {
	if err := c.assignID(e); err != nil {
		return err
	}
	switch e.Parent {
	case "":
		e.Parent = c.head
	case firn.Root:
		e.Parent = ""
	default:
		if err := c.requireEntry("parent", e.Parent); err != nil {
			return err
		}
	}
	return c.checkTarget(e)
}

// assignID gives the entry an ID, or checks the one it has. An entry whose ID is out of
// order is marked, see [IDs].
func (c *chain) assignID(e *firn.Entry) error {
	use := Free
	switch {
	case e.ID == "":
		e.ID = firn.NewEntryIDAfter(c.newest)
	default:
		if err := c.checkID(e.ID); err != nil {
			return err
		}
		if isFarAhead(e.ID) {
			return fmt.Errorf("its id %s is more than a year ahead of the clock; omit it to have one assigned: %w", e.ID, firn.ErrInvalid)
		}
		if c.tail.Use != nil && !c.tail.New {
			var err error
			if use, err = c.tail.Use(e.ID); err != nil {
				return err
			}
		}
	}
	if use == InUse {
		return fmt.Errorf("another entry has its id %s: %w", e.ID, firn.ErrInvalid)
	}
	n, ours := entryid.Number(e.ID)
	if !ours {
		return nil
	}
	newest, some := entryid.Number(c.newest)
	if late := some && newest > n && newest-n > lateness; (late || use == Late) && e.Extra.Get(lateField) == nil {
		e.Extra = append(slices.Clip(e.Extra), firn.Field{Name: lateField, Value: json.RawMessage("true")})
	}
	if !some || n > newest {
		c.newest = e.ID
	}
	return nil
}

// maxAhead limits how far in the future an ID may have been created. The clocks of clients
// and servers can differ by days. An ID beyond the limit would mark every later ID of the
// session as late, for years.
const maxAhead = 366 * 24 * time.Hour

// isFarAhead reports whether a native ID lies too far ahead of the clock. IDs made by this
// process are never too far ahead, even if the clock was set back.
func isFarAhead(id firn.EntryID) bool {
	if _, near := id.Time(); near {
		return false
	}
	n, ours := entryid.Number(id)
	return ours && time.Until(time.UnixMilli(int64(n>>20))) > maxAhead
}

// newestOf returns the greater native ID of the two, or the only one that is native.
func newestOf(a, b firn.EntryID) firn.EntryID {
	n, ours := entryid.Number(a)
	if m, also := entryid.Number(b); also && (!ours || m > n) {
		return b
	}
	return a
}

// checkTarget rejects an entry that refers to an unknown entry.
func (c *chain) checkTarget(e *firn.Entry) error {
	switch b := e.Body.(type) {
	case *firn.Tombstone:
		if b.Target == firn.EntryID(c.tail.Session) {
			return nil
		}
		return c.requireEntry("target", b.Target)
	case *firn.Label:
		return c.requireEntry("target", b.Target)
	case *firn.Compaction:
		if b.FirstKept == "" || b.FirstKept == e.ID {
			return nil
		}
		return c.requireEntry("first kept entry", b.FirstKept)
	}
	return nil
}

// maxIDLen is the maximum length of an entry ID in bytes.
const maxIDLen = 128

// checkID rejects an ID that is in use, reserved, too long or not printable.
func (c *chain) checkID(id firn.EntryID) error {
	switch {
	case len(id) > maxIDLen:
		return fmt.Errorf("its id has %d bytes, more than %d: %w", len(id), maxIDLen, firn.ErrInvalid)
	case id == firn.Root || id == firn.EntryID(c.tail.Session):
		return fmt.Errorf("its id %q is reserved: %w", id, firn.ErrInvalid)
	case !isPrintable(string(id)):
		return fmt.Errorf("its id %q has unprintable characters: %w", id, firn.ErrInvalid)
	case id == c.tail.Head || c.inBatch(id):
		return fmt.Errorf("another entry has its id %s: %w", id, firn.ErrInvalid)
	}
	return nil
}

// isPrintable reports whether s is valid UTF-8 without control characters.
func isPrintable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return false
		}
	}
	return true
}

// requireEntry returns ErrNotFound unless an earlier entry has the ID. The parameter what
// names the reference in errors.
func (c *chain) requireEntry(what string, id firn.EntryID) error {
	if id == "" {
		return fmt.Errorf("it names no %s: %w", what, firn.ErrInvalid)
	}
	if id == c.tail.Head || id == c.head || c.inBatch(id) {
		return nil
	}
	if c.known != nil && !c.tail.New {
		ok, err := c.known(id)
		if err != nil {
			return fmt.Errorf("find its %s %s: %w", what, id, err)
		}
		if ok {
			return nil
		}
	}
	return fmt.Errorf("its %s %q: %w", what, id, firn.ErrNotFound)
}

// inBatch reports whether an earlier entry of the batch has the ID.
func (c *chain) inBatch(id firn.EntryID) bool {
	if c.ids != nil {
		_, ok := c.ids[id]
		return ok
	}
	for i := range c.out {
		if c.out[i].ID == id {
			return true
		}
	}
	return false
}

// push adds a prepared entry to the batch.
func (c *chain) push(e firn.Entry) {
	c.out = append(c.out, e)
	c.head = e.ID
	if c.ids == nil && len(c.out) >= manyEntries {
		c.ids = make(map[firn.EntryID]struct{}, cap(c.out))
		for i := range c.out {
			c.ids[c.out[i].ID] = struct{}{}
		}
	}
	if c.ids != nil {
		c.ids[e.ID] = struct{}{}
	}
}

// stamp converts a time to its stored form: UTC with millisecond precision.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
