package anthropic

import (
	"strings"

	"firn.dev"
	"firn.dev/window"
)

// A request may have four cache markers. The provider looks for a cached prefix at each
// marker and at up to twenty blocks before it. One marker is on the system prompt, or on
// the last tool if there is no system prompt; the others are set by markTurns. Markers
// change nothing else in the request.

// mark returns a cache marker as it is written into a block.
func (ttl CacheTTL) mark() string {
	switch ttl {
	case CacheOff:
		return ""
	case CacheHour:
		return `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	}
	return `,"cache_control":{"type":"ephemeral"}`
}

// markTurns sets up to three markers:
//
//   - before the first injection: the prefix that the next run shares;
//   - at the end: the prefix that the next step of this run shares;
//   - where the previous request had its marker, if known, so that it is found
//     even after more than twenty blocks. Within a run this is the end of the
//     previous user turn; at the start of a run with injections it is the place
//     of the previous run's first injection.
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

// markBefore marks the last block of an item before the given one.
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

// markEnd marks the last block that can carry a marker, which excludes thinking and empty
// text. It reports whether there is one.
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
