package sessionsync

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/base/syncmark"
	"firn.dev/internal/find/election"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/store"
)

// item is an entry of a session as far as a sync compares it.
type item struct {
	id, parent firn.EntryID
	// refs are the entries that must precede it besides its parent.
	refs []firn.EntryID
	// local is set if a sync appended the entry to this copy.
	local bool
	// erased is set for the placeholder of a purged entry.
	erased bool
	// message is set for a message.
	message bool
	// moves is set for an entry that only moves the head, record for one that only records
	// something about the session, such as its title or keys.
	moves, record bool
	// kind is the word for a record or move; empty if users do not know it.
	kind string
	// sum is the hash of the content.
	sum [sha256.Size]byte
	// line is the entry as it travels. It is nil in a copy that was only indexed.
	line []byte
}

// fileFields are members of a line that belong to its file, not to the entry. They do not
// travel: the store of each machine writes its own.
var fileFields = []string{"late", "chain"}

// cleanedField marks text that a store repaired. It is no difference.
const cleanedField = "cleaned"

// copyOf is a copy of a session: the header and the entries in file order.
type copyOf struct {
	header []byte
	head   *firn.Header
	items  []item
	at     map[firn.EntryID]int
	// unread is the number of lines that could not be read.
	unread int
	names  *election.Election
	// time is the time of the last entry that has one.
	time time.Time
	// shown is the state that lists show, computed in file order.
	shown store.Checkpoint
}

// readCopy indexes the lines of a session.
func readCopy(id firn.ID, lines iter.Seq2[[]byte, error]) (*copyOf, error) {
	c := &copyOf{at: make(map[firn.EntryID]int), names: election.New(id)}
	for line, err := range lines {
		if err != nil {
			return nil, err
		}
		c.add(id, line)
	}
	return c, nil
}

// add adds a line.
func (c *copyOf) add(id firn.ID, line []byte) {
	it, e, err := c.decode(line)
	if err != nil {
		if !rawjson.IsBlank(line) {
			c.unread++
		}
		return
	}
	if !e.Time.IsZero() {
		c.time = e.Time
	}
	c.names.Add(e)
	c.shown.See(id, e)
	if h, ok := e.Body.(*firn.Header); ok {
		if c.head == nil {
			c.head, c.header = h, it.line
		}
		return
	}
	if _, twice := c.at[it.id]; twice {
		return // the first one counts
	}
	it.line = nil
	c.at[it.id] = len(c.items)
	c.items = append(c.items, it)
}

// decode decodes a line that follows the entries of the copy. An entry without a valid parent
// follows the entry before it, as in every reader. An entry without a time has the time of the
// entry before it, so that all machines store the same.
func (c *copyOf) decode(line []byte) (item, firn.Entry, error) {
	it, e, glance, err := decodeLine(line)
	if err != nil || e.Body.Kind() == firn.KindHeader {
		return it, e, err
	}
	_, known := c.at[it.parent]
	lost := glance.NoParent || it.parent != "" && !known
	if lost {
		e.Parent = ""
		if len(c.items) > 0 {
			e.Parent = c.items[len(c.items)-1].id
		}
	}
	timeless := e.Time.IsZero() && !c.time.IsZero()
	if timeless {
		e.Time = c.time
	}
	if lost || timeless {
		if it.line, err = native.New().Append(nil, e); err != nil {
			return it, e, err
		}
		it, e, _, err = decodeLine(bytes.TrimSuffix(it.line, []byte{'\n'}))
	}
	return it, e, err
}

// decodeLine decodes a line and removes the members that belong to its file.
func decodeLine(line []byte) (item, firn.Entry, firn.Glance, error) {
	line, err := without(line, fileFields...)
	if err != nil {
		return item{}, firn.Entry{}, firn.Glance{}, err
	}
	dialect := native.New()
	e, err := dialect.Decode(line)
	if err != nil {
		return item{}, e, firn.Glance{}, err
	}
	glance, err := dialect.Glance(line)
	if err != nil {
		return item{}, e, glance, err
	}
	if e.Body == nil || e.ID == "" && e.Body.Kind() != firn.KindHeader {
		return item{}, e, glance, failure.Of(firn.ErrCorrupt, "an entry without an ID")
	}
	it := item{id: e.ID, parent: e.Parent, local: syncmark.Has(&e), erased: e.Body.Kind() == firn.KindErased, message: e.Body.Kind() == firn.KindMessage, moves: e.Body.Kind() == firn.KindHead, record: isRecord(&e), kind: recordKind(&e), line: line}
	if o, ok := e.Body.(*firn.Opaque); ok && !it.local {
		it.local = hasMember(o.Raw, syncmark.Field)
	}
	it.refs = refsOf(&e)
	it.sum, err = sumOf(line)
	return it, e, glance, err
}

// isRecord reports whether an entry is not part of the conversation, wherever it is in the tree.
func isRecord(e *firn.Entry) bool {
	switch b := e.Body.(type) {
	case *firn.Title, *firn.Label, *firn.Tombstone:
		return true
	case *firn.Custom:
		return slices.Contains([]string{store.KeyType, firn.TagsType, firn.CountersType, "firn.reset", "firn.usage"}, b.Type)
	}
	return false
}

// refsOf returns the entries that must precede an entry besides its parent.
func refsOf(e *firn.Entry) []firn.EntryID {
	switch b := e.Body.(type) {
	case *firn.Tombstone:
		return []firn.EntryID{b.Target}
	case *firn.Label:
		return []firn.EntryID{b.Target}
	case *firn.Compaction:
		if b.FirstKept != "" && b.FirstKept != e.ID {
			return []firn.EntryID{b.FirstKept}
		}
	}
	return nil
}

