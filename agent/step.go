package agent

import "context"

// Step is a part of a turn that takes time, as passed to [Hooks.Around].
type Step struct {
	Kind StepKind
	// Name is the name of the tool or the reason of the compaction; Call is the ID of the
	// tool call.
	Name, Call string
}

// StepKind is the kind of a step.
type StepKind string

// The kinds of steps.
const (
	StepTool       StepKind = "tool"
	StepCompaction StepKind = "compaction"
)

// around calls the hook at the start of a step. It returns the context for the step and the
// function to call at its end, with a one-word failure or an empty string.
func (t *turn) around(ctx context.Context, run Run, s Step) (context.Context, func(failure string)) {
	inner, end := ctx, func(string) {}
	if t.a.Hooks.Around == nil {
		return inner, end
	}
	// If the hook panics, the step runs without it.
	_ = recoverPanic("a hook", func() error {
		if c, e := t.a.Hooks.Around(ctx, run, s); c != nil && e != nil {
			inner, end = c, func(failure string) { _ = recoverPanic("a hook", func() error { e(failure); return nil }) }
		}
		return nil
	})
	return inner, end
}
