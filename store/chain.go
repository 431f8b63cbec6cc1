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
)

// Tail is the end of a session as a store knows it: what the next entry
// follows.
type Tail struct {
	// Session is the session's id.
	Session firn.ID
	// New says that nothing of the session is stored yet, so a header is due.
	New bool
	// Head is the last entry that has an id; empty if there is none.
	Head firn.EntryID
	// Newest is an id that those which are made must be greater than, beside Head;
	// empty if there is none. See [IDs.Newest].
	Newest firn.EntryID
	// Use tells whether an entry of the session has an id. It is asked for every
	// id that a caller chose, and must be right however far back that is: see
	// [IDs]. Nil if there are no entries.
	Use func(firn.EntryID) (Use, error)
}

// Prepare turns what a caller passes to Append into entries that can be
// written as they are: a header for a new session, ids, parents and times
// filled in, all text valid (see [firn.CleanText]). An entry whose text had to
// be changed gets an extra field "cleaned". The line of an opaque entry is made
// to say the same id, parent and time, and extra fields are put into it.
//
// What makes no sense is refused with ErrInvalid; a parent, target or
// first-kept entry that does not stand before the entry with ErrNotFound.
// known tells whether an entry stands in the session as it is stored. It may
// be slow: it is asked only for entries that are neither the head nor among
// those passed. Nothing the caller passed is changed; the result shares what
// needed no change.
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

// manyEntries is the size of a batch from which on a map of its ids is worth it.
const manyEntries = 16

// chain is a batch of entries while it is being prepared.
type chain struct {
	tail  Tail
	now   time.Time
	known func(firn.EntryID) (bool, error)
	out   []firn.Entry
	// head is what the next entry of the batch follows.
	head firn.EntryID
	// newest is what the ids that are made must be greater than.
	newest firn.EntryID
	// ids holds the ids of out once they are many.
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
	if err := c.date(&e); err != nil {
		return err
	}
	if e.Body.Kind() == firn.KindHeader {
		return c.addHeader(e)
	}
	if err := c.place(&e); err != nil {
		return err
	}
	if err := clean(&e); err != nil {
		return err
	}
	c.push(e)
	return nil
}

// date gives the entry its time, as times are stored.
func (c *chain) date(e *firn.Entry) error {
	if e.Time.IsZero() {
		e.Time = c.now
	}
	e.Time = stamp(e.Time)
	if y := e.Time.Year(); y < 1 || y > 9999 {
		return fmt.Errorf("its time is in the year %d: %w", y, firn.ErrInvalid)
	}
	return nil
}

// addHeader takes the header of a new session. It stands outside the tree, so
// an id or parent it may carry means nothing.
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

// The versions that a new session's header tells.
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

// place gives the entry its id and its parent, and checks what it points at.
func (c *chain) place(e *firn.Entry) error {
	if err := c.name(e); err != nil {
		return err
	}
	switch e.Parent {
	case "":
		e.Parent = c.head
	case firn.Root:
		e.Parent = ""
	default:
		if err := c.mustKnow("parent", e.Parent); err != nil {
			return err
		}
	}
	return c.checkTarget(e)
}

// name gives the entry its id, or checks the one that it has. One that breaks the
// order of ids is marked, see [IDs].
func (c *chain) name(e *firn.Entry) error {
	use := Free
	switch {
	case e.ID == "":
		e.ID = firn.NewEntryIDAfter(c.newest)
	default:
		if err := c.checkID(e.ID); err != nil {
			return err
		}
		if isFarAhead(e.ID) {
			return fmt.Errorf("its id %s was made more than a year ahead of the clock; leave it out, and one is made: %w", e.ID, firn.ErrInvalid)
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
	n, ours := ordinal(e.ID)
	if !ours {
		return nil
	}
	newest, some := ordinal(c.newest)
	if late := some && newest > n && newest-n > lateness; (late || use == Late) && e.Extra.Get(lateField) == nil {
		e.Extra = append(slices.Clip(e.Extra), firn.Field{Name: lateField, Value: json.RawMessage("true")})
	}
	if !some || n > newest {
		c.newest = e.ID
	}
	return nil
}

// farAhead is how far ahead of the clock an id may be made. Clocks of clients and
// servers differ, by days if one of them is wrong. An id beyond this would make
// every later id of the session a late one, for years.
const farAhead = 366 * 24 * time.Hour

// isFarAhead reports whether an id of our own form was made too far ahead of the clock
// and of every id that this process made: our own ids are right though the clock was
// set back.
func isFarAhead(id firn.EntryID) bool {
	if _, near := id.Made(); near {
		return false
	}
	n, ours := ordinal(id)
	return ours && time.Until(time.UnixMilli(int64(n>>20))) > farAhead
}

// newestOf returns the greater of two ids that are of our own form, or the one that is.
func newestOf(a, b firn.EntryID) firn.EntryID {
	n, ours := ordinal(a)
	if m, also := ordinal(b); also && (!ours || m > n) {
		return b
	}
	return a
}

// checkTarget refuses an entry that points at something that is not there.
func (c *chain) checkTarget(e *firn.Entry) error {
	switch b := e.Body.(type) {
	case *firn.Tombstone:
		if b.Target == firn.EntryID(c.tail.Session) {
			return nil
		}
		return c.mustKnow("target", b.Target)
	case *firn.Label:
		return c.mustKnow("target", b.Target)
	case *firn.Compaction:
		if b.FirstKept == "" || b.FirstKept == e.ID {
			return nil
		}
		return c.mustKnow("first kept entry", b.FirstKept)
	}
	return nil
}

// maxIDLen bounds the length of an entry id in bytes.
const maxIDLen = 128

// checkID refuses an id that is taken, or that would not survive in a line of
// text or be mistaken for something else.
func (c *chain) checkID(id firn.EntryID) error {
	switch {
	case len(id) > maxIDLen:
		return fmt.Errorf("its id has %d bytes, more than %d: %w", len(id), maxIDLen, firn.ErrInvalid)
	case id == firn.Root || id == firn.EntryID(c.tail.Session):
		return fmt.Errorf("its id %q has a meaning of its own: %w", id, firn.ErrInvalid)
	case !plain(string(id)):
		return fmt.Errorf("its id %q has characters that cannot be printed: %w", id, firn.ErrInvalid)
	case id == c.tail.Head || c.inBatch(id):
		return fmt.Errorf("another entry has its id %s: %w", id, firn.ErrInvalid)
	}
	return nil
}

// plain reports whether s is valid text without control characters.
func plain(s string) bool {
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

// mustKnow refuses an entry if what it names does not stand before it.
func (c *chain) mustKnow(what string, id firn.EntryID) error {
	if id == "" {
		return fmt.Errorf("it names no %s: %w", what, firn.ErrInvalid)
	}
	if id == c.tail.Head || id == c.head || c.inBatch(id) {
		return nil
	}
	if c.known != nil && !c.tail.New {
		ok, err := c.known(id)
		if err != nil {
			return fmt.Errorf("looking for its %s %s: %w", what, id, err)
		}
		if ok {
			return nil
		}
	}
	return fmt.Errorf("its %s %q: %w", what, id, firn.ErrNotFound)
}

// inBatch reports whether an earlier entry of the batch has the id.
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

// stamp brings a time to the form in which times are stored: milliseconds, UTC.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
