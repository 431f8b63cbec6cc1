package firn

import "fmt"

// Pos is a place between the entries of a session. Positions grow along the
// session and are never used for another place. Zero is before the first entry.
type Pos uint64

// Record is an entry where it stands in its session, or a [Gap] where bytes
// could not be read as one. The entry is decoded only when asked for.
//
// A record from an iterator is valid until the next step of the iterator:
// take what you need of it before going on. What [Record.Entry] returns stays valid.
type Record struct {
	// At is the position before the record, Next the one after it.
	At, Next Pos
	// Glance is what the tree needs to know of the entry.
	Glance Glance
	// Gap is set if there is no entry here.
	Gap *Gap

	entry  Entry
	err    error // of decoding, once that is done
	line   []byte
	decode func(line []byte) (Entry, error) // nil once that is done
}

// NewRecord makes a record of an entry that is already decoded.
func NewRecord(at, next Pos, entry Entry) Record {
	return Record{At: at, Next: next, Glance: GlanceOf(entry), entry: entry}
}

// LazyRecord makes a record of a line that decode will read when asked.
func LazyRecord(at, next Pos, glance Glance, line []byte, decode func([]byte) (Entry, error)) Record {
	return Record{At: at, Next: next, Glance: glance, line: line, decode: decode}
}

// GapRecord makes a record of a place where nothing could be read.
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

// Decode decodes the entry now and keeps it in the record, for Entry to return.
func (r *Record) Decode() {
	if r.Gap == nil && r.decode != nil {
		r.entry, r.err = r.decode(r.line)
		r.decode = nil
	}
}

// Line is the record as it stands in its file, without the newline; nil if the
// store keeps no lines. It must not be changed or kept.
func (r *Record) Line() []byte { return r.line }

// Glance is what the tree needs to know of an entry: enough to find the head,
// the path, what is hidden and what is compacted, without reading the rest.
type Glance struct {
	Kind       Kind
	ID, Parent EntryID
	// NoParent says that the entry does not tell its parent at all, which is
	// not the same as being a root: it then follows the entry before it.
	NoParent bool
	// Target is what a tombstone or label points at, or the first entry that a
	// compaction keeps.
	Target EntryID
}

// GlanceOf takes the glance of an entry.
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

// Gap names a fault in a stored session: what was found, where, and what is
// made of it. It is an error so that it can be returned as one.
type Gap struct {
	Kind     GapKind
	At, Next Pos
	// Entry is the entry at fault, if it could be read.
	Entry EntryID
	// Detail says it in words.
	Detail string
}

// GapKind is the kind of a fault in one word.
type GapKind string

// The kinds of gaps.
const (
	// GapTorn is an unfinished last line.
	GapTorn GapKind = "torn"
	// GapDamaged is a line that is not JSON.
	GapDamaged GapKind = "damaged"
	// GapNUL is a run of zero bytes, as a power cut leaves it.
	GapNUL GapKind = "nul"
	// GapGlued is a line that holds more than one record. They are all read.
	GapGlued GapKind = "glued"
	// GapBOM is a byte order mark. The line is read without it.
	GapBOM GapKind = "bom"
	// GapNoHeader is a session that does not begin with a header.
	GapNoHeader GapKind = "no-header"
	// GapDuplicate is an entry whose id an earlier one has.
	GapDuplicate GapKind = "duplicate-id"
	// GapDangling is an entry whose parent does not stand before it. It is read
	// as following the entry before it.
	GapDangling GapKind = "dangling-parent"
	// GapNoParent is an entry that does not tell its parent. It is read as
	// following the entry before it.
	GapNoParent GapKind = "no-parent"
	// GapTooLong is a line that is longer than the limit that readers were given.
	// Its bytes are not read; a higher limit brings it back.
	GapTooLong GapKind = "too-long"
	// GapBadText is an entry with bytes that are not UTF-8. Each is read as U+FFFD.
	GapBadText GapKind = "bad-text"
	// GapErased is an entry that was purged.
	GapErased GapKind = "erased"
)

// Error says what is wrong in one sentence.
func (g *Gap) Error() string {
	if g.Entry != "" {
		return fmt.Sprintf("%s at %d (entry %s): %s", g.Kind, g.At, g.Entry, g.Detail)
	}
	return fmt.Sprintf("%s at %d: %s", g.Kind, g.At, g.Detail)
}

// Unfinished reports whether the gap is a last line without its end: a crash
// left it so, or somebody is writing it just now. It has no extent, so who
// reads on from behind it reads it again, when it may be whole.
func (g *Gap) Unfinished() bool { return g != nil && g.Kind == GapTorn && g.At == g.Next }

// Lost reports whether content could not be read. It is false for an unfinished
// last line, and where all content was read and only its place in the session is
// at fault. A kind that is not known counts as lost.
func (g *Gap) Lost() bool {
	switch g.Kind {
	case GapGlued, GapBOM, GapNoHeader, GapDuplicate, GapDangling, GapNoParent, GapErased:
		return false
	}
	return !g.Unfinished()
}

// Unwrap makes a gap an ErrCorrupt.
func (g *Gap) Unwrap() error { return ErrCorrupt }
