package providertest

import (
	"bytes"
	"encoding/json"

	"firn"
	"firn/provider"
)

// piece is what is said in one go: text, thinking or a call.
type piece struct{ kind, id, name, text string }

// said is what parts say, as a list that can be compared: neighbours of one
// kind are one, what is empty is gone, and so are marks that deltas lack.
func said(parts []firn.Part) []piece {
	var pieces []piece
	for _, p := range parts {
		switch p := p.(type) {
		case firn.Text:
			pieces = join(pieces, piece{kind: "text", text: p.Text})
		case firn.Thinking:
			if !p.Redacted {
				pieces = join(pieces, piece{kind: "thinking", text: p.Text})
			}
		case firn.ToolCall:
			pieces = append(pieces, piece{"call", p.ID, p.Name, string(p.Arguments)})
		}
	}
	return pieces
}

// spoken is what deltas say. A call for which no arguments came has none.
func spoken(deltas []provider.Event) []piece {
	var pieces []piece
	calls := make(map[string]int)
	last := -1
	for _, d := range deltas {
		switch d := d.(type) {
		case provider.TextDelta:
			pieces = join(pieces, piece{kind: "text", text: d.Text})
		case provider.ThinkingDelta:
			pieces = join(pieces, piece{kind: "thinking", text: d.Text})
		case provider.CallDelta:
			if d.Name != "" || last < 0 {
				pieces = append(pieces, piece{kind: "call", id: d.ID, name: d.Name})
				last = len(pieces) - 1
				calls[d.ID] = last
			}
			at := last
			if i, ok := calls[d.ID]; ok && d.ID != "" {
				at = i
			}
			pieces[at].text += d.Arguments
		}
	}
	for i := range pieces {
		if pieces[i].kind == "call" && pieces[i].text == "" {
			pieces[i].text = "{}"
		}
	}
	return pieces
}

// join adds a piece, to the last one if it is of the same kind.
func join(pieces []piece, p piece) []piece {
	if p.text == "" {
		return pieces
	}
	if n := len(pieces); n > 0 && pieces[n-1].kind == p.kind {
		pieces[n-1].text += p.text
		return pieces
	}
	return append(pieces, p)
}

// meant is what an answer shall say.
func (a Answer) meant() []piece {
	parts := []firn.Part{firn.Thinking{Text: a.Thinking}, firn.Text{Text: a.Text}}
	for _, c := range a.Calls {
		parts = append(parts, c)
	}
	return said(parts)
}

func isObject(raw json.RawMessage) bool {
	return json.Valid(raw) && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{"))
}
