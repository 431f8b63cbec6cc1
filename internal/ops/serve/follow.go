package serve

import (
	"context"
	"sync"
	"time"
)

// followEvery is the interval between checks for changes by other gateways. Every search
// also checks for them.
const followEvery = 5 * time.Second

// startFollowing updates the full-text index with changes by other gateways until stop is
// called. Lists are always current.
func (h *Instance) startFollowing(ctx context.Context) (stop func()) {
	if h.cluster == nil || h.searchIndex == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		tick := time.NewTicker(followEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				h.searchIndex.words.Update(ctx)
			}
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}
