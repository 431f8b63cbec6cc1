package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/wire"
)

// Compactions lists all compactions on the head's branch, oldest first, including undone
// ones, each with the first line of its summary. It reads the whole session.
func (g *compactor) Compactions(ctx context.Context, id firn.ID) ([]wire.Compaction, error) {
	if err := g.CheckExists(ctx, id); err != nil {
		return nil, err
	}
	past, err := compact.List(ctx, g.Store, id)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Compaction, len(past))
	for i := range past {
		out[i] = pastCompaction(&past[i], i+1)
	}
	return out, nil
}

func pastCompaction(p *compact.Record, count int) wire.Compaction {
	return wire.Compaction{
		ID: p.ID, Summary: p.Line, Before: p.Before, After: p.After, Count: count, Strategy: string(p.Strategy),
		Reason: string(p.Reason), Model: p.Model, Undone: p.Undone, Current: p.Counts, At: p.Time.UTC().Format(time.RFC3339Nano),
	}
}

// Compact compacts a session and returns the summary, or with Plan only the position of the
// cut. It is rejected while a turn is running; messages that arrive during the compaction
// are kept. If there is nothing to compact, it returns a problem of kind Invalid, unless
// only the plan was requested. If the head moved in the meantime, it returns a problem of
// kind Conflict.
func (g *compactor) Compact(ctx context.Context, id firn.ID, c wire.Compact) (wire.Compacted, error) {
	if made, ok, err := g.compactedBefore(ctx, id, c); err != nil || ok {
		return made, err
	}
	if err := g.mayChange(ctx, id, "compact"); err != nil {
		return wire.Compacted{}, err
	}
	if c.KeepRecent < 0 {
		return wire.Compacted{}, &wire.Problem{Kind: wire.Invalid, Message: "the number of tokens to keep is negative"}
	}
	a, err := g.agentOf(ctx, id)
	if err != nil {
		return wire.Compacted{}, err
	}
	o := agent.CompactOptions{Hint: c.Hint, KeepRecent: c.KeepRecent}
	if r, ok := requestOf(ctx); ok {
		o.Extra = firn.Fields{r.field()}
	}
	if c.Model != "" {
		if !strings.Contains(c.Model, "/") {
			return wire.Compacted{}, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("invalid model %q: expected provider/model", view.Clip(c.Model))}
		}
		if o.Model, err = g.ModelAs(c.Model); err != nil {
			return wire.Compacted{}, err
		}
	}
	if c.Plan {
		return planCompaction(ctx, a, id, o)
	}
	g.events.publish(event(wire.CompactionStarted, id, wire.Compaction{Reason: string(compact.Manual)}))
	result, err := a.CompactWith(ctx, id, o)
	out := wire.Compacted{Compaction: newCompaction(&result)}
	if err != nil {
		err = compactionProblem(err)
		out.Error = err.Error()
	}
	g.events.publish(event(wire.CompactionCompleted, id, out.Compaction))
	return out, err
}

// compactedBefore returns the compaction that the same request made before, after
// confirming that it is durable.
func (g *compactor) compactedBefore(ctx context.Context, id firn.ID, c wire.Compact) (wire.Compacted, bool, error) {
	r, ok := requestOf(ctx)
	if !ok || c.Plan {
		return wire.Compacted{}, false, nil
	}
	if err := g.CheckExists(ctx, id); err != nil {
		return wire.Compacted{}, false, err
	}
	for rec, err := range g.history.recordsBy(ctx, id, r) {
		if err != nil {
			return wire.Compacted{}, false, err
		}
		entry, err := rec.Entry()
		body, ok := entry.Body.(*firn.Compaction)
		if err != nil || !ok {
			continue
		}
		if err := store.Confirm(ctx, g.Store, id, rec.At); err != nil {
			return wire.Compacted{}, false, err
		}
		path, err := g.Path(ctx, id)
		if err != nil {
			return wire.Compacted{}, false, err
		}
		d := compact.DetailsOf(body)
		out := newCompaction(&compact.Result{Entry: entry, Before: body.TokensBefore, After: d.TokensAfter, Count: d.Count, Strategy: d.Strategy})
		past, in := compact.Current(path)
		out.Current = in && past.ID == entry.ID
		return wire.Compacted{Compaction: out}, true, nil
	}
	return wire.Compacted{}, false, nil
}

