package compact

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"firn.dev"
)

// Why nothing was compacted. None of them is a failure that counts for the
// breaker.
var (
	// ErrNothing says that there is nothing to compact, or that it was done
	// already; for Undo and Redo, that there is nothing to undo or redo.
	ErrNothing = errors.New("nothing to compact")
	// ErrOpen says that too many runs failed in a row, see [Breaker] and [Close].
	ErrOpen = errors.New("compaction is paused after failing too often")
	// ErrCancelled says that the hook did not want it.
	ErrCancelled = errors.New("compaction was cancelled")
	// ErrMoved says that the conversation went another way meanwhile: to
	// another branch, or somebody else compacted it. Nothing was written.
	ErrMoved = errors.New("the conversation moved on during compaction")
)

// TooBig says that a conversation cannot be made to fit: what compaction cannot
// shrink is too large. It is an ErrTooLarge.
type TooBig struct {
	// Model is who does not take it, as provider/name; empty if that is not known.
	Model string
	// Stated is how many tokens the provider itself says it takes; zero if it named
	// no number.
	Stated int64
	// Input is the size of the user's message, if that alone is too large.
	Input int64
	// Cause is how the provider refused; nil if it was not asked.
	Cause error
	// System, Tools and Injected are the tokens of the system prompt, of the
	// tools and of what is injected; Pinned of what the user pinned.
	System, Tools, Injected, Pinned int64
	// Tail are the tokens of messages that had to be kept, Summary those of the
	// smallest summary.
	Tail, Summary int64
	// Limit is what had to be met, in a window of size Window: that of the
	// settings, or less if the provider refused what is within it.
	Limit, Window int64
}

// Error is one sentence: what is too large, for whom, and what takes up the room.
func (t *TooBig) Error() string {
	who := "the window"
	if t.Model != "" {
		who = t.Model
	}
	takes := fmt.Sprintf("%s takes %s tokens", who, grouped(t.Limit))
	switch {
	case t.Stated > 0:
		takes = fmt.Sprintf("%s says that it takes %s tokens", who, grouped(t.Stated))
	case t.Model == "":
		takes = fmt.Sprintf("the limit is %s tokens of a window of %s", grouped(t.Limit), grouped(t.Window))
	}
	if t.Input > 0 {
		return fmt.Sprintf("the message is too large: it has about %s tokens, and %s", grouped(t.Input), takes)
	}
	var parts []string
	for _, p := range t.parts() {
		if p.tokens > 0 {
			parts = append(parts, p.name+" "+grouped(p.tokens))
		}
	}
	return fmt.Sprintf("the conversation is too large: about %s tokens cannot be left out (%s), and %s", grouped(t.total()), strings.Join(parts, ", "), takes)
}

// part is something that takes up room.
type part struct {
	name   string
	tokens int64
}

// parts are what takes up the room, the largest first.
func (t *TooBig) parts() []part {
	all := []part{
		{"messages", t.Tail}, {"system prompt", t.System}, {"tools", t.Tools}, {"injected", t.Injected},
		{"pinned", t.Pinned}, {"summary", max(t.Summary-t.Pinned, 0)},
	}
	slices.SortStableFunc(all, func(a, b part) int { return cmp.Compare(b.tokens, a.tokens) })
	return all
}

func (t *TooBig) total() int64 {
	return t.System + t.Tools + t.Injected + t.Tail + max(t.Summary, t.Pinned)
}

// Hint says what the user can do, by what takes up most of the room.
func (t *TooBig) Hint() string {
	const larger = "choose a model with a larger window: /model, or -m"
	if t.Input > 0 {
		return "send it in parts, or as a file that the agent reads; or " + larger
	}
	switch t.parts()[0].name {
	case "system prompt":
		return "shorten the system prompt (system, system_file); or " + larger
	case "tools":
		return "leave out tools (tools.deny, --no-tools); or " + larger
	case "injected":
		return "shorten the instruction files or notes that firn window lists; or " + larger
	case "pinned":
		return "unpin entries; or " + larger
	}
	return "rewind to before the large message (/rewind), or begin anew (/new); or " + larger
}

// Unwrap makes it an ErrTooLarge, and leads to how the provider refused.
func (t *TooBig) Unwrap() []error {
	if t.Cause == nil {
		return []error{firn.ErrTooLarge}
	}
	return []error{firn.ErrTooLarge, t.Cause}
}

// grouped spells a number with a comma before each three digits.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
