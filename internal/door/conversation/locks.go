package conversation

import (
	"context"
	"sync"

	"firn.dev"
)

// sessionLocks serializes requests that append to the same session: the turn of one message
// must have started before the next message moves the head.
type sessionLocks struct {
	mu   sync.Mutex
	held map[firn.ID]*sessionLock
}

// sessionLock is the lock of one session.
type sessionLock struct {
	// free holds a token while the lock is free.
	free chan struct{}
	// at is the number of holders and waiters.
	at int
}

// take locks a session and returns a function to unlock it. Calling that function more than
// once has no effect.
func (h *sessionLocks) take(ctx context.Context, id firn.ID) (release func(), err error) {
	h.mu.Lock()
	if h.held == nil {
		h.held = make(map[firn.ID]*sessionLock)
	}
	one, ok := h.held[id]
	if !ok {
		one = &sessionLock{free: make(chan struct{}, 1)}
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
