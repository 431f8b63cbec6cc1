package agent

import (
	"context"
	"errors"
	"fmt"

	"firn.dev"
	"firn.dev/compact"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/window"
)

// Move continues a session from another entry. Later entries stay in the log on their own
// branch. If summarize is set, the abandoned branch is summarized for the model, unless it
// is empty. [firn.Root] means before the first entry.
func (a *Agent) Move(ctx context.Context, id firn.ID, to firn.EntryID, summarize bool) (firn.Entry, error) {
	if summarize {
		job := compact.BranchJob{Store: a.Store, Session: id, To: to, Model: a.summarizer(), Settings: a.Compaction, Counter: a.counter()}
		if job.Model != nil && a.Model != nil {
			job.Window = min(job.Model.Info().Window, a.Model.Info().Window)
		}
		path, err := window.Collect(a.Store.ReadBack(ctx, id, store.End))
		if err != nil {
			return firn.Entry{}, err
		}
		entry, err := compact.SummarizeBranch(provider.WithProfile(ctx, path.Chosen.Auth), job)
		if !errors.Is(err, compact.ErrNothing) {
			return entry, err
		}
	}
	head := firn.NewEntry(&firn.Head{})
	head.Parent = to
	if _, err := a.header(ctx, id); err != nil {
		return firn.Entry{}, fmt.Errorf("move session %s to entry %s: %w", id, to, err)
	}
	if _, err := a.Store.Append(ctx, id, store.Any, head); err != nil {
		return firn.Entry{}, fmt.Errorf("move session %s to entry %s: %w", id, to, err)
	}
	return head, nil
}

// Compact compacts a session on request. The hint is an instruction for the summary. If
// there is nothing older than the part to be kept (20,000 tokens unless Agent.Compaction or
// [CompactOptions] set another size), it fails with compact.ErrNothing.
func (a *Agent) Compact(ctx context.Context, id firn.ID, hint string) (compact.Result, error) {
	t := &turn{a: a, ctx: ctx, yield: func(Event, error) bool { return true }}
	t.log = ledger{st: a.Store, id: id}
	if err := t.refreshPath(); err != nil {
		return compact.Result{}, fmt.Errorf("compact session %s: %w", id, err)
	}
	if err := t.chooseModel(); err != nil {
		return compact.Result{}, fmt.Errorf("compact session %s: %w", id, err)
	}
	job := (fitter{t}).compactionJob(compact.Manual)
	job.Hint, job.By = hint, "user"
	return (fitter{t}).runCompaction(job)
}

func (a *Agent) summarizer() provider.Model {
	model := a.Model
	if a.Summarizer != nil {
		model = a.Summarizer
	}
	if model == nil {
		return nil
	}
	return guardedModel{model}
}
