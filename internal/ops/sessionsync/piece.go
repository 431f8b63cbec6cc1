package sessionsync

import (
	"bytes"
	"encoding/json"
	"fmt"

	"firn.dev"
	"firn.dev/internal/base/failure"
)

// A piece is a list of records, one per line: a letter for the kind, then JSON.
//
//	S {"id":…,"header":…,"head":…}   the session of the following entries
//	E {"type":"message",…}           an entry, as in the session's file
//	M {"id":…,"archived":…}          marks of a session
//	N {"folder":…,"name":…,"text":…} a version of a note
const (
	tagSession = 'S'
	tagEntry   = 'E'
	tagMarks   = 'M'
	tagNote    = 'N'
)

// group is a part of a session in a piece.
type group struct {
	ID firn.ID `json:"id"`
	// Header is the header line of the session.
	Header json.RawMessage `json:"header"`
	// Head is the entry at which the conversation continues on the machine that wrote the
	// piece.
	Head  firn.EntryID `json:"head,omitempty"`
	lines [][]byte
}

// piece is the content of a piece.
type piece struct {
	groups []group
	marks  []Marks
	notes  []noteRecord
}

// appendRecord appends a record to the text of a piece.
func appendRecord(dst []byte, tag byte, data []byte) []byte {
	return append(append(append(dst, tag), data...), '\n')
}

// decodePiece decodes the text of a piece. It rejects a piece with an invalid record as a
// whole: the writer checks every record.
func decodePiece(plain []byte) (piece, error) {
	var p piece
	for n := 1; len(plain) > 0; n++ {
		line, rest, ok := bytes.Cut(plain, []byte{'\n'})
		if !ok || len(line) < 2 {
			return piece{}, failure.Of(firn.ErrCorrupt, "record %d is cut off", n)
		}
		plain = rest
		if err := p.add(line[0], line[1:]); err != nil {
			return piece{}, fmt.Errorf("record %d: %w", n, err)
		}
	}
	return p, nil
}

// add decodes a record.
func (p *piece) add(tag byte, data []byte) error {
	switch tag {
	case tagSession:
		var g group
		if err := json.Unmarshal(data, &g); err != nil {
			return failure.Of(firn.ErrCorrupt, "%v", err)
		}
		if err := g.ID.Check(); err != nil {
			return failure.Of(firn.ErrCorrupt, "%v", err)
		}
		p.groups = append(p.groups, g)
	case tagEntry:
		if len(p.groups) == 0 || !json.Valid(data) {
			return failure.Of(firn.ErrCorrupt, "an invalid entry")
		}
		g := &p.groups[len(p.groups)-1]
		g.lines = append(g.lines, data)
	case tagMarks:
		var m Marks
		if err := json.Unmarshal(data, &m); err != nil {
			return failure.Of(firn.ErrCorrupt, "%v", err)
		}
		if err := m.Session.Check(); err != nil {
			return failure.Of(firn.ErrCorrupt, "%v", err)
		}
		p.marks = append(p.marks, m)
	case tagNote:
		var n noteRecord
		if err := json.Unmarshal(data, &n); err != nil {
			return failure.Of(firn.ErrCorrupt, "%v", err)
		}
		if err := n.check(); err != nil {
			return err
		}
		p.notes = append(p.notes, n)
	default:
		// A later version may write other records; they are about other things.
		if !json.Valid(data) {
			return failure.Of(firn.ErrCorrupt, "an invalid record of kind %q", tag)
		}
	}
	return nil
}
