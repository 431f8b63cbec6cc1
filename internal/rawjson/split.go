package rawjson

import "bytes"

// Piece is a part of a damaged line: an object that is whole, or damage.
type Piece struct {
	Kind PieceKind
	// Offset is where in the line the piece begins.
	Offset int
	// Bytes is the piece itself, a part of the line.
	Bytes []byte
	// Detail says of damage, in words, what is wrong.
	Detail string
}

// PieceKind is the kind of a piece in one word.
type PieceKind string

// The kinds of pieces.
const (
	// Whole is a JSON object.
	Whole PieceKind = "whole"
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

// maxDamage bounds the pieces of damage of a line; what comes after so much of
// it is not told apart any more. It keeps a hostile line from becoming a
// million pieces.
const maxDamage = 64

// maxPieces bounds all pieces of a line, whole ones too: what comes after so
// many is one piece of damage. Every record of a line costs its reader many
// times the two bytes that it may be long.
const maxPieces = 10_000

// Split saves what is whole from a line that is not one JSON object: a line
// with a byte order mark or zero bytes in it, with several records glued
// together, or with the fragment of a record before a whole one, as an append
// behind a torn line leaves it. The pieces are in order and cover the line but
// for white space; a blank line has none. The time it takes grows with the
// length of the line and no faster. After ten thousand pieces the rest of the
// line is one piece of damage, whatever it is.
//
// An object inside of a broken one is not taken for a record. The price: where
// a record was torn at a place where an object may stand within it (behind a
// colon, behind a bracket or comma of an array), the one glued to it looks like
// a part of it, and the two of them are one torn piece.
func Split(line []byte) []Piece {
	var pieces []Piece
	damage := 0
	for pos := skipSpace(line, 0); pos < len(line); {
		if len(pieces) == maxPieces {
			return append(pieces, Piece{Damaged, pos, trimSpace(line[pos:]), "the line has more than 10,000 pieces; from here on it is not taken apart"})
		}
		p := pieceAt(line, pos, damage < maxDamage)
		if p.Kind != Whole {
			damage++
		}
		pieces = append(pieces, p)
		pos = skipSpace(line, pos+len(p.Bytes))
	}
	return pieces
}

// pieceAt returns the piece that begins at pos, which is no white space. If not
// fine, any damage reaches to the next object.
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
		return damageAt(line, pos, pos, fine, Damaged, "no JSON object begins here")
	}
	end, fault := objectAt(line, pos)
	if fault == nil {
		return Piece{Whole, pos, line[pos:end], ""}
	}
	if fault.Short {
		return Piece{Torn, pos, trimSpace(line[pos:]), fault.What()}
	}
	return damageAt(line, pos, fault.Offset, fine, Torn, fault.What())
}

// damageAt returns the damage that begins at pos, where the bytes before fault
// were looked at already. It reaches to the next piece. It is torn, if that is
// what it begins as, only if the next piece is where the fault was found.
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

// nextPiece returns where the next piece begins. Up to fault the line was
// walked over and looked like JSON. A record that is glued to a fragment begins
// where the fault is or a few bytes before: right there if the fragment ended
// between tokens, two bytes before if it ended within a string, which the
// record's first quote then closed, and up to five within an escape. Trying no
// earlier place, here and after every further try, is what makes Split linear.
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

// nextStart returns the next place where a piece might begin.
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

// pieceEnds reports whether an object that ends at end can be a record of its
// own: it ends the line or something that begins a piece comes next.
func pieceEnds(line []byte, end int) bool {
	end = skipSpace(line, end)
	return end == len(line) || line[end] == '{' || line[end] == 0 || bytes.HasPrefix(line[end:], []byte(bom))
}

// objectAt walks over the object at pos and returns where it ends, or the
// fault, with its place in the line.
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
