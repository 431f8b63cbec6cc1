package rawjson

import "bytes"

// Piece is a part of a damaged line: an intact object or damage.
type Piece struct {
	Kind PieceKind
	// Offset is the offset of the piece in the line.
	Offset int
	// Bytes is the piece itself, a slice of the line.
	Bytes []byte
	// Detail describes the damage.
	Detail string
}

// PieceKind is the kind of a piece.
type PieceKind string

// The kinds of pieces.
const (
	// Complete is a JSON object.
	Complete PieceKind = "whole"
	// Torn is the beginning of an object whose end was never written.
	Torn PieceKind = "torn"
	// Damaged is anything that cannot be read.
	Damaged PieceKind = "damaged"
	// NUL is a run of zero bytes.
	NUL PieceKind = "nul"
	// BOM is a byte order mark.
	BOM PieceKind = "bom"
)

const bom = "\xef\xbb\xbf"

// maxDamage bounds the pieces of damage in a line; after that, kinds of damage are no
// longer distinguished. It keeps a hostile line from becoming a million pieces.
const maxDamage = 64

// maxPieces bounds all pieces of a line, including whole ones: the rest is one piece of
// damage. A record can be two bytes long but costs its reader far more.
const maxPieces = 10_000

// Split recovers the intact objects of a line that is not one JSON object: a line with a
// byte order mark or zero bytes in it, with several records glued together, or with a
// fragment of a record before a whole one, as left by an append after a torn line. The
// pieces are in order and cover the line except for white space; a blank line has none. The
// running time is linear in the length of the line. After ten thousand pieces, the rest of
// the line is one piece of damage.
//
// An object inside a broken one is not taken for a record. As a consequence, if a record
// was torn where a nested object may begin (after a colon, or after a bracket or comma of
// an array), the record glued to it looks like a part of it, and both are one torn piece.
func Split(line []byte) []Piece {
	var pieces []Piece
	damage := 0
	for pos := skipSpace(line, 0); pos < len(line); {
		if len(pieces) == maxPieces {
			return append(pieces, Piece{Damaged, pos, trimSpace(line[pos:]), "the line has more than 10,000 pieces; the rest is not split"})
		}
		p := pieceAt(line, pos, damage < maxDamage)
		if p.Kind != Complete {
			damage++
		}
		pieces = append(pieces, p)
		pos = skipSpace(line, pos+len(p.Bytes))
	}
	return pieces
}

// pieceAt returns the piece at pos, which is not white space. If fine is false, damage
// extends to the next object.
func pieceAt(line []byte, pos int, fine bool) Piece {
	if bytes.HasPrefix(line[pos:], []byte(bom)) && fine {
		return Piece{BOM, pos, line[pos : pos+len(bom)], "a byte order mark"}
	}
	if line[pos] == 0 && fine {
		end := pos
		for end < len(line) && line[end] == 0 {
			end++
		}
		return Piece{NUL, pos, line[pos:end], "a run of zero bytes"}
	}
	if line[pos] != '{' {
		return damageAt(line, pos, pos, fine, Damaged, "no JSON object starts here")
	}
	end, fault := objectAt(line, pos)
	if fault == nil {
		return Piece{Complete, pos, line[pos:end], ""}
	}
	if fault.Short {
		return Piece{Torn, pos, trimSpace(line[pos:]), fault.Reason()}
	}
	return damageAt(line, pos, fault.Offset, fine, Torn, fault.Reason())
}

// damageAt returns the damage at pos, where the bytes before fault have already been
// scanned. It extends to the next piece. It is of kind Torn only if the next piece begins
// where the fault was found.
func damageAt(line []byte, pos, fault int, fine bool, kind PieceKind, detail string) Piece {
	end := nextPiece(line, pos+1, fault, fine)
	if kind == Torn && end > fault {
		kind = Damaged
	}
	if end == len(line) {
		return Piece{kind, pos, trimSpace(line[pos:]), detail}
	}
	return Piece{kind, pos, line[pos:end], detail}
}

// nextPiece returns the start of the next piece. Up to fault the line was scanned and
// looked like JSON. A record that is glued to a fragment begins at the fault or a few bytes
// before it: at the fault if the fragment ended between tokens, two bytes before if it
// ended within a string, which the record's first quote then closed, and up to five within
// an escape. Trying no earlier offset, here and after each further attempt, makes Split
// linear.
func nextPiece(line []byte, least, fault int, fine bool) int {
	const back = 5
	from := max(least, fault-back)
	for {
		at := nextStart(line, from, fine)
		if at == len(line) || line[at] != '{' {
			return at
		}
		end, bad := objectAt(line, at)
		switch {
		case bad == nil && pieceEnds(line, end):
			return at
		case bad == nil:
			from = end
		case bad.Short:
			return len(line)
		default:
			from = max(at+1, bad.Offset-back)
		}
	}
}

// nextStart returns the next offset where a piece might begin.
func nextStart(line []byte, from int, fine bool) int {
	end := len(line)
	if i := bytes.Index(line[from:], []byte(`{"`)); i >= 0 {
		end = from + i
	}
	if fine {
		if i := bytes.IndexByte(line[from:end], 0); i >= 0 {
			end = from + i
		}
	}
	return end
}

// pieceEnds reports whether an object that ends at end can be a separate record: it is at
// the end of the line or followed by the start of a piece.
func pieceEnds(line []byte, end int) bool {
	end = skipSpace(line, end)
	return end == len(line) || line[end] == '{' || line[end] == 0 || bytes.HasPrefix(line[end:], []byte(bom))
}

// objectAt scans the object at pos and returns its end, or the fault with its offset in the
// line.
func objectAt(line []byte, pos int) (end int, fault *SyntaxError) {
	r := New(line)
	r.pos = pos
	r.Skip()
	return r.pos, r.err
}

func skipSpace(line []byte, pos int) int {
	for pos < len(line) && isSpace(line[pos]) {
		pos++
	}
	return pos
}

func trimSpace(s []byte) []byte { return bytes.TrimRight(s, " \t\r\n") }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
