package dialect

import (
	"bytes"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Reader turns the lines of a file into records: it reads what is whole, names
// the gap, and goes on.
type Reader struct {
	Dialect Decoder
	// Quick leaves damage within a line to be found by who decodes the record.
	// That there is more than one record on a line is seen all the same.
	Quick bool

	records []firn.Record
}

// Line is a line of a file and where it stands.
type Line struct {
	// At is the position before the line, Next the one after it.
	At, Next firn.Pos
	// Start is where the first byte is; see journal.Line.
	Start firn.Pos
	// Data is the line without its newline.
	Data []byte
	// Open is set if the line has no newline.
	Open bool
	// Gap is set if the line was not read; see journal.Line.
	Gap firn.GapKind
}

// Records returns what is on a line, in file order: one record if all is well,
// none if it is blank, several if records were glued together. The slice is
// valid until the next call, the records as long as the line is.
//
// An unfinished line is a gap without extent: who reads on from behind it reads
// it again, when it may be whole.
func (r *Reader) Records(line Line) []firn.Record {
	r.records = r.records[:0]
	if line.Gap != "" {
		return append(r.records, unread(line))
	}
	if glance, err := r.glance(line.Data); err == nil {
		return append(r.records, firn.LazyRecord(line.At, line.Next, glance, line.Data, r.Dialect.Decode))
	}
	pieces := rawjson.Split(line.Data)
	if !line.Open { // behind an unfinished line nobody has written yet
		pieces = r.split(pieces)
	}
	damaged := slices.ContainsFunc(pieces, func(p rawjson.Piece) bool { return p.Kind != rawjson.Whole && p.Kind != rawjson.BOM })
	for i, p := range pieces {
		at := line.Start + firn.Pos(p.Offset)
		next := at + firn.Pos(len(p.Bytes))
		if i == 0 {
			at = line.At
		}
		if i == len(pieces)-1 {
			next = line.Next
			if line.Open && p.Kind != rawjson.Whole {
				next = at // somebody may be writing it just now: go on from here later
			}
		}
		if i > 0 && p.Kind == rawjson.Whole && pieces[i-1].Kind == rawjson.Whole {
			r.records = append(r.records, gap(at, at, firn.GapGlued, "a newline is missing between two records"))
		}
		r.records = append(r.records, r.piece(p, at, next, damaged))
	}
	return r.records
}

// unread makes a gap of bytes that were not read.
func unread(line Line) firn.Record {
	size, detail := line.Next-line.Start, ""
	switch line.Gap {
	case firn.GapTooLong:
		detail = fmt.Sprintf("a line of %d bytes is over the limit and was not read; a higher store.max_line reads it", size)
	case firn.GapNUL:
		detail = fmt.Sprintf("%d zero bytes", size)
	}
	if line.Open {
		return gap(line.At, line.At, firn.GapTorn, "unfinished: "+detail)
	}
	return gap(line.At, line.Next, line.Gap, detail)
}

// piece makes a record of a piece of a line. If the line is damaged, an object
// on it may be what is left of a larger one: a part of a message, say.
func (r *Reader) piece(p rawjson.Piece, at, next firn.Pos, damaged bool) firn.Record {
	if p.Kind != rawjson.Whole {
		return gap(at, next, gapKinds[p.Kind], p.Detail)
	}
	glance, err := r.glance(p.Bytes)
	if err != nil {
		return gap(at, next, firn.GapDamaged, err.Error())
	}
	if damaged && !isRecord(glance, nil) {
		return gap(at, next, firn.GapDamaged, "an object that is no entry, in a damaged line")
	}
	return firn.LazyRecord(at, next, glance, p.Bytes, r.Dialect.Decode)
}

// gapKinds says in our words what was found in a damaged line.
var gapKinds = map[rawjson.PieceKind]firn.GapKind{
	rawjson.NUL:     firn.GapNUL,
	rawjson.BOM:     firn.GapBOM,
	rawjson.Torn:    firn.GapTorn,
	rawjson.Damaged: firn.GapDamaged,
}

func gap(at, next firn.Pos, kind firn.GapKind, detail string) firn.Record {
	return firn.GapRecord(firn.Gap{Kind: kind, At: at, Next: next, Detail: detail})
}

// glance reads what the tree needs to know. A glance alone would take a line
// for whole that has another record glued into it, so all of the line is
// checked; or, if quick, only that there is one record on it.
func (r *Reader) glance(line []byte) (firn.Glance, error) {
	glance, err := r.Dialect.Glance(line)
	if err == nil && (!r.Quick || glance.Kind == firn.KindHeader || !singleRecord(line)) {
		err = rawjson.Valid(line)
	}
	return glance, err
}

// singleRecord reports whether a line that begins as a record is sure not to
// have another one in it. Every record but a header tells its parent; within a text the
// quotes of such a member would be escaped. It looks for the capital letter,
// which is rare and found fast. It is not sure of a line that does not end as an
// object does, or has zero bytes in it: a power cut may have taken what comes
// behind a whole record.
func singleRecord(line []byte) bool {
	if !bytes.HasSuffix(bytes.TrimRight(line, " \t\r"), []byte("}")) || bytes.IndexByte(line, 0) >= 0 {
		return false
	}
	const before, after = `"parent`, `Id":`
	found := false
	for at := 0; ; at++ {
		i := bytes.IndexByte(line[at:], 'I')
		if i < 0 {
			return true
		}
		at += i
		if bytes.HasPrefix(line[at:], []byte(after)) && bytes.HasSuffix(line[:at], []byte(before)) {
			if found {
				return false
			}
			found = true
		}
	}
}

// split cuts the pieces of a damaged line further. Where a record was torn at a
// place where an object may stand within it, the one glued to it looks like a
// part of it; knowing what a record looks like, we can tell.
func (r *Reader) split(found []rawjson.Piece) []rawjson.Piece {
	var pieces []rawjson.Piece
	for _, p := range found {
		if p.Kind == rawjson.Torn || p.Kind == rawjson.Damaged {
			if at := r.inner(p.Bytes); at > 0 {
				whole := rawjson.Piece{Kind: rawjson.Whole, Offset: p.Offset + at, Bytes: p.Bytes[at:]}
				p.Bytes = p.Bytes[:at]
				pieces = append(pieces, p, whole)
				continue
			}
		}
		pieces = append(pieces, p)
	}
	return pieces
}

// innerTries bounds the search for a record within a torn one.
const innerTries = 64

// inner finds a whole record that ends a torn piece, from the end, and returns
// where it begins; -1 if there is none. A message may well hold what looks like
// a record. A root is not believed behind an entry that is none: it would cut
// off all that was said before.
func (r *Reader) inner(piece []byte) int {
	torn, _ := r.Dialect.Glance(piece)
	end := len(piece)
	for range innerTries {
		at := bytes.LastIndex(piece[:end], []byte(`{"type":`))
		if at <= 0 {
			return -1
		}
		g, err := r.Dialect.Glance(piece[at:])
		cutsOff := g.Parent == "" && g.Kind != firn.KindHeader && torn.Parent != ""
		if isRecord(g, err) && !cutsOff && rawjson.Valid(piece[at:]) == nil {
			return at
		}
		end = at
	}
	return -1
}

func isRecord(g firn.Glance, err error) bool {
	return err == nil && (g.Kind == firn.KindHeader || g.ID != "" && !g.NoParent)
}
