package firn

import "fmt"

// Pos is a position between the entries of a session. Positions increase along the session
// and are never reused. Zero is before the first entry.
type Pos uint64

// Record is an entry with its position in the session, or a [Gap] where bytes could not be
// read as an entry. The entry is decoded on demand.
//
// A record from an iterator is valid until the next step of the iterator; copy what you
// need. Entries returned by [Record.Entry] stay valid.
type Record struct {
	// At is the position before the record, Next the one after it.
	At, Next Pos
	// Glance holds the fields of the entry that the tree needs.
	Glance Glance
	// Gap is set if there is no entry here.
	Gap *Gap

	entry  Entry
	err    error // decoding error; set by Decode
	line   []byte
	decode func(line []byte) (Entry, error) // nil once decoded
}

// NewRecord returns a record for an entry that is already decoded.
func NewRecord(at, next Pos, entry Entry) Record {
	return Record{At: at, Next: next, Glance: GlanceOf(entry), entry: entry}
}

// LazyRecord returns a record for a line that decode reads on demand.
func LazyRecord(at, next Pos, glance Glance, line []byte, decode func([]byte) (Entry, error)) Record {
	return Record{At: at, Next: next, Glance: glance, line: line, decode: decode}
}

// GapRecord returns a record for a place where no entry could be read.
func GapRecord(gap Gap) Record {
	return Record{At: gap.At, Next: gap.Next, Gap: &gap}
}

// Entry decodes the entry.
func (r *Record) Entry() (Entry, error) {
	if r.Gap != nil {
		return Entry{}, fmt.Errorf("reading entry: %w", r.Gap)
	}
	if r.decode == nil {
		return r.entry, r.err
	}
	return r.decode(r.line)
}

// Decode decodes the entry now and stores the result in the record for Entry to return.
func (r *Record) Decode() {
	if r.Gap == nil && r.decode != nil {
		r.entry, r.err = r.decode(r.line)
		r.decode = nil
	}
}

// Line returns the record as stored in its file, without the newline. It is nil if the
// store has no lines. It must not be modified or retained.
func (r *Record) Line() []byte { return r.line }

// Glance holds the fields of an entry that the tree needs: enough to determine the head,
// the path, and the hidden and compacted entries, without decoding the rest.
type Glance struct {
	Kind       Kind
	ID, Parent EntryID
	// NoParent means that the entry has no parent field at all. Such an entry is not a
	// root: it follows the preceding entry.
	NoParent bool
	// Target is the target of a tombstone or label, or the first entry that a compaction
	// keeps.
	Target EntryID
}

// GlanceOf returns the glance of an entry.
func GlanceOf(e Entry) Glance {
	g := Glance{ID: e.ID, Parent: e.Parent}
	if e.Body != nil {
		g.Kind = e.Body.Kind()
	}
	if g.Parent == Root {
		g.Parent = ""
	}
	switch b := e.Body.(type) {
	case *Tombstone:
		g.Target = b.Target
	case *Label:
		g.Target = b.Target
	case *Compaction:
		g.Target = b.FirstKept
	}
	return g
}

// Gap describes a fault in a stored session: its kind, its position and how it is handled.
// It implements error.
type Gap struct {
	Kind     GapKind
	At, Next Pos
	// Entry is the entry at fault, if it could be read.
	Entry EntryID
	// Detail is a description for people.
	Detail string
}

// GapKind is the kind of a fault.
type GapKind string

// The kinds of gaps.
const (
	// GapTorn is an unfinished last line.
	GapTorn GapKind = "torn"
	// GapDamaged is a line that is not JSON.
	GapDamaged GapKind = "damaged"
	// GapNUL is a run of zero bytes, as a power failure can leave.
	GapNUL GapKind = "nul"
	// GapGlued is a line that holds more than one record. All of them are read.
	GapGlued GapKind = "glued"
	// GapBOM is a byte order mark. The line is read without it.
	GapBOM GapKind = "bom"
	// GapNoHeader is a session that does not start with a header.
	GapNoHeader GapKind = "no-header"
	// GapDuplicate is an entry with the ID of an earlier entry.
	GapDuplicate GapKind = "duplicate-id"
	// GapDangling is an entry whose parent does not precede it. It is read as following the
	// preceding entry.
	GapDangling GapKind = "dangling-parent"
	// GapNoParent is an entry without a parent field. It is read as following the preceding
	// entry.
	GapNoParent GapKind = "no-parent"
	// GapTooLong is a line that exceeds the line limit of the reader. It is not read; raise
	// the limit to read it.
	GapTooLong GapKind = "too-long"
	// GapBadText is an entry with bytes that are not UTF-8. Each is read as U+FFFD.
	GapBadText GapKind = "bad-text"
	// GapErased is an entry that was purged.
	GapErased GapKind = "erased"
)

// Error returns a one-sentence description.
func (g *Gap) Error() string {
	if g.Entry != "" {
		return fmt.Sprintf("%s at %d (entry %s): %s", g.Kind, g.At, g.Entry, g.Detail)
	}
	return fmt.Sprintf("%s at %d: %s", g.Kind, g.At, g.Detail)
}

// Unfinished reports whether the gap is an incomplete last line: the result of a crash, or
// a write in progress. It has no extent, so a reader that continues after it reads it
// again, possibly completed.
func (g *Gap) Unfinished() bool { return g != nil && g.Kind == GapTorn && g.At == g.Next }

// Lost reports whether content could not be read. It is false for an unfinished last line
// and where all content was read and only its place in the session is at fault. An unknown
// kind counts as lost.
func (g *Gap) Lost() bool {
	switch g.Kind {
	case GapGlued, GapBOM, GapNoHeader, GapDuplicate, GapDangling, GapNoParent, GapErased:
		return false
	}
	return !g.Unfinished()
}

// Unwrap makes a gap an ErrCorrupt.
func (g *Gap) Unwrap() error { return ErrCorrupt }
