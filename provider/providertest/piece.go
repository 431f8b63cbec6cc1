package providertest

import (
	"bytes"
	"encoding/json"

	"firn.dev"
	"firn.dev/provider"
)

// piece is a run of text or thinking, or a call.
type piece struct{ kind, id, name, text string }

// partPieces converts parts to comparable pieces: adjacent parts of one kind are joined,
// empty parts are dropped, and so are marks that deltas lack.
func partPieces(parts []firn.Part) []piece {
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

// deltaPieces converts deltas to comparable pieces. A call without argument deltas has no
// arguments.
func deltaPieces(deltas []provider.Event) []piece {
	var pieces []piece
	var texts [][]byte // of the pieces; appending to a string would copy it each time
	add := func(p piece, more string) {
		if p.kind == "call" || len(pieces) == 0 || pieces[len(pieces)-1].kind != p.kind {
			pieces, texts = append(pieces, p), append(texts, nil)
		}
		texts[len(texts)-1] = append(texts[len(texts)-1], more...)
	}
	calls := make(map[string]int) // by ID; "" is the latest call
	for _, d := range deltas {
		switch d := d.(type) {
		case provider.TextDelta:
			if d.Text != "" {
				add(piece{kind: "text"}, d.Text)
			}
		case provider.ThinkingDelta:
			if d.Text != "" {
				add(piece{kind: "thinking"}, d.Text)
			}
		case provider.CallDelta:
			at, ok := calls[d.ID]
			if d.Name != "" || !ok {
				add(piece{kind: "call", id: d.ID, name: d.Name}, d.Arguments)
				calls[d.ID], calls[""] = len(pieces)-1, len(pieces)-1
			} else {
				texts[at] = append(texts[at], d.Arguments...)
			}
		}
	}
	for i := range pieces {
		pieces[i].text = string(texts[i])
		if pieces[i].kind == "call" && pieces[i].text == "" {
			pieces[i].text = "{}"
		}
	}
	return pieces
}

// join adds a piece, merging it with the last one if the kinds match.
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

// pieces returns the expected pieces of an answer.
func (a Answer) pieces() []piece {
	parts := []firn.Part{firn.Thinking{Text: a.Thinking}, firn.Text{Text: a.Text}}
	for _, c := range a.Calls {
		parts = append(parts, c)
	}
	return partPieces(parts)
}

func isObject(raw json.RawMessage) bool {
	return json.Valid(raw) && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{"))
}
