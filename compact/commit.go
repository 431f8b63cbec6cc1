package compact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/find/digest"
	"firn.dev/window"
)

// summarize makes the summary of a choice: by the hook, by a model, or without a model. A
// summary that does not fit is replaced by one that does.
func (r *run) summarize(ctx context.Context, c choice, s *summarizer) (choice, error) {
	decision, err := r.hook(ctx, c.plan)
	if err != nil {
		return c, err
	}
	if decision.Summary != "" {
		if hooked, err := r.choose(ctx, r.counter.CountText(decision.Summary)); err == nil {
			c = hooked
			c.body, c.strategy = decision.Summary, ByHook
		}
	}
	if c.body == "" {
		if c.body, err = r.write(ctx, c, s, c.budget); err != nil {
			return c, err
		}
		c.strategy = s.strategy()
	}
	if r.composeSummary(&c) {
		return c, nil
	}
	return r.fallback(ctx, c)
}

// hook calls the hook, if there is one.
func (r *run) hook(ctx context.Context, p Plan) (Decision, error) {
	if r.Before == nil {
		return Decision{}, nil
	}
	d, err := r.Before(ctx, p)
	switch {
	case err != nil:
		return d, fmt.Errorf("%w: %w", errHook, err)
	case d.Cancel:
		return d, ErrCanceled
	}
	d.Summary, _ = firn.CleanText(strings.TrimSpace(d.Summary))
	return d, nil
}

// The texts with which pi joins the summary of a split turn to the rest.
const (
	noHistory   = "No prior history."
	turnContext = "\n\n---\n\n**Turn Context (split turn):**\n\n"
)

// write makes the body of a summary of at most budget tokens.
func (r *run) write(ctx context.Context, c choice, s *summarizer, budget int64) (string, error) {
	forHistory := budget
	if len(c.prefix) > 0 {
		forHistory = budget * 8 / 13
	}
	history, err := s.fold(ctx, taskHistory, r.body, c.history, r.allowed(forHistory, r.body, c.history))
	if err != nil || len(c.prefix) == 0 {
		return history, err
	}
	forPrefix := budget - forHistory - r.counter.CountText(noHistory+turnContext)
	prefix, err := s.fold(ctx, taskPrefix, "", c.prefix, r.allowed(forPrefix, "", c.prefix))
	if err != nil {
		return "", err
	}
	if history == "" {
		history = noHistory
	}
	return history + turnContext + prefix, nil
}

// allowed limits a summary by the size of its input, so that it is always smaller.
func (r *run) allowed(budget int64, previous string, lines []digest.Line) int64 {
	worth := r.counter.CountText(previous)
	for _, l := range lines {
		if worth > budget*2 {
			break
		}
		worth += r.counter.CountText(l.Text)
	}
	return max(0, min(budget, max(worth*3/4, minBody/2)))
}

// composeSummary assembles the summary, measures the result and reports whether it fits.
func (r *run) composeSummary(c *choice) bool {
	c.summary = c.compose(c.body, c.files)
	c.after = r.measure(c.plan.Kept, c.summary).total()
	return c.after <= c.goal
}

// fallback tries smaller and smaller summaries without a model, then plans that keep less,
// until one fits.
func (r *run) fallback(ctx context.Context, c choice) (choice, error) {
	for budget := c.budget; budget >= minBody; budget = budget * 2 / 3 {
		s := newSummarizer(nil, r.Settings, r.counter)
		body, err := r.write(ctx, c, s, budget)
		if err != nil {
			return c, err
		}
		c.body, c.strategy = body, Extractive
		if r.composeSummary(&c) {
			return c, nil
		}
	}
	plans, err := r.plans()
	if err != nil {
		return c, err
	}
	for _, plan := range plans {
		if plan.first <= c.plan.first {
			continue
		}
		_, lax := r.goals()
		next, err := r.measurePlan(ctx, plan, lax, 0)
		if err != nil {
			return c, err
		}
		if next.budget = min(r.wanted(plan), next.goal-next.base); next.budget >= minBody {
			return r.fallback(ctx, next)
		}
	}
	return c, r.tooBig(c)
}

