package witness

import (
	"context"
	"errors"
	"sync"
)

// together collects what witnesses do after the purges of one context.
type together struct {
	mu    sync.Mutex
	later []func() error
}

type togetherKey struct{}

// Together returns a context for purging several sessions. Witnesses may do what takes long
// once, when finish is called, instead of after each purge. finish must be called, also
// after an error.
func Together(ctx context.Context) (many context.Context, finish func() error) {
	t := &together{}
	return context.WithValue(ctx, togetherKey{}, t), t.finish
}

// Later postpones do until the purges of the context are finished. It returns false if the
// context is not from [Together].
func Later(ctx context.Context, do func() error) bool {
	t, ok := ctx.Value(togetherKey{}).(*together)
	if !ok {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.later = append(t.later, do)
	return true
}

// finish runs what was postponed, all at the same time, so that waiting for the same work
// takes the time of one.
func (t *together) finish() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	errs := make([]error, len(t.later))
	var running sync.WaitGroup
	for i, do := range t.later {
		running.Go(func() { errs[i] = do() })
	}
	running.Wait()
	t.later = nil
	return errors.Join(errs...)
}
