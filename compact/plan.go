package compact

import (
	"fmt"

	"firn"
	"firn/window"
)

// Plan is where a conversation will be cut: what is summarised and what is
// kept. It shares memory with the path it was made of.
type Plan struct {
	// FirstKept is the first entry that is kept; empty if none is.
	FirstKept firn.EntryID
	// Summarize are the entries before the cut, oldest first, without those of
	// Prefix. Prefix are the entries of a turn that the cut splits, from its
	// beginning to the cut. Kept are the entries behind the cut.
	Summarize, Prefix, Kept []firn.Entry
	// Split says that the cut is within a turn.
	Split bool
	// Previous is the compaction that counts so far, nil if there is none. Its
	// summary is to be updated.
	Previous *firn.Entry
	// Tokens is what the counter makes of Summarize and Prefix, Tail what it
	// makes of Kept, Before the best that is known of the whole window.
	Tokens, Tail, Before int64

	// first and turn are the places of the cut and of the beginning of the turn
	// that it splits (-1 if it splits none) among the entries of the path.
	first, turn int
}

// PlanOptions say what else decides where to cut. The zero value plans for a
// window that is not known, with nothing else in it.
type PlanOptions struct {
	// Window is the size of the window that must fit.
	Window int64
	// Fixed are the tokens in it that compaction cannot shrink.
	Fixed int64
	// Counter counts tokens; nil means [window.Chars].
	Counter window.TokenCounter
	// Less asks to keep less than the settings say: 0 keeps what they say, 1 the
	// latest turn at most, 2 the latest message with its results at most, 3 nothing.
	Less int
	// Again plans also if nothing was said since the last compaction.
	Again bool
}

// NewPlan decides where to cut a path. A cut never parts a call from its
// results. Where there is nothing to summarise the error is ErrNothing, and
// the plan tells what was found.
func NewPlan(p window.Path, s Settings, o PlanOptions) (Plan, error) {
	return Plan{}, fmt.Errorf("plan a compaction: %w", ErrNothing)
}
