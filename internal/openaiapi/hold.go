package openaiapi

import (
	"context"
	"sync"

	"firn"
)

// holds let one request at a time put something into a session: who appends a
// question must have begun its turn before the next one moves the head.
type holds struct {
	mu   sync.Mutex
	held map[firn.ID]*hold
}

// hold is a session that somebody holds.
type hold struct {
	// free has a token in it while nobody holds the session.
	free chan struct{}
	// at is how many hold it or wait for it.
	at int
}

// take waits until nobody else holds a session, and returns how to let go. To
// let go twice is to let go once.
func (h *holds) take(ctx context.Context, id firn.ID) (release func(), err error) {
	h.mu.Lock()
	if h.held == nil {
		h.held = make(map[firn.ID]*hold)
	}
	one, ok := h.held[id]
	if !ok {
		one = &hold{free: make(chan struct{}, 1)}
		one.free <- struct{}{}
		h.held[id] = one
	}
	one.at++
	h.mu.Unlock()
	leave := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if one.at--; one.at == 0 {
			delete(h.held, id)
		}
	}
	select {
	case <-one.free:
		return sync.OnceFunc(func() {
			one.free <- struct{}{}
			leave()
		}), nil
	case <-ctx.Done():
		leave()
		return func() {}, context.Cause(ctx)
	}
}