// planCompaction returns the plan of a compaction.
func planCompaction(ctx context.Context, a *agent.Agent, id firn.ID, o agent.CompactOptions) (wire.Compacted, error) {
	plan, err := a.PlanCompaction(ctx, id, o)
	if errors.Is(err, compact.ErrNothing) { // for a plan this is a result, not an error
		return wire.Compacted{Plan: &wire.CompactionPlan{Nothing: err.Error()}}, nil
	}
	if err != nil {
		return wire.Compacted{}, compactionProblem(err)
	}
	out := wire.Compacted{Plan: &wire.CompactionPlan{
		FirstKept: plan.FirstKept, Summarised: len(plan.Summarize) + len(plan.Prefix), SummarisedTokens: plan.Tokens,
		Kept: len(plan.Kept), KeptTokens: plan.Tail, Split: plan.Split, Before: plan.Before,
	}}
	model := o.Model
	if model == nil {
		model = a.Summarizer
	}
	if model != nil {
		out.Plan.Model = model.Info().Provider + "/" + model.Info().Name
	}
	return out, nil
}

// newCompaction describes a compaction that was just made.
func newCompaction(r *compact.Result) wire.Compaction {
	c := wire.Compaction{ID: r.Entry.ID, Before: r.Before, After: r.After, Count: r.Count, Strategy: string(r.Strategy), Reason: string(compact.Manual)}
	if body, ok := r.Entry.Body.(*firn.Compaction); ok {
		c.Summary, c.Model, c.Current = body.Summary, compact.DetailsOf(body).Model, true
		c.At = r.Entry.Time.UTC().Format(time.RFC3339Nano)
	}
	return c
}

// compactionProblem converts a compaction error to the protocol.
func compactionProblem(err error) error {
	p := &wire.Problem{Message: err.Error()}
	switch {
	case errors.Is(err, compact.ErrNothing):
		p.Kind, p.Hint = wire.Invalid, "send more messages first, or keep less: firn compact SESSION --keep-recent N"
	case errors.Is(err, compact.ErrMoved):
		p.Kind, p.Hint = wire.Conflict, "the session has new entries; try again"
	case errors.Is(err, compact.ErrCanceled):
		p.Kind, p.Hint = wire.NotAllowed, "a hook rejected it"
	case errors.Is(err, compact.ErrPaused):
		p.Kind = wire.Busy
	default:
		return err
	}
	return p
}

// Undo hides a compaction, which restores the window before it. An empty name or "latest"
// means the compaction in force. It is rejected while a turn is running. If there is no
// such compaction or it is already undone, Undo returns a problem of kind NotFound.
func (g *compactor) Undo(ctx context.Context, id firn.ID, compaction firn.EntryID) (wire.Compaction, error) {
	if err := g.mayChange(ctx, id, "undo a compaction of"); err != nil {
		return wire.Compaction{}, err
	}
	path, err := g.Path(ctx, id)
	if err != nil {
		return wire.Compaction{}, err
	}
	var c wire.Compaction
	if p, ok := compact.Current(path); ok && (compaction == "" || compaction == view.Latest || compaction == p.ID) {
		c, err = g.undoInForce(ctx, id, p)
	} else {
		c, err = g.undoAny(ctx, id, compaction)
	}
	if err == nil {
		g.events.publish(event(wire.CompactionUndone, id, c))
	}
	return c, err
}

