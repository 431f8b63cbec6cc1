package provider

import (
	"encoding/json"

	"firn"
)

// Draft is what has come of an answer so far. The zero draft is empty.
type Draft struct {
	pieces []piece
	// calls are the places of the calls among pieces, by id.
	calls map[string]int
}

// piece is a part that grows.
type piece struct {
	kind     pieceKind
	id, name string
	// text is of type []byte so that adding to it is cheap.
	text []byte
}

type pieceKind int

const (
	pieceText pieceKind = iota
	pieceThinking
	pieceCall
)

// Add takes the next event. Done and Retrying leave a draft as it is.
func (d *Draft) Add(e Event) {
	switch e := e.(type) {
	case TextDelta:
		d.grow(pieceText, e.Text)
	case ThinkingDelta:
		d.grow(pieceThinking, e.Text)
	case CallDelta:
		d.call(e)
	}
}

// grow adds to the last piece, or begins one if that is of another kind.
func (d *Draft) grow(kind pieceKind, text string) {
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

// call adds to the call that the delta is about: by its id, since calls may
// come interleaved, else to the latest.
func (d *Draft) call(e CallDelta) {
	at, known := d.calls[e.ID]
	if e.Name != "" || e.ID != "" && !known {
		at, known = len(d.pieces), true
		d.pieces = append(d.pieces, piece{kind: pieceCall, id: e.ID, name: e.Name})
		if d.calls == nil {
			d.calls = make(map[string]int)
		}
		d.calls[e.ID] = at
		d.calls[""] = at // the latest
	}
	if known {
		d.pieces[at].text = append(d.pieces[at].text, e.Arguments...)
	}
}

// Parts returns what there is: text and thinking as far as they came, and the
// calls whose arguments came whole. They are the caller's to keep.
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
