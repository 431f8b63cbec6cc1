package provider

import (
	"encoding/json"

	"firn.dev"
)

// Draft accumulates the events of an answer. The zero draft is empty.
type Draft struct {
	pieces []piece
	// calls maps call IDs to indexes into pieces.
	calls map[string]int
}

// piece is a part under construction.
type piece struct {
	kind     pieceKind
	id, name string
	// text is a []byte so that appending is cheap.
	text []byte
}

type pieceKind int

const (
	pieceText pieceKind = iota
	pieceThinking
	pieceCall
)

// Add adds an event. Done and Retrying are ignored.
func (d *Draft) Add(e Event) {
	switch e := e.(type) {
	case TextDelta:
		d.appendPiece(pieceText, e.Text)
	case ThinkingDelta:
		d.appendPiece(pieceThinking, e.Text)
	case CallDelta:
		d.appendCall(e)
	}
}

// appendPiece appends to the last piece, or starts a new one if the kind differs.
func (d *Draft) appendPiece(kind pieceKind, text string) {
	if text == "" {
		return
	}
	last := len(d.pieces) - 1
	if last < 0 || d.pieces[last].kind != kind {
		d.pieces = append(d.pieces, piece{kind: kind})
		last++
	}
	d.pieces[last].text = append(d.pieces[last].text, text...)
}

// appendCall appends to the call of the delta. Calls may be interleaved, so it is found by
// ID; without an ID it is the latest call.
func (d *Draft) appendCall(e CallDelta) {
	at, known := d.calls[e.ID]
	if e.Name != "" || e.ID != "" && !known {
		at, known = len(d.pieces), true
		d.pieces = append(d.pieces, piece{kind: pieceCall, id: e.ID, name: e.Name})
		if d.calls == nil {
			d.calls = make(map[string]int)
		}
		d.calls[e.ID] = at
		d.calls[""] = at // the latest call
	}
	if known {
		d.pieces[at].text = append(d.pieces[at].text, e.Arguments...)
	}
}

// Parts returns the parts so far: text and thinking as received, and calls with complete
// arguments, which may be any JSON value. The caller owns them.
func (d *Draft) Parts() []firn.Part {
	var parts []firn.Part
	for _, p := range d.pieces {
		switch {
		case p.kind == pieceText:
			parts = append(parts, firn.Text{Text: string(p.text)})
		case p.kind == pieceThinking:
			parts = append(parts, firn.Thinking{Text: string(p.text)})
		case p.name != "" && json.Valid(p.text):
			parts = append(parts, firn.ToolCall{ID: p.id, Name: p.name, Arguments: append(json.RawMessage(nil), p.text...)})
		}
	}
	return parts
}
