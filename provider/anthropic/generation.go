package anthropic

import (
	"strconv"
	"strings"
)

// generation describes how a generation of models controls thinking. The API changed
// several times and rejects the parameters of other generations:
//
//   - up to 4.5, a token budget;
//   - from 4.6 on, adaptive thinking with an effort level (4.6 accepts either,
//     later models only this);
//   - from 4.7 on, the text of thinking is sent only on request;
//   - from 5 on, thinking is on by default, and for some models always;
//   - from 5.1 on, thinking is bound to everything before it.
type generation struct {
	// thinks: the model supports thinking.
	thinks bool
	// adaptive: the request has an effort level instead of a budget.
	adaptive bool
	// xhigh: the effort level xhigh exists; before, the highest was max.
	xhigh bool
	// silent: the text of thinking is omitted unless requested.
	silent bool
	// always: thinking cannot be turned off reliably.
	always bool
	// bound: thinking is rejected if anything before it has changed.
	bound bool
}

// bindingBeta enables a mode that drops thinking whose prefix has changed instead of
// rejecting it. Injections, compaction and dropped images change the prefix; none of them
// may end a conversation.
const bindingBeta = "thinking-binding-controls-2026-08-01"

// generationOf derives the generation of a model from its name, in the notation of any
// platform: claude-3-7-sonnet-20250219, claude-opus-4-6, us.anthropic.claude-opus-4-6-v1,
// anthropic/claude-opus-4.6. Models of other vendors count as the first generation, which
// all compatible servers support.
func generationOf(name string) generation {
	_, rest, claude := strings.Cut(strings.ToLower(name), "claude-")
	if !claude {
		return generation{}
	}
	if strings.Contains(rest, "mythos-preview") {
		return generation{thinks: true, adaptive: true, always: true}
	}
	major, minor := versionOf(rest)
	atLeast := func(a, b int) bool { return major > a || major == a && minor >= b }
	return generation{
		thinks:   atLeast(3, 7),
		adaptive: atLeast(4, 6),
		xhigh:    atLeast(4, 7),
		silent:   atLeast(4, 7),
		always:   atLeast(5, 0),
		bound:    atLeast(5, 1),
	}
}

// versionOf returns the first number in a name and the number directly after it. Numbers of
// three or more digits are dates.
func versionOf(name string) (major, minor int) {
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-.@:/_", r) })
	for i, word := range words {
		n, ok := small(word)
		if !ok {
			continue
		}
		if i+1 < len(words) {
			minor, _ = small(words[i+1])
		}
		return n, minor
	}
	return 0, 0
}

func small(word string) (int, bool) {
	if len(word) > 2 {
		return 0, false
	}
	n, err := strconv.Atoi(word)
	return n, err == nil && n >= 0
}
