package window

import (
	"firn.dev"
)

// shape moves every part to a message that may hold it: text, images and documents to user
// messages; text, thinking and calls to assistant messages; each tool result to a message
// of its own. Other parts are left out.
var shape = Rule{"shape", func(items []Item, p *Pass) []Item {
	first := 0
	for first < len(items) && isShaped(&items[first]) {
		first++
	}
	if first == len(items) {
		return items
	}
	shaped := append(make([]Item, 0, len(items)+8), items[:first]...)
	for i := first; i < len(items); i++ {
		if it := &items[i]; isShaped(it) {
			shaped = append(shaped, *it)
		} else {
			shaped = reshape(shaped, it, p)
		}
	}
	return shaped
}}

// isShaped reports whether a role may hold all parts of an item.
func isShaped(it *Item) bool {
	if it.Message.Role == firn.RoleToolResult {
		if len(it.Message.Parts) != 1 {
			return false
		}
		result, ok := it.Message.Parts[0].(firn.ToolResult)
		return ok && fitsAll(firn.RoleUser, result.Content)
	}
	return fitsAll(it.Message.Role, it.Message.Parts)
}

func fitsAll(role firn.Role, parts []firn.Part) bool {
	for _, part := range parts {
		if !fits(role, part) {
			return false
		}
	}
	return true
}

// fits reports whether messages of a role may hold the part.
func fits(role firn.Role, part firn.Part) bool {
	switch b := part.(type) {
	case firn.Text:
		return b.Signature == "" || role == firn.RoleAssistant
	case firn.Image:
		return role == firn.RoleUser
	case firn.Thinking, firn.ToolCall:
		return role == firn.RoleAssistant
	}
	return false
}

// reshape splits an item into valid ones and appends them: its tool results first, one per
// item, then the remaining parts.
func reshape(shaped []Item, it *Item, p *Pass) []Item {
	var rest []firn.Part
	begin := len(shaped)
	for _, part := range it.Message.Parts {
		if result, ok := part.(firn.ToolResult); ok && it.Message.Role != firn.RoleAssistant {
			shaped = append(shaped, newResultItem(it, result, p))
			continue
		}
		if q, ok := refit(it, it.Message.Role, part, p); ok {
			rest = append(rest, q)
		}
	}
	if it.Message.Role != firn.RoleToolResult {
		made := *it
		made.Message.Parts = rest
		return append(shaped, made)
	}
	if len(shaped) == begin {
		p.Note(it, "tool result without a call ID left out")
	} else if len(rest) > 0 {
		p.Note(it, "parts beside a tool result put into it")
		result := shaped[begin].Message.Parts[0].(firn.ToolResult)
		result.Content = append(result.Content[:len(result.Content):len(result.Content)], rest...)
		shaped[begin].Message.Parts = []firn.Part{result}
	}
	return shaped
}

// newResultItem returns an item with one tool result.
func newResultItem(it *Item, result firn.ToolResult, p *Pass) Item {
	if len(it.Message.Parts) > 1 || it.Message.Role != firn.RoleToolResult {
		p.Note(it, "tool result %s made a message of its own", result.CallID)
	}
	content, changed := edit(result.Content, func(part firn.Part) (firn.Part, verdict) {
		if fits(firn.RoleUser, part) {
			return part, keep
		}
		if q, ok := refit(it, firn.RoleUser, part, p); ok {
			return q, change
		}
		return nil, drop
	})
	if changed {
		result.Content = content
	}
	made := *it
	made.byUser = false
	made.Message.Role = firn.RoleToolResult
	made.Message.Parts = []firn.Part{result}
	return made
}

// refit converts a part into one that the role may hold, if possible.
func refit(it *Item, role firn.Role, part firn.Part, p *Pass) (firn.Part, bool) {
	if role == firn.RoleToolResult {
		role = firn.RoleUser // results may hold the same parts as user messages
	}
	if fits(role, part) {
		return part, true
	}
	switch b := part.(type) {
	case firn.Text:
		p.Note(it, "signature on text that no model wrote left out")
		b.Signature = ""
		return b, true
	case firn.Image:
		p.Note(it, "image in an assistant message replaced by a note")
		return firn.Text{Text: stub(b, "the assistant made it")}, true
	case firn.Shell:
		if !b.Hidden {
			return firn.Text{Text: shellText(b)}, true
		}
	case firn.OpaquePart:
		if b.Type == DocumentPart {
			return refitDocument(it, role, b, p), true
		}
		p.Note(it, "part of unknown type %q left out", b.Type)
	default:
		p.Note(it, "%s left out: not allowed in a message of role %s", partName(part), role)
	}
	return nil, false
}

func partName(part firn.Part) string {
	switch part.(type) {
	case firn.Thinking:
		return "thinking"
	case firn.ToolCall:
		return "tool call"
	case firn.ToolResult:
		return "tool result"
	}
	return "part"
}