// commit appends the compaction if the conversation is unchanged or was only extended
// since.
func (r *run) commit(ctx context.Context, c choice, s *summarizer) (Result, error) {
	path, kept := r.path, c.plan.Kept
	for try := 1; ; try++ {
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		entry, err := r.entry(path, kept, c, s)
		if err != nil {
			return Result{}, err
		}
		end, err := r.Store.Append(ctx, r.Session, path.End, entry)
		if err == nil {
			return Result{
				Entry: entry, Before: r.before, After: c.after, Strategy: c.strategy,
				Chunks: s.chunks, Calls: s.calls, Usage: s.usage, End: end, Count: r.path.Compactions() + 1,
				Failure: s.failure,
			}, nil
		}
		if !errors.Is(err, firn.ErrConflict) {
			return Result{}, err
		}
		if try == maxTries {
			return Result{}, fmt.Errorf("entries were appended concurrently %d times in a row: %w", try, ErrMoved)
		}
		if path, err = collect(ctx, r.Store, r.Session); err != nil {
			return Result{}, err
		}
		arrived, err := r.newEntries(path, c.plan)
		if err != nil {
			return Result{}, err
		}
		kept = slices.Concat(c.plan.Kept, arrived)
		c.after = r.measure(kept, c.summary).total()
	}
}

// newEntries returns the entries appended since the run started. It fails with ErrMoved if
// they do not simply extend the path, or if they answer calls that were summarized.
func (r *run) newEntries(now window.Path, plan Plan) ([]firn.Entry, error) {
	old := r.path.Entries
	same := idOf(now.Compaction) == idOf(r.path.Compaction) && len(now.Entries) >= len(old) &&
		slices.EqualFunc(old, now.Entries[:len(old)], func(a, b firn.Entry) bool { return a.ID == b.ID })
	if !same {
		return nil, ErrMoved
	}
	if splitsPair(now.Entries, plan.first) {
		return nil, fmt.Errorf("a result arrived for a summarized tool call: %w", ErrMoved)
	}
	return now.Entries[len(old):], nil
}

func idOf(e *firn.Entry) firn.EntryID {
	if e == nil {
		return ""
	}
	return e.ID
}

// splitsPair reports whether a cut separates a call from its result.
func splitsPair(entries []firn.Entry, at int) bool {
	owner := make(map[string]int)
	for i := range entries {
		m, ok := entries[i].Body.(*firn.Message)
		if !ok {
			continue
		}
		switch m.Role {
		case firn.RoleAssistant:
			for _, id := range callIDs(m) {
				owner[id] = i
			}
		case firn.RoleToolResult:
			for _, id := range resultIDs(m) {
				if call, ok := owner[id]; ok && call < at && i >= at {
					return true
				}
			}
		}
	}
	return false
}

// entry returns the compaction entry. If no message is kept, it keeps from itself on,
// including custom entries directly before it, which no model sees.
func (r *run) entry(path window.Path, kept []firn.Entry, c choice, s *summarizer) (firn.Entry, error) {
	details := Details{
		ReadFiles: emptyNotNil(c.read), ModifiedFiles: emptyNotNil(c.modified),
		Strategy: c.strategy, TokensAfter: c.after,
		Reason: r.Reason, Hint: r.Hint, By: r.By,
		Count: r.path.Compactions() + 1,
		Goal:  c.goalText, Request: c.request, Pins: c.pins,
	}
	if c.strategy == ByModel || c.strategy == Mixed {
		details.Model = s.modelName()
	}
	details.Chunks, details.Usage = s.chunks, usageOf(s.usage)
	details.Failed = r.failedSummary(c, s)
	if path.Chosen != (firn.State{}) {
		details.State = &path.Chosen
	}
	raw, err := marshal(details)
	if err != nil {
		return firn.Entry{}, err
	}
	body := &firn.Compaction{
		Summary: c.summary, TokensBefore: r.before, Details: raw, FromHook: c.strategy == ByHook,
	}
	entry := firn.NewEntry(body)
	entry.ID, entry.Parent, entry.Extra = firn.NewEntryIDAfter(path.Head), path.Head, r.Extra
	body.FirstKept = entry.ID
	if len(kept) > 0 {
		body.FirstKept = kept[0].ID
		return entry, nil
	}
	for _, e := range slices.Backward(path.Entries) {
		if _, noted := e.Body.(*firn.Custom); !noted {
			break
		}
		body.FirstKept = e.ID
	}
	return entry, nil
}

// emptyNotNil makes empty lists encode as lists instead of null.
func emptyNotNil(files []string) []string {
	if files == nil {
		return []string{}
	}
	return files
}
