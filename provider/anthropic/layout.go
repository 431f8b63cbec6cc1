package anthropic

import (
	"firn"
	"firn/window"
)

// turn is a message as the API counts them: users and assistants take turns,
// and results of tools are what the user says.
type turn struct {
	role   firn.Role
	blocks []block
}

// block is a piece of a turn.
type block struct {
	part firn.Part
	// item is the place in the window of the item it came from.
	item int
	// mark says that what has been read up to here is to be cached.
	mark bool
}

// layout makes turns of items: each run of results, and the user's message
// behind it, is one turn with the results first. Thinking in items before the
// given one is left out, and so is what has no signature, which nobody takes
// back.
func layout(items []window.Item, thinkingFrom int) []turn {
	var turns []turn
	for i := range items {
		role := firn.RoleUser
		if items[i].Message.Role == firn.RoleAssistant {
			role = firn.RoleAssistant
		}
		for _, part := range items[i].Message.Parts {
			if t, ok := part.(firn.Thinking); ok && (i < thinkingFrom || t.Signature == "") {
				continue
			}
			if n := len(turns); n == 0 || turns[n-1].role != role {
				turns = append(turns, turn{role: role})
			}
			last := &turns[len(turns)-1]
			last.blocks = append(last.blocks, block{part: part, item: i})
		}
	}
	return turns
}

// results reports whether there are results of tools in the turn.
func (t turn) results() bool {
	for _, b := range t.blocks {
		if isResult(b.part) {
			return true
		}
	}
	return false
}

// onlyResults reports whether there is nothing else in it.
func (t turn) onlyResults() bool {
	for _, b := range t.blocks {
		if !isResult(b.part) {
			return false
		}
	}
	return true
}

// thinking reports whether the turn begins with thinking.
func (t turn) thinking() bool { return isThinking(t.blocks[0].part) }

func isResult(part firn.Part) bool { _, ok := part.(firn.ToolResult); return ok }

func isThinking(part firn.Part) bool { _, ok := part.(firn.Thinking); return ok }

// firstInjected is the place of the first item with an injection in it; the
// number of items if there is none.
func firstInjected(items []window.Item) int {
	for i := range items {
		if len(items[i].Injected) > 0 {
			return i
		}
	}
	return len(items)
}
