package agent

import (
	"context"
	"sync"

	"firn.dev"
)

// lanes serializes the turns of each session. The zero value is ready to use.
type lanes struct {
	mu    sync.Mutex
	lanes map[firn.ID]*lane
	WaitGraph
}

// lane is the queue of one session.
type lane struct {
	taken chan struct{}
	// users is the number of running and waiting turns.
	users int
}

// enter waits until no other turn of the session is running. The caller must call leave.
func (l *lanes) enter(ctx context.Context, id firn.ID) (leave func(), err error) {
	in := l.acquire(id)
	select {
	case in.taken <- struct{}{}:
		leave = func() { <-in.taken; l.release(id, in) }
	case <-ctx.Done():
		leave = func() { l.release(id, in) }
	}
	if ctx.Err() != nil { // also if both became ready at the same time
		leave()
		return nil, context.Cause(ctx)
	}
	return leave, nil
}

// acquire returns the lane of a session and counts a user. A lane exists as long as it has
// users.
func (l *lanes) acquire(id firn.ID) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.lanes[id]
	if in == nil {
		if l.lanes == nil {
			l.lanes = make(map[firn.ID]*lane)
		}
		in = &lane{taken: make(chan struct{}, 1)}
		l.lanes[id] = in
	}
	in.users++
	return in
}

func (l *lanes) release(id firn.ID, in *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if in.users--; in.users == 0 {
		delete(l.lanes, id)
	}
}
