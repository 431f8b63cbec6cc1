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

// Errors for runs that compacted nothing. None of them counts as a failure for the breaker.
var (
	// ErrNothing means that there is nothing to compact or that it was compacted already.
	// For Undo and Redo, there is nothing to undo or redo.
	ErrNothing = errors.New("nothing to compact")
	// ErrPaused means that too many runs failed in a row; see [Breaker].
	ErrPaused = errors.New("compaction is paused after repeated failures")
	// ErrCanceled means that the hook canceled the compaction.
	ErrCanceled = errors.New("compaction was canceled")
	// ErrMoved means that the conversation changed in the meantime: it moved to another
	// branch or was compacted by another run. Nothing was written.
	ErrMoved = errors.New("the conversation changed during compaction")
)

// TooBig is the error for a conversation that cannot be made to fit because the parts that
// compaction cannot shrink are too large. It is an ErrTooLarge.
type TooBig struct {
	// Model is the model whose window is too small, as provider/name; empty if unknown.
	Model string
	// Reported is the limit in tokens that the provider reported; zero if it reported none.
	Reported int64
	// Counted is the size of the rejected request in tokens as the provider counts; zero if
	// it reported none.
	Counted int64
	// Input is the size of the user's message in tokens, if it alone is too large.
	Input int64
	// Cause is the provider's error; nil if no request was sent.
	Cause error
	// System, Tools, Injected and Pinned are the tokens of the system prompt, the tools,
	// the injections and the pinned entries.
	System, Tools, Injected, Pinned int64
	// Tail is the size of the messages that had to be kept, Summary that of the smallest
	// summary, in tokens.
	Tail, Summary int64
	// Limit is the size to reach, in a window of size Window: that of the settings, or less
	// if the provider rejected a request within it.
	Limit, Window int64
}

// Error describes in one sentence the content that is too large, its parts with their
// sizes, and the limit.
func (t *TooBig) Error() string {
	who := "the window"
	if t.Model != "" {
		who = t.Model
	}
	takes := fmt.Sprintf("%s accepts %s tokens", who, grouped(t.Limit))
	switch {
	case t.Reported > 0:
		takes = fmt.Sprintf("%s accepts at most %s tokens", who, grouped(t.Reported))
		if t.Counted > 0 {
			takes += fmt.Sprintf(" and counted %s", grouped(t.Counted))
		}
	case t.Model == "":
		takes = fmt.Sprintf("the limit is %s tokens of a %s-token window", grouped(t.Limit), grouped(t.Window))
	}
	if t.Input > 0 {
		return fmt.Sprintf("the message is too large: about %s tokens, and %s", grouped(t.Input), takes)
	}
	var parts []string
	for _, p := range t.parts() {
		if p.tokens > 0 {
			parts = append(parts, p.name+" "+grouped(p.tokens))
		}
	}
	return fmt.Sprintf("the conversation is too large: about %s tokens cannot be left out (%s), and %s", grouped(t.total()), strings.Join(parts, ", "), takes)
}

// part is a part of the request and its size.
type part struct {
	name   string
	tokens int64
}

// parts returns the parts of the request, largest first.
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

// Hint suggests a remedy that depends on the largest part.
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
	return "rewind to before the large message (/rewind), or start a new session (/new); or " + larger
}

// Unwrap returns ErrTooLarge and the provider's error.
func (t *TooBig) Unwrap() []error {
	if t.Cause == nil {
		return []error{firn.ErrTooLarge}
	}
	return []error{firn.ErrTooLarge, t.Cause}
}

// grouped formats a number with commas between groups of three digits.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
