package anthropic

import (
	"strconv"
	"strings"
)

// age is how the models of a generation want to be asked to think. The API
// changed it several times and refuses what is of another age:
//
//   - up to 4.5 a model is given a budget of tokens;
//   - from 4.6 on it decides itself and is told an effort (4.6 takes either,
//     later ones only this);
//   - from 4.7 on the text of its thinking comes only if asked for;
//   - from 5 on it thinks unless told not to, and some cannot be told;
//   - from 5.1 on its thinking is bound to all that stood before it.
type age struct {
	// thinks: there is thinking at all.
	thinks bool
	// adaptive: an effort is told, not a budget.
	adaptive bool
	// xhigh: an effort of that name is taken; before, the most was called max.
	xhigh bool
	// silent: thinking comes without its text unless asked for.
	silent bool
	// always: there is no sure way to keep it from thinking.
	always bool
	// bound: thinking is refused if anything that stood before it has changed.
	bound bool
}

// bindingBeta allows to ask that thinking whose ground has changed be dropped
// and not refused. Injections, compaction and images that make room for newer
// ones change the ground; none of them may end a conversation.
const bindingBeta = "thinking-binding-controls-2026-08-01"

// ageOf tells the age of a model by its name, in all the ways that platforms
// write it: claude-3-7-sonnet-20250219, claude-opus-4-6,
// us.anthropic.claude-opus-4-6-v1, anthropic/claude-opus-4.6. Models of others
// are taken to be of the first age, which all who copied the API know.
func ageOf(name string) age {
	_, rest, claude := strings.Cut(strings.ToLower(name), "claude-")
	if !claude {
		return age{}
	}
	if strings.Contains(rest, "mythos-preview") {
		return age{thinks: true, adaptive: true, always: true}
	}
	major, minor := versionOf(rest)
	atLeast := func(a, b int) bool { return major > a || major == a && minor >= b }
	return age{
		thinks:   atLeast(3, 7),
		adaptive: atLeast(4, 6),
		xhigh:    atLeast(4, 7),
		silent:   atLeast(4, 7),
		always:   atLeast(5, 0),
		bound:    atLeast(5, 1),
	}
}

// versionOf finds the first number of a name and the one right behind it.
// Numbers of three digits and more are dates.
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
