package compact

import (
	"errors"
	"fmt"

	"firn"
)

// Why nothing was compacted. None of them is a failure that counts for the
// breaker.
var (
	// ErrNothing says that there is nothing to compact, or that it was done
	// already; for Undo and Redo, that there is nothing to undo or redo.
	ErrNothing = errors.New("nothing to compact")
	// ErrOpen says that too many runs failed in a row, see [Open] and [Close].
	ErrOpen = errors.New("compaction is stopped after failing too often")
	// ErrCancelled says that the hook did not want it.
	ErrCancelled = errors.New("compaction was cancelled")
	// ErrMoved says that the conversation went another way meanwhile: to
	// another branch, or somebody else compacted it. Nothing was written.
	ErrMoved = errors.New("the conversation moved on during compaction")
)

// TooBig says that a conversation cannot be made to fit: what compaction cannot
// shrink is too large. It is an ErrTooLarge.
type TooBig struct {
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

// Error names the sizes.
func (t *TooBig) Error() string {
	total := t.System + t.Tools + t.Injected + t.Tail + t.Summary
	return fmt.Sprintf("about %d tokens are left, the limit is %d of a window of %d: "+
		"system prompt %d, tools %d, injected %d, recent messages %d, summary %d (of it pinned %d): %v",
		total, t.Limit, t.Window, t.System, t.Tools, t.Injected, t.Tail, t.Summary, t.Pinned, firn.ErrTooLarge)
}

// Unwrap makes it an ErrTooLarge.
func (t *TooBig) Unwrap() error { return firn.ErrTooLarge }
