package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"firn"
	"firn/internal/rawjson"
	"firn/provider"
)

// responseItem is an item of a response on its way.
type responseItem struct {
	kind  string
	index int
	id    string
	// text is what a message says, or reasoning thinks; piece names the piece of
	// it that came last.
	text  []byte
	piece string
	// callID, name and args are those of a call; told says that its beginning
	// was told.
	callID, name string
	args         []byte
	told         bool
	// raw is the whole item, nil until it is done.
	raw json.RawMessage
}

// itemHead is what an item says, in the members that any of those we know has.
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

// readItem reads an item; what is none has no type.
func readItem(raw json.RawMessage) itemHead {
	var head itemHead
	if json.Unmarshal(raw, &head) != nil {
		return itemHead{}
	}
	return head
}

func (h itemHead) kind() string { return textOf(h.Type) }

// texts are those of a list of pieces.
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

// said is what a message says.
func (h itemHead) said() string { return strings.Join(texts(h.Content), "") }

// thoughtGap stands between the pieces of what a model thinks.
const thoughtGap = "\n\n"

// thought is what reasoning says: the summary, or the whole of it from servers
// that show it.
func (h itemHead) thought() string {
	if summary := texts(h.Summary); len(summary) > 0 {
		return strings.Join(summary, thoughtGap)
	}
	return strings.Join(texts(h.Content), thoughtGap)
}

// addText takes the next piece of a message.
func (it *responseItem) addText(s string) []provider.Event {
	if s == "" {
		return nil
	}
	it.text = append(it.text, s...)
	return []provider.Event{provider.TextDelta{Text: s}}
}

// setText takes a message as a whole, and tells what was not told of it. If it
// has nothing to say it is as the pieces were.
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

// addThought takes the next piece of reasoning.
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

// setThought takes reasoning as a whole, if it did not come in pieces.
func (it *responseItem) setThought(s string) []provider.Event {
	if len(it.text) > 0 {
		return nil
	}
	return it.addThought("", s)
}

// call takes what names a call.
func (it *responseItem) call(head itemHead, ids *callIDs) {
	if it.name == "" {
		it.name = textOf(head.Name)
	}
	if it.callID == "" {
		it.callID = ids.unique(textOf(head.CallID))
	}
}

// addArguments takes the next piece of arguments. The call is told of once it
// has a name.
func (it *responseItem) addArguments(s string) []provider.Event {
	it.args = append(it.args, s...)
	switch {
	case it.name == "" || it.told && s == "":
		return nil
	case it.told:
		return []provider.Event{provider.CallDelta{ID: it.callID, Arguments: s}}
	}
	it.told = true
	return []provider.Event{provider.CallDelta{ID: it.callID, Name: it.name, Arguments: string(it.args)}}
}

// setArguments takes arguments as a whole, and tells what was not told of them.
func (it *responseItem) setArguments(s string) []provider.Event {
	rest, ok := strings.CutPrefix(s, string(it.args))
	if ok || !it.told {
		return it.addArguments(rest)
	}
	if s != "" {
		it.args = []byte(s)
	}
	return nil
}

// part is what is kept of the item; nil if there is nothing in it.
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
			return nil // the answer ended within the call: it cannot be run
		}
		return firn.ToolCall{ID: it.callID, Name: it.name, Arguments: argumentsOf(it.args), Signature: textOf(head.ID)}
	}
	if it.raw == nil {
		return nil
	}
	clean, _ := rawjson.Clean(it.raw)
	return firn.OpaquePart{Type: it.kind, Raw: clean}
}

// returnable reports whether a reasoning item can be sent back: since the
// provider stores nothing, it must hold what was thought.
func (h itemHead) returnable() bool {
	return h.kind() == "reasoning" && (textOf(h.Encrypted) != "" || len(texts(h.Content)) > 0)
}

// thinking keeps a reasoning item, all of it if it can be sent back.
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
