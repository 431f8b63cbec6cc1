package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/store"
)

// ErrStopped is why a turn ends that somebody stopped, ErrInterrupted why one does that
// gives way to a newer message; it is an ErrStopped too.
var (
	ErrStopped     = errors.New("stopped")
	ErrInterrupted = fmt.Errorf("%w by a newer message", ErrStopped)
)

// Stop stops the turn of a session and clears its queue: those who wait in it
// are told that it was stopped, and the log says that they wait no more. It
// reports whether there was anything to stop.
func (g *Gateway) Stop(ctx context.Context, id firn.ID) (bool, error) {
	l := g.laneOf(id)
	if l == nil {
		return false, nil
	}
	stopped := l.halt()
	l.writing.Lock()
	defer l.writing.Unlock()
	more, queue, dropped, ids := l.empty()
	if stopped = stopped || more; len(ids) > 0 {
		entry := firn.NewEntry(&firn.Custom{Type: unqueuedType, Data: spell(map[string]any{"ids": ids})})
		if _, err := g.Store.Append(ctx, id, store.Any, entry); err != nil {
			l.refill(queue, dropped)
			return stopped, err
		}
	}
	for _, t := range queue {
		t.end(ErrStopped)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.summarize = l.summarize && len(l.dropped) > 0
	return stopped, nil
}

// halt stops the turn that is running, at once, and reports whether there was anything
// to stop.
func (l *lane) halt() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop != nil {
		l.stop(ErrStopped)
	}
	return l.occupied()
}

// occupied reports whether something waits or is being answered for somebody. The caller
// holds the lane's lock.
func (l *lane) occupied() bool {
	return len(l.queue) > 0 || slices.ContainsFunc(l.running, func(t *ticket) bool { return !ours(t) })
}

// empty takes out what waits and what was left out, and returns the ids that the log has
// of it.
func (l *lane) empty() (stopped bool, queue []*ticket, dropped []waiting, ids []firn.EntryID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stopped, ids = l.occupied(), l.unsaidHere()
	queue, dropped = l.queue, l.dropped
	l.queue, l.dropped = nil, nil
	return stopped, queue, dropped, ids
}

// refill puts back what was taken out, before what came since.
func (l *lane) refill(queue []*ticket, dropped []waiting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue, l.dropped = slices.Concat(queue, l.queue), slices.Concat(dropped, l.dropped)
}

// unsaidHere are the ids of what waits in the lane, was left out there, or is about
// to be said. The caller holds its lock.
func (l *lane) unsaidHere() (ids []firn.EntryID) {
	for _, t := range slices.Concat(l.running, l.queue) {
		if !t.onward && (t.waited || t.owed) && !begun(t) {
			ids = append(ids, t.ID)
		}
	}
	left := l.dropped
	if !slices.ContainsFunc(l.running, begun) { // else the log names them
		left = slices.Concat(l.named, left)
	}
	for _, w := range left {
		ids = append(ids, w.ID)
	}
	return ids
}
