package window

import (
	"firn.dev"
)

// Providers add marks to parts of their models' output: signatures of thinking, item IDs,
// state tokens. Only the same model may get them back, unchanged; another model rejects the
// request, as does the same one if they were changed. The rules of this file therefore keep
// thinking and marks exactly as they are or leave them out together.

// thinkingNone is for APIs that accept no thinking.
var thinkingNone = thinkingRule(markPolicy{})

// thinkingSigned is Anthropic's rule: thinking must be signed, and no message may end with
// it.
var thinkingSigned = thinkingRule(markPolicy{
	thinking: true, notLast: true, mark: func(string) bool { return true },
})

// thinkingItems is the rule of the Responses API: a reasoning item must be followed by the
// item it produced, and an item with an ID requires the reasoning that produced it.
var thinkingItems = thinkingRule(markPolicy{
	thinking: true, notLast: true, paired: true, mark: func(string) bool { return true },
})

// thinkingBase64 is Gemini's rule: marks are base64.
var thinkingBase64 = thinkingRule(markPolicy{thinking: true, mark: isBase64})

// markPolicy defines which marks an API accepts.
type markPolicy struct {
	// thinking: signed thinking is accepted.
	thinking bool
	// notLast: thinking must be followed by something in the same message.
	notLast bool
	// paired: if some thinking of a message is left out, all of its marks are.
	paired bool
	// mark reports whether a mark is valid for this API; if nil, the API accepts none.
	mark func(string) bool
}

func thinkingRule(policy markPolicy) Rule {
	return Rule{"thinking", func(items []Item, p *Pass) []Item {
		for i := range items {
			if it := &items[i]; it.Message.Role == firn.RoleAssistant && marked(it.Message.Parts) {
				policy.fix(it, p)
			}
		}
		return items
	}}
}

// marked reports whether there is any thinking or mark.
func marked(parts []firn.Part) bool {
	for _, part := range parts {
		switch b := part.(type) {
		case firn.Thinking:
			return true
		case firn.Text:
			if b.Signature != "" {
				return true
			}
		case firn.ToolCall:
			if b.Signature != "" {
				return true
			}
		}
	}
	return false
}

func (m markPolicy) fix(it *Item, p *Pass) {
	same := m.mark != nil && p.ask.Same(&it.Message)
	end := len(it.Message.Parts)
	if m.notLast {
		for end > 0 && isThinking(it.Message.Parts[end-1]) {
			end--
		}
	}
	gone, bare, i := 0, 0, -1
	parts, changed := edit(it.Message.Parts, func(part firn.Part) (firn.Part, verdict) {
		i++
		if t, ok := part.(firn.Thinking); ok {
			if same && m.thinking && i < end && t.Signature != "" && m.mark(t.Signature) {
				return part, keep
			}
			gone++
			return nil, drop
		}
		return unmark(part, same, m.mark, &bare)
	})
	if !changed {
		return
	}
	if m.paired && same && gone > len(it.Message.Parts)-end {
		parts, _ = edit(parts, func(part firn.Part) (firn.Part, verdict) {
			if isThinking(part) {
				gone++
				return nil, drop
			}
			return unmark(part, false, nil, &bare)
		})
	}
	it.Message.Parts = parts
	m.note(it, p, gone, bare)
}

func (m markPolicy) note(it *Item, p *Pass, gone, bare int) {
	why := "it cannot be sent back unchanged"
	if m.mark == nil {
		why = "this API does not accept it"
	} else if !p.ask.Same(&it.Message) {
		why = "it is from another model"
	}
	if gone > 0 {
		p.Note(it, "thinking left out (%d): %s", gone, why)
	}
	if bare > 0 {
		p.Note(it, "signatures left out (%d): %s", bare, why)
	}
}

// unmark removes the mark of text and calls unless it may be sent back.
func unmark(part firn.Part, same bool, legal func(string) bool, bare *int) (firn.Part, verdict) {
	switch b := part.(type) {
	case firn.Text:
		if b.Signature != "" && !(same && legal(b.Signature)) {
			b.Signature = ""
			*bare++
			return b, change
		}
	case firn.ToolCall:
		if b.Signature != "" && !(same && legal(b.Signature)) {
			b.Signature = ""
			*bare++
			return b, change
		}
	}
	return part, keep
}

func isThinking(part firn.Part) bool {
	_, ok := part.(firn.Thinking)
	return ok
}
