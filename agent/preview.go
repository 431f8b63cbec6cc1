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

// Preview is what the model would be asked if a session went on now.
type Preview struct {
	Model provider.Model
	Info  provider.Info
	// Fitted is what is sent of the session: its live part without what there
	// is no room for, with results shortened as the agent's habits say.
	Fitted window.Path
	// Request is what would be sent. Its window has no items if nothing was said
	// yet. What hooks inject into a turn is in it if that was asked for.
	Request provider.Request
	// Injected is what hooks inject, as far as it was asked for.
	Injected []window.Injection
	// Tools is what the counter makes of the tools, Tokens the size of it all as
	// well as is known.
	Tools, Tokens int64
	// Thinking and Verbose are what holds for the session.
	Thinking provider.Thinking
	Verbose  bool
	// Notice is what the user should be told, such as that the model which the
	// session chose is gone.
	Notice string
}

// PreviewOptions say what a preview is of.
type PreviewOptions struct {
	// Turns bounds the turns that are sent, as in [Input].
	Turns int
	// Inject calls the hook BeforeRun, with [Run.Preview] set, for the last message of
	// the user: what it injects is in the request. The bounds are those of the context,
	// see [WithBounds].
	Inject bool
	// Narrow returns the bounds of who said a message, as in [Input].
	Narrow func(ctx context.Context, e firn.Entry) route.Bounds
}

// Preview returns what the model would be asked if a session with that live part
// went on. It asks no model and reads nothing.
func (a *Agent) Preview(id firn.ID, path window.Path) (Preview, error) {
	return a.PreviewWith(context.Background(), id, path, PreviewOptions{})
}

// PreviewWith is Preview with options.
func (a *Agent) PreviewWith(ctx context.Context, id firn.ID, path window.Path, o PreviewOptions) (Preview, error) {
	p := Preview{}
	t := a.beside(ctx, id, func(e Event) {
		if n, ok := e.(Notice); ok {
			p.Notice = n.Text
		}
	})
	t.path, t.in.Turns, t.in.Narrow = path, o.Turns, o.Narrow
	if err := t.choose(); err != nil {
		return p, fmt.Errorf("preview session %s: %w", id, err)
	}
	if o.Inject {
		if err := t.previewInjected(); err != nil {
			p.Notice = err.Error()
		}
		p.Injected = t.injected
	}
	p.Fitted = t.fitted(t.source())
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

// previewInjected asks the hooks what they would inject into a turn that answers the
// last message of the user.
func (t *turn) previewInjected() error {
	t.preview = true
	t.ctx, t.reach = withReach(withSession(t.ctx, t.log.id), BoundsOf(t.ctx))
	for _, e := range slices.Backward(t.path.Entries) {
		if m, ok := saidBy(e, firn.RoleUser); ok {
			t.said = m.Text()
			t.narrow(e)
			break
		}
	}
	return t.inject()
}

// beside is a turn that is none: what is done with a session between its
// turns, by the rules of its turns.
func (a *Agent) beside(ctx context.Context, id firn.ID, tell func(Event)) *turn {
	t := &turn{a: a, ctx: ctx, yield: func(e Event, _ error) bool { tell(e); return true }}
	t.log = ledger{st: a.Store, id: id}
	return t
}

// CompactOptions say how a compaction is run that somebody asked for.
type CompactOptions struct {
	// Hint says what the summary should heed.
	Hint string
	// KeepRecent is about how many tokens are kept, and Model who summarises,
	// instead of what the agent is set to; zero leaves it at that.
	KeepRecent int64
	Model      provider.Model
	// Extra are fields that the entry of the compaction carries besides its own.
	Extra firn.Fields
}

// CompactWith is [Agent.Compact] with options.
func (a *Agent) CompactWith(ctx context.Context, id firn.ID, o CompactOptions) (compact.Result, error) {
	t, job, err := a.compaction(ctx, id, o)
	if err != nil {
		return compact.Result{}, err
	}
	return t.runCompaction(job)
}

// PlanCompaction tells where CompactWith would cut, and does nothing. The
// result may keep less, if that much does not fit.
func (a *Agent) PlanCompaction(ctx context.Context, id firn.ID, o CompactOptions) (compact.Plan, error) {
	t, job, err := a.compaction(ctx, id, o)
	if err != nil {
		return compact.Plan{}, err
	}
	return compact.NewPlan(t.path, job.Settings, compact.PlanOptions{
		Window: job.Window, Fixed: t.fixed().all(), Counter: job.Counter,
	})
}

// compaction prepares a compaction that somebody asked for.
func (a *Agent) compaction(ctx context.Context, id firn.ID, o CompactOptions) (*turn, compact.Job, error) {
	t := a.beside(ctx, id, func(Event) {})
	if err := t.collect(); err != nil {
		return nil, compact.Job{}, fmt.Errorf("compact session %s: %w", id, err)
	}
	if err := t.choose(); err != nil {
		return nil, compact.Job{}, fmt.Errorf("compact session %s: %w", id, err)
	}
	job := t.job(compact.Manual)
	job.Hint, job.By, job.Extra = o.Hint, "user", o.Extra
	if o.KeepRecent > 0 {
		job.KeepRecent = o.KeepRecent
	}
	if o.Model != nil {
		job.Model = steady{o.Model}
	}
	return t, job, nil
}
