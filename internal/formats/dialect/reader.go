package dialect

import (
	"bytes"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Reader converts the lines of a file to records. It returns the intact records of a
// damaged line and a gap for each unreadable part.
type Reader struct {
	Dialect Decoder
	// Quick skips the check for damage within a line; decoding the record detects it later.
	// Several records on one line are detected regardless.
	Quick bool

	records []firn.Record
}

// Line is a line of a file with its position.
type Line struct {
	// At is the position before the line, Next the position after it.
	At, Next firn.Pos
	// Start is the position of the first byte; see journal.Line.
	Start firn.Pos
	// Data is the line without its newline.
	Data []byte
	// Unfinished is set if the line has no newline.
	Unfinished bool
	// Gap is set if the line was not read; see journal.Line.
	Gap firn.GapKind
}

// Records returns the records of a line in file order: one for an intact line, none for a
// blank line, several if records were joined without a newline. The slice is valid until
// the next call, the records as long as the line is.
//
// An unfinished line is a gap of zero length: a reader that continues after it reads the
// line again when it may be complete.
func (r *Reader) Records(line Line) []firn.Record {
	r.records = r.records[:0]
	if line.Gap != "" {
		return append(r.records, unreadGap(line))
	}
	if glance, err := r.glance(line.Data); err == nil {
		return append(r.records, firn.LazyRecord(line.At, line.Next, glance, line.Data, r.Dialect.Decode))
	}
	pieces := rawjson.Split(line.Data)
	if !line.Unfinished { // nothing can follow an unfinished line
		pieces = r.splitPieces(pieces)
	}
	damaged := slices.ContainsFunc(pieces, func(p rawjson.Piece) bool { return p.Kind != rawjson.Complete && p.Kind != rawjson.BOM })
	for i, p := range pieces {
		at := line.Start + firn.Pos(p.Offset)
		next := at + firn.Pos(len(p.Bytes))
		if i == 0 {
			at = line.At
		}
		if i == len(pieces)-1 {
			next = line.Next
			if line.Unfinished && p.Kind != rawjson.Complete {
				next = at // a writer may still be appending: resume here later
			}
		}
		if i > 0 && p.Kind == rawjson.Complete && pieces[i-1].Kind == rawjson.Complete {
			r.records = append(r.records, gap(at, at, firn.GapGlued, "a newline is missing between two records"))
		}
		r.records = append(r.records, r.pieceRecord(p, at, next, damaged))
	}
	return r.records
}

// unreadGap returns a gap for bytes that were not read.
func unreadGap(line Line) firn.Record {
	size, detail := line.Next-line.Start, ""
	switch line.Gap {
	case firn.GapTooLong:
		detail = fmt.Sprintf("a line of %d bytes is over the limit and was not read; a higher store.max_line reads it", size)
	case firn.GapNUL:
		detail = fmt.Sprintf("%d zero bytes", size)
	}
	if line.Unfinished {
		return gap(line.At, line.At, firn.GapTorn, "unfinished: "+detail)
	}
	return gap(line.At, line.Next, line.Gap, detail)
}

// pieceRecord returns the record for a piece of a line. An object in a damaged line may be
// a fragment of a larger one, such as a part of a message, and is then a gap.
func (r *Reader) pieceRecord(p rawjson.Piece, at, next firn.Pos, damaged bool) firn.Record {
	if p.Kind != rawjson.Complete {
		return gap(at, next, gapKinds[p.Kind], p.Detail)
	}
	glance, err := r.glance(p.Bytes)
	if err != nil {
		return gap(at, next, firn.GapDamaged, err.Error())
	}
	if damaged && !isRecord(glance, nil) {
		return gap(at, next, firn.GapDamaged, "an object that is not an entry, in a damaged line")
	}
	return firn.LazyRecord(at, next, glance, p.Bytes, r.Dialect.Decode)
}

// gapKinds maps the kinds of damaged pieces to kinds of gaps.
var gapKinds = map[rawjson.PieceKind]firn.GapKind{
	rawjson.NUL:     firn.GapNUL,
	rawjson.BOM:     firn.GapBOM,
	rawjson.Torn:    firn.GapTorn,
	rawjson.Damaged: firn.GapDamaged,
}

func gap(at, next firn.Pos, kind firn.GapKind, detail string) firn.Record {
	return firn.GapRecord(firn.Gap{Kind: kind, At: at, Next: next, Detail: detail})
}

// glance decodes the fields that the tree needs. The decoder's Glance would accept a line
// with a second record inside, so the whole line is validated; with Quick, only the number
// of records is checked.
func (r *Reader) glance(line []byte) (firn.Glance, error) {
	glance, err := r.Dialect.Glance(line)
	if err == nil && (!r.Quick || glance.Kind == firn.KindHeader || !singleRecord(line)) {
		err = rawjson.Valid(line)
	}
	return glance, err
}

// singleRecord reports whether a line certainly contains no second record. Every record
// except a header has a parentId member, and within a text the quotes of that name would be
// escaped. The search is for the capital letter, which is rare and fast to find. A line
// that does not end like an object or contains zero bytes is not certain: after a power
// failure, part of it may be missing.
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

// splitPieces splits the pieces of a damaged line further. If a record was torn where an
// object may start, the record joined to it parses as part of it. Only a search for records
// inside the piece can separate them.
func (r *Reader) splitPieces(found []rawjson.Piece) []rawjson.Piece {
	var pieces []rawjson.Piece
	for _, p := range found {
		if p.Kind == rawjson.Torn || p.Kind == rawjson.Damaged {
			if at := r.findInnerRecord(p.Bytes); at > 0 {
				whole := rawjson.Piece{Kind: rawjson.Complete, Offset: p.Offset + at, Bytes: p.Bytes[at:]}
				p.Bytes = p.Bytes[:at]
				pieces = append(pieces, p, whole)
				continue
			}
		}
		pieces = append(pieces, p)
	}
	return pieces
}

// innerTries limits the search for a record within a torn one.
const innerTries = 64

// findInnerRecord searches backwards for an intact record at the end of a torn piece and
// returns its offset, or -1 if there is none. A message may contain text that looks like a
// record, so a root after a non-root entry is rejected: it would cut off the history before
// it.
func (r *Reader) findInnerRecord(piece []byte) int {
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
