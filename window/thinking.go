package window

import (
	"firn.dev"
)

// A provider gives marks to some of what its models say: signatures of
// thinking, ids of items, tokens of state. Only the same model may get them
// back, byte for byte; sent to another one, or changed, they make it refuse the
// request. The rules of this file therefore keep them exactly or leave them out
// as a unit, thinking and marks together.

// thinkingNone is for APIs that take no thinking back.
var thinkingNone = thinkingRule(markPolicy{})

// thinkingSigned is Anthropic's rule: thinking must be signed, and no message
// may end in it.
var thinkingSigned = thinkingRule(markPolicy{
	thinking: true, notLast: true, mark: func(string) bool { return true },
})

// thinkingItems is the rule of the Responses API: a reasoning item must be
// followed by the item it led to, and an item that has an id needs the
// reasoning that led to it.
var thinkingItems = thinkingRule(markPolicy{
	thinking: true, notLast: true, paired: true, mark: func(string) bool { return true },
})

// thinkingBase64 is Gemini's rule: marks are base64.
var thinkingBase64 = thinkingRule(markPolicy{thinking: true, mark: isBase64})

// markPolicy says which marks an API takes back.
type markPolicy struct {
	// thinking: signed thinking is taken back.
	thinking bool
	// notLast: thinking must be followed by something in the same message.
	notLast bool
	// paired: if some thinking of a message goes, all marks of it go.
	paired bool
	// mark tells whether a mark can be one of this API's; nil: it takes none.
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
	why := "it cannot be sent back as it is"
	if m.mark == nil {
		why = "this API takes none back"
	} else if !p.ask.Same(&it.Message) {
		why = "another model said it"
	}
	if gone > 0 {
		p.Note(it, "thinking left out (%d): %s", gone, why)
	}
	if bare > 0 {
		p.Note(it, "marks left out (%d): %s", bare, why)
	}
}

// unmark takes the mark off text and calls unless it may be sent back.
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
