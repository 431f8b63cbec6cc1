package agent

import (
	"context"
	"slices"
	"sync"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/window"
)

// turnBounds holds the bounds of a running turn. They can only become narrower.
type turnBounds struct {
	mu     sync.Mutex
	bounds route.Bounds
}

func (r *turnBounds) current() route.Bounds {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bounds
}

// narrow narrows the bounds and reports whether they changed.
func (r *turnBounds) narrow(to route.Bounds) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.bounds
	r.bounds = before.And(to)
	return !r.bounds.Equal(before)
}

type boundsKey struct{}

// withTurnBounds returns a context with the bounds of a turn. The bounds of a nested turn
// never exceed those of its parent.
func withTurnBounds(ctx context.Context, bounds route.Bounds) (context.Context, *turnBounds) {
	r := &turnBounds{bounds: bounds}
	if parent, ok := ctx.Value(boundsKey{}).(*turnBounds); ok {
		r.narrow(parent.current())
	}
	return context.WithValue(ctx, boundsKey{}, r), r
}

// WithBounds returns a context with bounds for tools that are called without a turn. Within
// a turn, the bounds of the turn still apply.
func WithBounds(ctx context.Context, bounds route.Bounds) context.Context {
	ctx, _ = withTurnBounds(ctx, bounds)
	return ctx
}

// BoundsOf returns the bounds of the turn that ctx belongs to: the sessions and notes,
// other than its own session, that its tools may access. Without a turn the bounds admit
// nothing.
func BoundsOf(ctx context.Context) route.Bounds {
	if r, ok := ctx.Value(boundsKey{}).(*turnBounds); ok {
		return r.current()
	}
	return route.Bounds{}
}

// narrow narrows the bounds to those of the author of an entry that the turn answers. The
// turn may access only what all the users it answers may access.
func (t *turn) narrow(e firn.Entry) {
	if t.in.Narrow != nil && t.bounds != nil && t.bounds.narrow(t.in.Narrow(t.ctx, e)) {
		t.narrowed = true
	}
}

// reinjectIfNarrowed runs the injecting hooks again if the bounds have been narrowed since:
// the earlier injections may contain data that the new readers may not see.
func (t *turn) reinjectIfNarrowed() error {
	if !t.narrowed {
		return nil
	}
	return t.inject()
}

// narrowToUnanswered narrows the bounds to the authors of the unanswered messages at the
// end of the path, since the model is going to answer those as well.
func (t *turn) narrowToUnanswered() {
	for _, e := range unansweredEntries(t.path) {
		t.narrow(e)
	}
}

// unansweredEntries returns the entries after the last complete answer of a path.
func unansweredEntries(p window.Path) []firn.Entry {
	for i, e := range slices.Backward(p.Entries) {
		if m, ok := messageWithRole(e, firn.RoleAssistant); ok && isFinal(m) && !missedInput(p.Entries[:i], e) {
			return p.Entries[i+1:]
		}
	}
	return p.Entries
}
