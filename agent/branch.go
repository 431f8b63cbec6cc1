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

// Move makes a session go on from another entry: what came after it stays in
// the log, on a branch of its own. If told to summarise, the branch that is
// left is summed up for the model; one with nothing in it is just left.
// [firn.Root] means before everything.
func (a *Agent) Move(ctx context.Context, id firn.ID, to firn.EntryID, summarise bool) (firn.Entry, error) {
	if summarise {
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

// Compact compacts a session because somebody asked for it. The hint says
// what the summary should heed. If there is nothing older than what is kept as it is
// (20,000 tokens, unless Agent.Compaction or [CompactOptions] say otherwise) the
// error is compact.ErrNothing.
func (a *Agent) Compact(ctx context.Context, id firn.ID, hint string) (compact.Result, error) {
	t := &turn{a: a, ctx: ctx, yield: func(Event, error) bool { return true }}
	t.log = ledger{st: a.Store, id: id}
	if err := t.collect(); err != nil {
		return compact.Result{}, fmt.Errorf("compact session %s: %w", id, err)
	}
	if err := t.choose(); err != nil {
		return compact.Result{}, fmt.Errorf("compact session %s: %w", id, err)
	}
	job := t.job(compact.Manual)
	job.Hint, job.By = hint, "user"
	return t.runCompaction(job)
}

func (a *Agent) summarizer() provider.Model {
	model := a.Model
	if a.Summarizer != nil {
		model = a.Summarizer
	}
	if model == nil {
		return nil
	}
	return steady{model}
}