// undoInForce undoes the compaction in force. It reads only the live part of the session.
func (g *compactor) undoInForce(ctx context.Context, id firn.ID, p compact.Record) (wire.Compaction, error) {
	if _, err := compact.Undo(ctx, g.Store, id, p.ID); err != nil {
		return wire.Compaction{}, undoProblem(err)
	}
	p.Undone, p.Counts = true, false
	return pastCompaction(&p, 0), nil
}

// undoAny undoes the named compaction.
func (g *compactor) undoAny(ctx context.Context, id firn.ID, compaction firn.EntryID) (wire.Compaction, error) {
	target, err := g.pickCompaction(ctx, id, compaction)
	if err == nil && target == "" {
		var c wire.Compaction
		c, err = g.inForce(ctx, id)
		target = c.ID
	}
	if err != nil {
		return wire.Compaction{}, err
	}
	if _, err := compact.Undo(ctx, g.Store, id, target); err != nil {
		return wire.Compaction{}, undoProblem(err)
	}
	return g.compaction(ctx, id, target)
}

// Redo reverts Undo. An empty name or "latest" means the latest undone compaction that has
// not been replaced since. Errors are those of Undo.
func (g *compactor) Redo(ctx context.Context, id firn.ID, compaction firn.EntryID) (wire.Compaction, error) {
	if err := g.mayChange(ctx, id, "redo a compaction of"); err != nil {
		return wire.Compaction{}, err
	}
	target, err := g.pickCompaction(ctx, id, compaction)
	if err != nil {
		return wire.Compaction{}, err
	}
	if _, err := compact.Redo(ctx, g.Store, id, target); err != nil {
		return wire.Compaction{}, undoProblem(err)
	}
	var c wire.Compaction
	if target == "" { // the latest one is in force now
		c, err = g.inForce(ctx, id)
	} else {
		c, err = g.compaction(ctx, id, target)
	}
	if err == nil {
		g.events.publish(event(wire.CompactionCompleted, id, c))
	}
	return c, err
}

// mayChange returns an error if a session does not exist or a turn is running.
func (g *compactor) mayChange(ctx context.Context, id firn.ID, what string) error {
	if err := g.CheckExists(ctx, id); err != nil {
		return err
	}
	return g.lanes.mustBeIdle(id, what)
}

// pickCompaction resolves the name of a compaction; "" leaves the choice to the caller.
func (g *compactor) pickCompaction(ctx context.Context, id firn.ID, name firn.EntryID) (firn.EntryID, error) {
	if name == "" || name == view.Latest {
		return "", nil
	}
	return g.EntryAt(ctx, id, string(name))
}

// inForce returns the compaction in force, without its number. It reads only the live part of
// the session.
func (g *compactor) inForce(ctx context.Context, id firn.ID) (wire.Compaction, error) {
	path, err := g.Path(ctx, id)
	if err != nil {
		return wire.Compaction{}, err
	}
	if p, ok := compact.Current(path); ok {
		return pastCompaction(&p, 0), nil
	}
	return wire.Compaction{}, &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("session %s has no compaction in effect", id), Hint: "to list compactions: firn compactions"}
}

// compaction returns the description of one compaction.
func (g *compactor) compaction(ctx context.Context, id firn.ID, target firn.EntryID) (wire.Compaction, error) {
	all, err := g.Compactions(ctx, id)
	if err != nil {
		return wire.Compaction{}, err
	}
	for _, c := range all {
		if c.ID == target {
			return c, nil
		}
	}
	return wire.Compaction{}, view.NoEntry(id, string(target), "not a compaction of the branch")
}

// undoProblem converts an error of an undo or redo to the protocol.
func undoProblem(err error) error {
	if errors.Is(err, compact.ErrNothing) {
		return &wire.Problem{Kind: wire.NotFound, Message: strings.Replace(err.Error(), compact.ErrNothing.Error(), "nothing to undo or redo", 1), Hint: "to list compactions: firn compactions"}
	}
	return err
}
