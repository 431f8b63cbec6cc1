package agent

import (
	"context"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/compact"
	"firn.dev/internal/base/route"
	"firn.dev/provider"
	"firn.dev/window"
)

// Preview is the request that would be sent to the model if a session continued now.
type Preview struct {
	Model provider.Model
	Info  provider.Info
	// Fitted is the part of the session that is sent: its live part without the turns that
	// do not fit, with pruned results.
	Fitted window.Path
	// Request is the request. Its window has no items if the session has no messages yet.
	// It contains the injections of hooks only if requested.
	Request provider.Request
	// Injected are the injections of hooks, if requested.
	Injected []window.Injection
	// Tools is the token count of the tools, Tokens the best known size of the whole
	// request.
	Tools, Tokens int64
	// Thinking and Verbose are the settings in effect.
	Thinking provider.Thinking
	Verbose  bool
	// Notice is a notice for the user, for example that the session's chosen model is not
	// available.
	Notice string
}

// PreviewOptions are the options of a preview.
type PreviewOptions struct {
	// Turns limits the turns that are sent, as in [Input].
	Turns int
	// Inject calls the hook BeforeRun, with [Run.Preview] set, for the last user message
	// and includes its injections in the request. The bounds are those of the context, see
	// [WithBounds].
	Inject bool
	// Narrow returns the bounds of a message's author, as in [Input].
	Narrow func(ctx context.Context, e firn.Entry) route.Bounds
}

// Preview returns the request that would be sent if a session with that live part
// continued. It calls no model and reads nothing.
func (a *Agent) Preview(id firn.ID, path window.Path) (Preview, error) {
	return a.PreviewWith(context.Background(), id, path, PreviewOptions{})
}

// PreviewWith is Preview with options.
func (a *Agent) PreviewWith(ctx context.Context, id firn.ID, path window.Path, o PreviewOptions) (Preview, error) {
	p := Preview{}
	t := a.newSideTurn(ctx, id, func(e Event) {
		if n, ok := e.(Notice); ok {
			p.Notice = n.Text
		}
	})
	t.path, t.in.Turns, t.in.Narrow = path, o.Turns, o.Narrow
	if err := t.chooseModel(); err != nil {
		return p, fmt.Errorf("preview session %s: %w", id, err)
	}
	if o.Inject {
		if err := t.previewInjected(); err != nil {
			p.Notice = err.Error()
		}
		p.Injected = t.injected
	}
	p.Fitted = (fitter{t}).fitPath(t.sourcePath())
	w := window.Build(p.Fitted, t.options())
	p.Tools = t.fixed().tools
	p.Tokens = w.Tokens.Total
	if w.Tokens.Reported == 0 {
		p.Tokens += p.Tools
	}
	p.Model, p.Info, p.Thinking, p.Verbose = t.model, t.info, t.thinking, t.verbose
	p.Request = provider.Request{
		Window: w, Tools: t.specs, MaxTokens: t.maxTokens(w.Tokens.System + w.Tokens.Items + p.Tools),
		Thinking: t.thinking, Session: id,
	}
	return p, nil
}

// previewInjected collects the injections of hooks for a turn that answers the last user
// message.
func (t *turn) previewInjected() error {
	t.preview = true
	t.ctx, t.bounds = withTurnBounds(withSession(t.ctx, t.log.id), BoundsOf(t.ctx))
	for _, e := range slices.Backward(t.path.Entries) {
		if m, ok := messageWithRole(e, firn.RoleUser); ok {
			t.prompt = m.Text()
			t.narrow(e)
			break
		}
	}
	return t.inject()
}

// newSideTurn returns a turn for operations on a session between its turns, with the
// session's settings.
func (a *Agent) newSideTurn(ctx context.Context, id firn.ID, report func(Event)) *turn {
	t := &turn{a: a, ctx: ctx, yield: func(e Event, _ error) bool { report(e); return true }}
	t.log = ledger{st: a.Store, id: id}
	return t
}

// CompactOptions are the options of a requested compaction.
type CompactOptions struct {
	// Hint is an instruction for the summary.
	Hint string
	// KeepRecent is the approximate number of tokens to keep, and Model writes the summary;
	// zero values mean the agent's settings.
	KeepRecent int64
	Model      provider.Model
	// Extra are additional fields of the compaction's entry.
	Extra firn.Fields
}

// CompactWith is [Agent.Compact] with options.
func (a *Agent) CompactWith(ctx context.Context, id firn.ID, o CompactOptions) (compact.Result, error) {
	t, job, err := a.compaction(ctx, id, o)
	if err != nil {
		return compact.Result{}, err
	}
	return (fitter{t}).runCompaction(job)
}

// PlanCompaction returns the plan of CompactWith without running it. The actual compaction
// may keep less if that much does not fit.
func (a *Agent) PlanCompaction(ctx context.Context, id firn.ID, o CompactOptions) (compact.Plan, error) {
	t, job, err := a.compaction(ctx, id, o)
	if err != nil {
		return compact.Plan{}, err
	}
	return compact.NewPlan(t.path, job.Settings, compact.PlanOptions{
		Window: job.Window, Fixed: t.fixed().all(), Counter: job.Counter,
	})
}

// compaction prepares a requested compaction.
func (a *Agent) compaction(ctx context.Context, id firn.ID, o CompactOptions) (*turn, compact.Job, error) {
	t := a.newSideTurn(ctx, id, func(Event) {})
	if err := t.refreshPath(); err != nil {
		return nil, compact.Job{}, fmt.Errorf("compact session %s: %w", id, err)
	}
	if err := t.chooseModel(); err != nil {
		return nil, compact.Job{}, fmt.Errorf("compact session %s: %w", id, err)
	}
	job := (fitter{t}).compactionJob(compact.Manual)
	job.Hint, job.By, job.Extra = o.Hint, "user", o.Extra
	if o.KeepRecent > 0 {
		job.KeepRecent = o.KeepRecent
	}
	if o.Model != nil {
		job.Model = guardedModel{o.Model}
	}
	return t, job, nil
}
