package window

import (
	"slices"

	"firn.dev"
)

// The rules of this file make user and assistant messages alternate. Some APIs require it
// and none rejects it, so all profiles do it.

// Texts for messages that an API requires but the log does not have.
const (
	bootstrap = "[firn] The conversation starts with an assistant message."
	noAnswer  = "[firn] (no answer was recorded here)"
	goOn      = "[firn] Go on."
)

// mergeUsers merges consecutive user messages into one.
var mergeUsers = Rule{"merge-users", func(items []Item, p *Pass) []Item {
	return merge(items, firn.RoleUser, p, inOrder)
}}

// mergeAssistants merges consecutive assistant messages into one.
var mergeAssistants = Rule{"merge-assistants", func(items []Item, p *Pass) []Item {
	return merge(items, firn.RoleAssistant, p, inOrder)
}}

// mergeThinkingFirst is mergeAssistants for Anthropic, where an assistant message with tool
// calls must start with its thinking.
var mergeThinkingFirst = Rule{"merge-assistants", func(items []Item, p *Pass) []Item {
	return merge(items, firn.RoleAssistant, p, thinkingFirst)
}}

// merge merges each run of messages of a role.
func merge(items []Item, role firn.Role, p *Pass, join func(run []Item) []firn.Part) []Item {
	merged := items[:0]
	for i := 0; i < len(items); {
		end := i + 1
		for items[i].Message.Role == role && end < len(items) && items[end].Message.Role == role {
			p.Note(&items[end], "joined to the %s message before it", role)
			end++
		}
		if end == i+1 {
			merged = append(merged, items[i])
		} else {
			merged = append(merged, mergeRun(items[i:end], p.ask, join))
		}
		i = end
	}
	return merged
}

// mergeRun merges a run into one message. The result belongs to the requested model if one
// of the messages does: the others have no marks left.
func mergeRun(run []Item, ask Ask, join func(run []Item) []firn.Part) Item {
	one := run[0]
	parts := join(run)
	for i := 1; i < len(run); i++ {
		it := &run[i]
		if ask.Same(&it.Message) || !ask.Same(&one.Message) {
			one.Message = it.Message
		}
		one.Synthetic = one.Synthetic && it.Synthetic
		one.byUser = one.byUser || it.byUser
		one.at = max(one.at, it.at)
	}
	one.Message.Parts = parts
	one.From, one.Injected = nil, nil
	for i := range run {
		one.From = append(one.From, run[i].From...)
		one.Injected = append(one.Injected, run[i].Injected...)
	}
	return one
}

func inOrder(run []Item) []firn.Part {
	var parts []firn.Part
	for i := range run {
		parts = append(parts, run[i].Message.Parts...)
	}
	return parts
}

// thinkingFirst joins parts with the leading thinking of all messages first.
func thinkingFirst(run []Item) []firn.Part {
	var thoughts, rest []firn.Part
	for i := range run {
		parts := run[i].Message.Parts
		n := 0
		for n < len(parts) && isThinking(parts[n]) {
			n++
		}
		thoughts = append(thoughts, parts[:n]...)
		rest = append(rest, parts[n:]...)
	}
	return append(thoughts, rest...)
}

// OpeningMessage returns a user message for a transcript that starts with the assistant, which
// several APIs reject.
func OpeningMessage() firn.Message {
	return firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: bootstrap}}}
}

// beginWithUser inserts a user message if the first message is not one.
var beginWithUser = Rule{"begin-with-user", func(items []Item, p *Pass) []Item {
	if len(items) == 0 || items[0].Message.Role == firn.RoleUser {
		return items
	}
	p.Note(&items[0], "the window starts with an assistant message; a user message was added before it")
	return slices.Insert(items, 0, syntheticItem(firn.RoleUser, bootstrap, &items[0]))
}}

// endWithUser is for APIs that respond only to a user message or tool result. This includes
// Anthropic's newer models, which do not continue an assistant message.
var endWithUser = Rule{"end-with-user", func(items []Item, p *Pass) []Item {
	if len(items) == 0 || items[len(items)-1].Message.Role != firn.RoleAssistant {
		return items
	}
	last := &items[len(items)-1]
	p.Note(last, "the window ends with an assistant message; a user message was added after it")
	return append(items, syntheticItem(firn.RoleUser, goOn, last))
}}

// answerResults is for APIs that require an assistant message between a tool result and a
// user message.
var answerResults = Rule{"answer-results", func(items []Item, p *Pass) []Item {
	for i := 1; i < len(items); i++ {
		if items[i-1].Message.Role == firn.RoleToolResult && items[i].Message.Role == firn.RoleUser {
			return answerFrom(items, i, p)
		}
	}
	return items
}}

func answerFrom(items []Item, first int, p *Pass) []Item {
	answered := append(make([]Item, 0, len(items)+8), items[:first]...)
	for i := first; i < len(items); i++ {
		last := &answered[len(answered)-1]
		if last.Message.Role == firn.RoleToolResult && items[i].Message.Role == firn.RoleUser {
			p.Note(&items[i], "a user message follows a tool result; an assistant message was added between")
			answered = append(answered, syntheticItem(firn.RoleAssistant, noAnswer, last))
		}
		answered = append(answered, items[i])
	}
	return answered
}

// syntheticItem returns a message that is not in the log, placed next to an existing one.
func syntheticItem(role firn.Role, text string, near *Item) Item {
	return Item{
		Message:   firn.Message{Role: role, Parts: []firn.Part{firn.Text{Text: text}}, Time: near.Message.Time},
		Synthetic: true,
		at:        near.at,
	}
}
