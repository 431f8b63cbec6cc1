package anthropic

import (
	"firn.dev"
	"firn.dev/window"
)

// turn is a message of the API: user and assistant alternate, and tool results belong to
// the user.
type turn struct {
	role   firn.Role
	blocks []block
}

// block is a content block of a turn.
type block struct {
	part firn.Part
	// item is the index of the window item it came from.
	item int
	// mark sets a cache marker on the block.
	mark bool
}

// layout groups items into turns: each run of results and the user message after it become
// one turn with the results first. Thinking before item thinkingFrom is left out, and so is
// thinking without a signature, which no server accepts.
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

// results reports whether the turn contains tool results.
func (t turn) results() bool {
	for _, b := range t.blocks {
		if isResult(b.part) {
			return true
		}
	}
	return false
}

// onlyResults reports whether the turn consists of tool results only.
func (t turn) onlyResults() bool {
	for _, b := range t.blocks {
		if !isResult(b.part) {
			return false
		}
	}
	return true
}

// thinking reports whether the turn starts with thinking.
func (t turn) thinking() bool { return isThinking(t.blocks[0].part) }

func isResult(part firn.Part) bool { _, ok := part.(firn.ToolResult); return ok }

func isThinking(part firn.Part) bool { _, ok := part.(firn.Thinking); return ok }

// firstInjected returns the index of the first item with an injection, or len(items) if
// there is none.
func firstInjected(items []window.Item) int {
	for i := range items {
		if len(items[i].Injected) > 0 {
			return i
		}
	}
	return len(items)
}
