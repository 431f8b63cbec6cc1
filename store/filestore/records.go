package filestore

import (
	"bytes"

	"firn"
	"firn/dialect"
	"firn/internal/journal"
	"firn/internal/rawjson"
)

// reader turns lines into records: read what is whole, name the gap, go on.
type reader struct {
	dialect dialect.Decoder
	// quick leaves damage within a line to be found by who decodes the record.
	quick  bool
	pieces []firn.Record
}

// records returns what is on a line, in file order: one record if all is well,
// none if it is blank, several if records were glued together. The slice is
// valid until the next call, the records as long as the line is.
func (r *reader) records(line journal.Line) []firn.Record {
	r.pieces = r.pieces[:0]
	if glance, err := r.glance(line.Data); err == nil {
		return append(r.pieces, firn.LazyRecord(line.At, line.Next, glance, line.Data, r.dialect.Decode))
	}
	if line.Open && !journal.IsObject(line.Data) {
		return append(r.pieces, gap(line.At, line.Next, firn.GapTorn, "the last line is unfinished"))
	}
	pieces := rawjson.Split(line.Data)
	for i, p := range pieces {
		at := line.Start + firn.Pos(p.Offset)
		next := at + firn.Pos(len(p.Bytes))
		if i == 0 {
			at = line.At
		}
		if i == len(pieces)-1 {
			next = line.Next
		}
		r.pieces = append(r.pieces, r.piece(p, at, next))
	}
	if len(pieces) > 1 && pieces[0].Kind == rawjson.Whole && pieces[1].Kind == rawjson.Whole {
		second := r.pieces[1].At
		r.pieces = append(r.pieces[:1], append([]firn.Record{gap(second, second, firn.GapGlued, "a newline is missing between two records")}, r.pieces[1:]...)...)
	}
	return r.pieces
}

func (r *reader) piece(p rawjson.Piece, at, next firn.Pos) firn.Record {
	if p.Kind != rawjson.Whole {
		return gap(at, next, gapKinds[p.Kind], p.Detail)
	}
	glance, err := r.glance(p.Bytes)
	if err != nil {
		return gap(at, next, firn.GapDamaged, err.Error())
	}
	return firn.LazyRecord(at, next, glance, p.Bytes, r.dialect.Decode)
}

// glance reads what the tree needs to know. A glance alone would take a line
// for whole that has another record glued into it, so all of the line is
// checked; or, if quick, only that there is one record on it.
func (r *reader) glance(line []byte) (firn.Glance, error) {
	glance, err := r.dialect.Glance(line)
	if err == nil && (!r.quick || !singleRecord(line)) {
		err = rawjson.Valid(line)
	}
	return glance, err
}

// singleRecord reports whether a line that begins as a record is sure not to
// have another one in it. Every record tells its parent; within a text the
// quotes of such a member would be escaped. It looks for the capital letter,
// which is rare and found fast.
func singleRecord(line []byte) bool {
	const before, after = `"parent`, `Id":`
	found := false
	for at := 0; ; {
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
		at++
	}
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
