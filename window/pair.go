package window

import (
	"firn.dev"
)

// interrupted is the result of a call without a recorded one.
const interrupted = "[firn] the tool call was interrupted; no result was recorded"

// pair makes every call be followed by its results and nothing else, up to the next message
// of another role. A result counts if it is between its call and the next assistant
// message; it is moved up if necessary. A call without a result gets a synthetic one.
// Results without a call and duplicate results are left out.
var pair = Rule{"pair", func(items []Item, p *Pass) []Item {
	if paired(items) {
		return items
	}
	fixed := make([]Item, 0, len(items)+8)
	for i := 0; i < len(items); {
		end := i + 1
		for end < len(items) && items[end].Message.Role != firn.RoleAssistant {
			end++
		}
		if items[i].Message.Role == firn.RoleAssistant {
			fixed = append(fixed, items[i])
			fixed = pairSpan(fixed, &items[i], items[i+1:end], p)
		} else {
			fixed = pairSpan(fixed, nil, items[i:end], p)
		}
		i = end
	}
	return fixed
}}

// paired reports, without allocating, whether every assistant message is followed by its
// results in call order. This is the usual case.
func paired(items []Item) bool {
	for i := 0; i < len(items); {
		if items[i].Message.Role == firn.RoleToolResult {
			return false
		}
		n := 0
		if items[i].Message.Role == firn.RoleAssistant {
			for _, part := range items[i].Message.Parts {
				if call, ok := part.(firn.ToolCall); ok {
					n++
					if i+n >= len(items) || !answers(&items[i+n], call) {
						return false
					}
				}
			}
		}
		i += n + 1
	}
	return true
}

// answers reports whether an item is the result of a call.
func answers(it *Item, call firn.ToolCall) bool {
	result, ok := resultOf(it)
	return ok && result.CallID == call.ID && result.Name == call.Name
}

// resultOf returns the tool result of an item that consists of one.
func resultOf(it *Item) (firn.ToolResult, bool) {
	if it.Message.Role != firn.RoleToolResult || len(it.Message.Parts) == 0 {
		return firn.ToolResult{}, false
	}
	result, ok := it.Message.Parts[0].(firn.ToolResult)
	return result, ok
}

// callsOf returns the calls of an assistant message.
func callsOf(it *Item) []firn.ToolCall {
	var calls []firn.ToolCall
	if it != nil && it.Message.Role == firn.RoleAssistant {
		for _, part := range it.Message.Parts {
			if call, ok := part.(firn.ToolCall); ok {
				calls = append(calls, call)
			}
		}
	}
	return calls
}

// pairSpan appends the items between an assistant message and the next one: the results of
// its calls, then the rest. The first span has no assistant.
func pairSpan(fixed []Item, assistant *Item, span []Item, p *Pass) []Item {
	calls := callsOf(assistant)
	answer := match(calls, span, p)
	if !inPlace(answer) {
		for k, call := range calls {
			at := answer[k]
			if at < 0 {
				p.Note(assistant, "call %s has no result; a placeholder was added", call.ID)
				fixed = append(fixed, missing(assistant, call))
				continue
			}
			if !adjacent(span, at) {
				p.Note(&span[at], "result of call %s moved after it", call.ID)
			}
			fixed = append(fixed, rename(&span[at], call, p))
		}
	} else {
		byPlace := make([]firn.ToolCall, len(calls))
		for k, at := range answer {
			byPlace[at] = calls[k]
		}
		for at, call := range byPlace {
			fixed = append(fixed, rename(&span[at], call, p))
		}
	}
	for i := range span {
		if span[i].Message.Role != firn.RoleToolResult {
			fixed = append(fixed, span[i])
		}
	}
	return fixed
}

// match finds the index of each call's result in the span, or -1. If calls share an ID, the
// first call gets the first result, and so on. Results without a call are recorded as left
// out.
func match(calls []firn.ToolCall, span []Item, p *Pass) []int {
	answer := make([]int, len(calls))
	open := make(map[string][]int, len(calls))
	for k, call := range calls {
		answer[k] = -1
		open[call.ID] = append(open[call.ID], k)
	}
	for i := range span {
		if span[i].Message.Role != firn.RoleToolResult {
			continue
		}
		result, _ := resultOf(&span[i])
		waiting, known := open[result.CallID]
		switch {
		case len(waiting) > 0:
			answer[waiting[0]] = i
			open[result.CallID] = waiting[1:]
		case known:
			p.Note(&span[i], "second result of call %s left out", result.CallID)
		default:
			p.Note(&span[i], "result of call %s left out: no such call before it", result.CallID)
		}
	}
	return answer
}

// inPlace reports whether the results are exactly the first items of the span. They can
// then keep their order.
func inPlace(answer []int) bool {
	for _, at := range answer {
		if at < 0 || at >= len(answer) {
			return false
		}
	}
	return true
}

// adjacent reports whether only results precede an index in the span.
func adjacent(span []Item, at int) bool {
	for i := range at {
		if span[i].Message.Role != firn.RoleToolResult {
			return false
		}
	}
	return true
}

// rename sets the tool name of a result to that of its call.
func rename(it *Item, call firn.ToolCall, p *Pass) Item {
	result, _ := resultOf(it)
	if result.Name == call.Name {
		return *it
	}
	if result.Name != "" {
		p.Note(it, "result of call %s: tool name %q sent as %s", call.ID, firn.CutText(result.Name, 2*maxName), call.Name)
	}
	result.Name = call.Name
	renamed := *it
	renamed.Message.Parts = []firn.Part{result}
	return renamed
}

// MissingResult returns the synthetic result of a call that has none.
func MissingResult(call firn.ToolCall) firn.Message {
	return firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{
		CallID: call.ID, Name: call.Name, IsError: true,
		Content: []firn.Part{firn.Text{Text: interrupted}},
	}}}
}

// missing returns [MissingResult] as an item.
func missing(assistant *Item, call firn.ToolCall) Item {
	m := MissingResult(call)
	m.Time = assistant.Message.Time
	return Item{
		Message:   m,
		From:      assistant.From,
		Synthetic: true,
		at:        assistant.at,
	}
}
