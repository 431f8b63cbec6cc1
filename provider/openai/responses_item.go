package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/provider"
)

// responseItem is an output item under construction.
type responseItem struct {
	kind  string
	index int
	id    string
	// text is the text of a message or of reasoning; piece is the key of its last piece.
	text  []byte
	piece string
	// callID, name and args belong to a call. Announced is set once its first delta was
	// emitted.
	callID, name string
	args         []byte
	announced    bool
	// raw is the complete item, or nil until it is done.
	raw json.RawMessage
}

// itemHead has the members of all known item types.
type itemHead struct {
	Type      json.RawMessage `json:"type"`
	ID        json.RawMessage `json:"id"`
	Status    json.RawMessage `json:"status"`
	Phase     json.RawMessage `json:"phase"`
	CallID    json.RawMessage `json:"call_id"`
	Name      json.RawMessage `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Encrypted json.RawMessage `json:"encrypted_content"`
	Content   json.RawMessage `json:"content"`
	Summary   json.RawMessage `json:"summary"`
}

// readItem parses an item. An invalid item has an empty type.
func readItem(raw json.RawMessage) itemHead {
	var head itemHead
	if json.Unmarshal(raw, &head) != nil {
		return itemHead{}
	}
	return head
}

func (h itemHead) kind() string { return textOf(h.Type) }

// texts returns the texts of a list of pieces.
func texts(raw json.RawMessage) []string {
	var pieces []struct {
		Text    json.RawMessage `json:"text"`
		Refusal json.RawMessage `json:"refusal"`
	}
	if !present(raw) || json.Unmarshal(raw, &pieces) != nil {
		return nil
	}
	var list []string
	for _, piece := range pieces {
		if s := textOf(piece.Text) + textOf(piece.Refusal); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// messageText returns the text of a message.
func (h itemHead) messageText() string { return strings.Join(texts(h.Content), "") }

// thoughtGap separates pieces of reasoning.
const thoughtGap = "\n\n"

// reasoningText returns the text of a reasoning item: the summary, or the full text from
// servers that include it.
func (h itemHead) reasoningText() string {
	if summary := texts(h.Summary); len(summary) > 0 {
		return strings.Join(summary, thoughtGap)
	}
	return strings.Join(texts(h.Content), thoughtGap)
}

// addText appends a piece of a message.
func (it *responseItem) addText(s string) []provider.Event {
	if s == "" {
		return nil
	}
	it.text = append(it.text, s...)
	return []provider.Event{provider.TextDelta{Text: s}}
}

// setText sets the complete text of a message and emits the part that was not streamed. An
// empty text leaves the pieces unchanged.
func (it *responseItem) setText(s string) []provider.Event {
	rest, ok := strings.CutPrefix(s, string(it.text))
	if ok {
		return it.addText(rest)
	}
	if s != "" {
		it.text = []byte(s)
	}
	return nil
}

// addThought appends a piece of reasoning.
func (it *responseItem) addThought(piece, s string) []provider.Event {
	if s == "" {
		return nil
	}
	if len(it.text) > 0 && piece != it.piece {
		s = thoughtGap + s
	}
	it.piece = piece
	it.text = append(it.text, s...)
	return []provider.Event{provider.ThinkingDelta{Text: s}}
}

// setThought sets the complete reasoning if it was not streamed.
func (it *responseItem) setThought(s string) []provider.Event {
	if len(it.text) > 0 {
		return nil
	}
	return it.addThought("", s)
}

// call sets the name and ID of a call.
func (it *responseItem) call(head itemHead, ids *callIDs) {
	if it.name == "" {
		it.name = textOf(head.Name)
	}
	if it.callID == "" {
		it.callID = ids.unique(textOf(head.CallID))
	}
}

// addArguments appends a piece of the arguments. The call is emitted once it has a name.
func (it *responseItem) addArguments(s string) []provider.Event {
	it.args = append(it.args, s...)
	switch {
	case it.name == "" || it.announced && s == "":
		return nil
	case it.announced:
		return []provider.Event{provider.CallDelta{ID: it.callID, Arguments: s}}
	}
	it.announced = true
	return []provider.Event{provider.CallDelta{ID: it.callID, Name: it.name, Arguments: string(it.args)}}
}

// setArguments sets the complete arguments and emits the part that was not streamed.
func (it *responseItem) setArguments(s string) []provider.Event {
	rest, ok := strings.CutPrefix(s, string(it.args))
	if ok || !it.announced {
		return it.addArguments(rest)
	}
	if s != "" {
		it.args = []byte(s)
	}
	return nil
}

// part returns the part for the item, or nil if the item is empty.
func (it *responseItem) part() firn.Part {
	head := readItem(it.raw)
	switch it.kind {
	case "message":
		if len(it.text) == 0 {
			return nil
		}
		mark := textMark{ID: textOf(head.ID), Phase: textOf(head.Phase)}
		return firn.Text{Text: string(it.text), Signature: mark.String()}
	case "reasoning":
		return it.thinking(head)
	case "function_call":
		if whole := it.raw != nil && textOf(head.Status) != "incomplete"; !whole && !isObject(it.args) {
			return nil // truncated within the call: it cannot be run
		}
		return firn.ToolCall{ID: it.callID, Name: it.name, Arguments: argumentsOf(it.args), Signature: textOf(head.ID)}
	}
	if it.raw == nil {
		return nil
	}
	clean, _ := rawjson.Clean(it.raw)
	return firn.OpaquePart{Type: it.kind, Raw: clean}
}

// returnable reports whether a reasoning item can be sent back. The provider stores
// nothing, so the item must contain the reasoning.
func (h itemHead) returnable() bool {
	return h.kind() == "reasoning" && (textOf(h.Encrypted) != "" || len(texts(h.Content)) > 0)
}

// thinking returns the part for a reasoning item, with the complete item if it can be sent
// back.
func (it *responseItem) thinking(head itemHead) firn.Part {
	t := firn.Thinking{Text: string(it.text), Redacted: len(it.text) == 0}
	if head.returnable() {
		clean, _ := rawjson.Clean(bytes.TrimSpace(it.raw))
		t.Signature = string(clean)
	}
	if t.Redacted && t.Signature == "" {
		return nil
	}
	return t
}