// sumOf returns the hash of the content of an entry, independent of how its line is written,
// and of the members that a store adds or repairs when it appends the entry.
func sumOf(line []byte) (sum [sha256.Size]byte, err error) {
	plain, err := without(line, cleanedField)
	if err != nil {
		return sum, err
	}
	e, err := native.New().Decode(plain)
	if err != nil {
		return sum, err
	}
	text, err := native.New().Append(nil, asStored(e))
	if err == nil {
		text, err = without(bytes.TrimSpace(text), cleanedField)
	}
	return sha256.Sum256(text), err
}

// asStored returns an entry as a store writes it, for instance with a time in a message that
// lacks one. An entry that no store accepts is returned as it is.
func asStored(e firn.Entry) firn.Entry {
	var tail store.Tail
	if h, ok := e.Body.(*firn.Header); ok {
		tail = store.Tail{Session: h.Session, New: true}
	}
	given := e
	if given.Parent == "" {
		given.Parent = firn.Root
	}
	known := func(firn.EntryID) (bool, error) { return true, nil }
	if all, err := store.Prepare(tail, e.Time, []firn.Entry{given}, known); err == nil && len(all) == 1 {
		return all[0]
	}
	return e
}

// without returns a copy of a JSON object without some of its members. The other bytes stay
// as they are if none of them occurs.
func without(line []byte, names ...string) ([]byte, error) {
	if !slices.ContainsFunc(names, func(name string) bool { return bytes.Contains(line, []byte(`"`+name+`"`)) }) {
		return bytes.Clone(line), nil
	}
	r := rawjson.New(bytes.Clone(line))
	if !r.Object() {
		return nil, failure.Of(firn.ErrCorrupt, "not a JSON object")
	}
	out := []byte{'{'}
	dropped := false
	for r.Member() {
		name := r.KeyText()
		value := r.Raw()
		if slices.Contains(names, name) {
			dropped = true
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(rawjson.AppendString(out, name), ':'), value...)
	}
	if err := r.End(); err != nil {
		return nil, failure.Of(firn.ErrCorrupt, "%v", err)
	}
	if !dropped { // the name occurs in a text
		return bytes.Clone(line), nil
	}
	return append(out, '}'), nil
}

// hasMember reports whether a JSON object has a member.
func hasMember(raw json.RawMessage, name string) bool {
	r := rawjson.New(raw)
	found := false
	if r.Object() {
		for r.Member() {
			found = found || r.KeyText() == name
			r.Skip()
		}
	}
	return found
}

// travels reports for each of the first n entries whether it is sent to other machines: all
// but those that a sync or a purge appended here and no other such entry refers to. The same
// holds for placeholders of purged entries: the marks say what was purged, and a placeholder
// does not show whether its entry was meant for this copy only.
func (c *copyOf) travels(n int) []bool {
	out := make([]bool, n)
	needed := make(map[firn.EntryID]bool)
	for i := n - 1; i >= 0; i-- {
		it := &c.items[i]
		if out[i] = !it.local && !it.erased || needed[it.id]; out[i] {
			needed[it.parent] = true
			for _, ref := range it.refs {
				needed[ref] = true
			}
		}
	}
	return out
}

// realHead returns the entry at which the conversation continues, without entries that a sync
// appended; empty if there is none.
func (c *copyOf) realHead() firn.EntryID {
	if len(c.items) == 0 {
		return ""
	}
	return c.real(c.items[len(c.items)-1].id)
}

// real returns the nearest ancestor of an entry, or the entry itself, that no sync appended
// and that was not purged. If there is none, it is the nearest purged one.
func (c *copyOf) real(id firn.EntryID) firn.EntryID {
	var erased firn.EntryID
	for {
		i, ok := c.at[id]
		if !ok || !c.items[i].local && !c.items[i].erased {
			return cmp.Or(id, erased)
		}
		if c.items[i].erased && erased == "" {
			erased = id
		}
		id = c.items[i].parent
	}
}

// grown returns the entry up to which the conversation of a branch grew: without records and
// without entries that only move the head.
func (c *copyOf) grown(id firn.EntryID) firn.EntryID {
	return c.before(id, func(it *item) bool { return it.moves || it.record })
}

// withoutRecords returns the nearest ancestor of an entry, or the entry itself, that is more
// than a record.
func (c *copyOf) withoutRecords(id firn.EntryID) firn.EntryID {
	return c.before(id, func(it *item) bool { return it.record })
}

// before returns the nearest ancestor of an entry, or the entry itself, that is real and not
// to be skipped.
func (c *copyOf) before(id firn.EntryID, skip func(it *item) bool) firn.EntryID {
	for {
		id = c.real(id)
		i, ok := c.at[id]
		if !ok || !skip(&c.items[i]) {
			return id
		}
		id = c.items[i].parent
	}
}

// follows reports whether an entry is another one or a descendant of it.
func (c *copyOf) follows(id, other firn.EntryID) bool {
	for id != other {
		i, ok := c.at[id]
		if !ok {
			return false
		}
		id = c.items[i].parent
	}
	return true
}

// namesDiffer reports whether lists show another title or other tags than those that all
// machines elect.
func (c *copyOf) namesDiffer() bool {
	elected := c.names.Checkpoint()
	return elected.Title != c.shown.Title || !slices.Equal(elected.Tags, c.shown.Tags)
}
