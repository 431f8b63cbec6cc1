package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/wire"
)

// ErrStopped is the cause of a turn that was stopped by a user. ErrInterrupted is the cause
// of a turn that was interrupted by a newer message; it wraps ErrStopped.
var (
	ErrStopped     = errors.New("stopped")
	ErrInterrupted = fmt.Errorf("%w by a newer message", ErrStopped)
)

// Stop is [lanes.StopAll] without the removed messages.
func (g *lanes) Stop(ctx context.Context, id firn.ID) (bool, error) {
	stopped, err := g.StopAll(ctx, id)
	return stopped.Stopped, err
}

// StopAll cancels the running turn of a session and clears its queue. Callers that wait for
// a queued message get ErrStopped, and the log records that the messages are no longer
// queued. It reports whether there was anything to stop, and returns the messages that it
// removed, so that they can be sent again.
func (g *lanes) StopAll(ctx context.Context, id firn.ID) (wire.Stopped, error) {
	l := g.laneOf(id)
	if l == nil {
		return wire.Stopped{}, nil
	}
	stopped := wire.Stopped{Stopped: l.cancelTurn()}
	l.writing.Lock()
	defer l.writing.Unlock()
	more, queue, dropped, ids := l.takeQueue()
	for _, t := range slices.Concat(l.steering(), queue) {
		if t.state().inQueue() {
			stopped.Removed = append(stopped.Removed, t.unqueued())
		}
	}
	if stopped.Stopped = stopped.Stopped || more; len(ids) > 0 {
		entry := firn.NewEntry(&firn.Custom{Type: unqueuedType, Data: toJSON(map[string]any{"ids": ids})})
		if _, err := g.Store.Append(ctx, id, store.Any, entry); err != nil {
			l.restoreQueue(queue, dropped)
			return stopped, err
		}
	}
	for _, t := range queue {
		t.finish(ErrStopped)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.summarize = l.summarize && len(l.dropped) > 0
	return stopped, nil
}

// cancelTurn cancels the running turn and reports whether there was anything to stop.
func (l *lane) cancelTurn() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop != nil {
		l.stop(ErrStopped)
	}
	return l.hasWork()
}

// hasWork reports whether messages are queued or being answered. The caller holds mu.
func (l *lane) hasWork() bool {
	return len(l.queue) > 0 || slices.ContainsFunc(l.running, unanswered)
}

// takeQueue removes the queued and the dropped messages and returns the IDs that are in the
// log.
func (l *lane) takeQueue() (stopped bool, queue []*ticket, dropped []waiting, ids []firn.EntryID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stopped, ids = l.hasWork(), l.pendingIDs()
	queue, dropped = l.queue, l.dropped
	l.queue, l.dropped = nil, nil
	return stopped, queue, dropped, ids
}

// restoreQueue puts the removed messages back, before those that arrived since.
func (l *lane) restoreQueue(queue []*ticket, dropped []waiting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue, l.dropped = slices.Concat(queue, l.queue), slices.Concat(dropped, l.dropped)
}

// steering returns the messages for the running turn that it has not taken yet.
func (l *lane) steering() (all []*ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.running {
		if !turnStarted(t) {
			all = append(all, t)
		}
	}
	return all
}

// pendingIDs returns the IDs of messages that are queued, were dropped, or are about to be
// delivered. The caller holds mu.
func (l *lane) pendingIDs() (ids []firn.EntryID) {
	for _, t := range slices.Concat(l.running, l.queue) {
		if t.state().inQueue() && !turnStarted(t) {
			ids = append(ids, t.ID)
		}
	}
	left := l.dropped
	if !slices.ContainsFunc(l.running, turnStarted) { // otherwise the log names them
		left = slices.Concat(l.reported, left)
	}
	for _, w := range left {
		ids = append(ids, w.ID)
	}
	return ids
}
