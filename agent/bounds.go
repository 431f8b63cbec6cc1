package agent

import (
	"context"
	"slices"
	"sync"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/window"
)

// reach holds the bounds of a turn while it runs. They only ever become narrower.
type reach struct {
	mu     sync.Mutex
	bounds route.Bounds
}

func (r *reach) now() route.Bounds {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bounds
}

// narrow narrows the bounds, and reports whether they were wider before.
func (r *reach) narrow(to route.Bounds) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.bounds
	r.bounds = before.And(to)
	return !r.bounds.Equal(before)
}

type reachKey struct{}

// withReach puts the bounds of a turn into its context. A turn that another turn
// began has at most the bounds of that one.
func withReach(ctx context.Context, bounds route.Bounds) (context.Context, *reach) {
	r := &reach{bounds: bounds}
	if parent, ok := ctx.Value(reachKey{}).(*reach); ok {
		r.narrow(parent.now())
	}
	return context.WithValue(ctx, reachKey{}, r), r
}

// WithBounds puts bounds into the context of tools that are called without a turn. The
// context of a turn keeps its own, and has at most these.
func WithBounds(ctx context.Context, bounds route.Bounds) context.Context {
	ctx, _ = withReach(ctx, bounds)
	return ctx
}

// BoundsOf returns what the turn that a context belongs to may see and change
// besides its own session: for tools that look at other sessions, or at notes. A
// context of no turn admits nothing.
func BoundsOf(ctx context.Context) route.Bounds {
	if r, ok := ctx.Value(reachKey{}).(*reach); ok {
		return r.now()
	}
	return route.Bounds{}
}

// narrow takes in who said an entry that the turn answers: the turn may see only what
// all may see whom it answers.
func (t *turn) narrow(e firn.Entry) {
	if t.in.Narrow != nil && t.reach != nil && t.reach.narrow(t.in.Narrow(t.ctx, e)) {
		t.narrowed = true
	}
}

// injectWithin injects anew what hooks have to say, if the bounds became narrower since
// they said it: it is not in the log, and not for whom the turn answers now.
func (t *turn) injectWithin() error {
	if !t.narrowed {
		return nil
	}
	return t.inject()
}

// narrowToOpen takes in who said what stands unanswered at the end of the path, behind
// the last whole answer: the model is going to answer that as well.
func (t *turn) narrowToOpen() {
	for _, e := range open(t.path) {
		t.narrow(e)
	}
}

// open returns the entries behind the last whole answer of a path.
func open(p window.Path) []firn.Entry {
	for i, e := range slices.Backward(p.Entries) {
		if m, ok := saidBy(e, firn.RoleAssistant); ok && final(m) && !overheard(p.Entries[:i], e) {
			return p.Entries[i+1:]
		}
	}
	return p.Entries
}
