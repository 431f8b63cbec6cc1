package agent

import (
	"context"
	"sync"

	"firn.dev"
)

// lanes let the turns of a session wait for one another, so that each gets the
// answer to what it asked. The zero value is ready.
type lanes struct {
	mu    sync.Mutex
	lanes map[firn.ID]*lane
	Waits
}

// lane is where the turns of one session run.
type lane struct {
	taken chan struct{}
	// users are the turn that runs and those that wait.
	users int
}

// enter waits until no other turn is in the lane of a session. Who entered
// must leave.
func (l *lanes) enter(ctx context.Context, id firn.ID) (leave func(), err error) {
	in := l.use(id)
	select {
	case in.taken <- struct{}{}:
		leave = func() { <-in.taken; l.release(id, in) }
	case <-ctx.Done():
		leave = func() { l.release(id, in) }
	}
	if ctx.Err() != nil { // also if both were so at the same time
		leave()
		return nil, context.Cause(ctx)
	}
	return leave, nil
}

// use counts a user of a lane, which is there as long as it has any.
func (l *lanes) use(id firn.ID) *lane {
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
