package agent

import "context"

// Step is a part of a turn that takes time, as [Hooks.Around] is told of it.
type Step struct {
	Kind StepKind
	// Name is that of the tool, or why a compaction is made; Call is the id of
	// the call of a tool.
	Name, Call string
}

// StepKind says what is done in a step.
type StepKind string

// The kinds of steps.
const (
	StepTool       StepKind = "tool"
	StepCompaction StepKind = "compaction"
)

// around tells the hook that a step begins, and returns the context for it and
// what to call at its end, with how it failed in a word, or nothing.
func (t *turn) around(ctx context.Context, run Run, s Step) (context.Context, func(failure string)) {
	inner, end := ctx, func(string) {}
	if t.a.Hooks.Around == nil {
		return inner, end
	}
	// One that breaks down has not seen the step; the step is done all the same.
	_ = guarded("a hook", func() error {
		if c, e := t.a.Hooks.Around(ctx, run, s); c != nil && e != nil {
			inner, end = c, func(failure string) { _ = guarded("a hook", func() error { e(failure); return nil }) }
		}
		return nil
	})
	return inner, end
}
