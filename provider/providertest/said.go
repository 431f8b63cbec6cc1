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
	var texts [][]byte // of the pieces: adding to a string would copy it each time
	add := func(p piece, more string) {
		if p.kind == "call" || len(pieces) == 0 || pieces[len(pieces)-1].kind != p.kind {
			pieces, texts = append(pieces, p), append(texts, nil)
		}
		texts[len(texts)-1] = append(texts[len(texts)-1], more...)
	}
	calls := make(map[string]int) // by id; the latest also by none
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
