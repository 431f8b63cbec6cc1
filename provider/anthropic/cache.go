package anthropic

import (
	"strings"

	"firn"
	"firn/window"
)

// A request may have four marks that say: what was read up to here is worth
// keeping. The provider then looks for what it kept at each mark and at up to
// twenty blocks before it. One mark is on the system prompt, or on the last
// tool if there is none; the others are set by markTurns. Wherever they are,
// they change nothing else of the request.

// mark is a mark as it is written into a block.
func (ttl CacheTTL) mark() string {
	switch ttl {
	case CacheOff:
		return ""
	case CacheHour:
		return `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	}
	return `,"cache_control":{"type":"ephemeral"}`
}

// markTurns sets at most three marks:
//
//   - before the first injection: up to there the next run says the same;
//   - at the end: up to there the next step of this run says the same;
//   - where the request before this one had its mark, if that can be told, so
//     that it is found even if more than twenty blocks came since. Within a run
//     that is the end of the user's turn before; at the beginning of one with
//     injections it is where the run before had its first injection.
func markTurns(turns []turn, items []window.Item) {
	if len(turns) == 0 {
		return
	}
	last := len(turns) - 1
	markEnd(turns[last].blocks)
	injected := firstInjected(items)
	markBefore(turns, injected)
	if injected < turns[last].blocks[0].item || injected == len(items) {
		if last >= 2 {
			markEnd(turns[last-2].blocks)
		}
		return
	}
	for i := injected - 1; i >= 0; i-- {
		if items[i].Message.Role == firn.RoleUser {
			markBefore(turns, i)
			return
		}
	}
}

// markBefore marks the last block that came of an item before the given one.
func markBefore(turns []turn, item int) {
	for t := len(turns) - 1; t >= 0; t-- {
		blocks := turns[t].blocks
		n := len(blocks)
		for n > 0 && blocks[n-1].item >= item {
			n--
		}
		if markEnd(blocks[:n]) {
			return
		}
	}
}

// markEnd marks the last block that can have a mark, and reports whether there
// is one: not thinking, nor text with nothing in it.
func markEnd(blocks []block) bool {
	for i := len(blocks) - 1; i >= 0; i-- {
		switch part := blocks[i].part.(type) {
		case firn.Thinking:
			continue
		case firn.Text:
			if strings.TrimSpace(part.Text) == "" {
				continue
			}
		}
		blocks[i].mark = true
		return true
	}
	return false
}
