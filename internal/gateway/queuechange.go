package gateway

import (
	"context"
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/wire"
)

// ChangeQueue removes messages from the queue of a session and changes its order. The change
// is durable when it returns. Callers that wait for a removed message get ErrStopped. If a
// named message is not queued, for example because its turn has started, nothing changes.
func (g *lanes) ChangeQueue(ctx context.Context, id firn.ID, c wire.QueueChange) (wire.Queue, error) {
	if err := g.CheckExists(ctx, id); err != nil {
		return wire.Queue{}, err
	}
	l := g.laneOf(id)
	if l == nil {
		return wire.Queue{Items: []wire.Waiting{}}, checkQueued(id, nil, c)
	}
	l.writing.Lock() // the lane takes no message in the meantime
	defer l.writing.Unlock()
	queue := l.changeable()
	if err := checkQueued(id, queue, c); err != nil {
		return wire.Queue{}, err
	}
	kept, removed := planQueue(queue, c)
	entries, err := queueEntries(kept, removed, !slices.Equal(kept, keep(queue, kept)))
	if err != nil {
		return wire.Queue{}, err
	}
	if len(entries) > 0 {
		if _, err := g.Store.Append(ctx, id, store.Any, entries...); err != nil {
			return wire.Queue{}, err
		}
		l.arrange(kept, removed)
		g.events.publish(event(wire.SessionUpdated, id, nil))
	}
	out := wire.Queue{Items: append([]wire.Waiting{}, g.waitingIn(id)...)}
	for _, t := range removed {
		t.finish(ErrStopped)
		out.Removed = append(out.Removed, t.unqueued())
	}
	return out, nil
}

// unqueued returns the message of a ticket that was removed from the queue.
func (t *ticket) unqueued() wire.Unqueued {
	return wire.Unqueued{ID: t.ID, Text: t.Text, Images: t.Images, Sender: t.Sender}
}

// changeable returns the queued messages, the next one first. Tickets that resume a turn are
// not included.
func (l *lane) changeable() (all []*ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.queue {
		if t.state().inQueue() {
			all = append(all, t)
		}
	}
	return all
}

// checkQueued returns an error if a change names a message that is not queued.
func checkQueued(id firn.ID, queue []*ticket, c wire.QueueChange) error {
	for _, message := range slices.Concat(c.Order, c.Remove) {
		if !slices.ContainsFunc(queue, func(t *ticket) bool { return t.ID == message }) {
			return &wire.Problem{Kind: wire.Conflict, Message: fmt.Sprintf("message %s of session %s is not queued", firn.CutText(string(message), 100), id), Hint: "its turn may have started"}
		}
	}
	return nil
}

// planQueue returns the messages that stay, in their new order, and those that go. Messages
// that the order does not name come after the named ones.
func planQueue(queue []*ticket, c wire.QueueChange) (kept, removed []*ticket) {
	rest := slices.Clone(queue)
	take := func(id firn.EntryID) (*ticket, bool) {
		i := slices.IndexFunc(rest, func(t *ticket) bool { return t.ID == id })
		if i < 0 {
			return nil, false // named twice
		}
		t := rest[i]
		rest = slices.Delete(rest, i, i+1)
		return t, true
	}
	for _, id := range c.Remove {
		if t, ok := take(id); ok {
			removed = append(removed, t)
		}
	}
	for _, id := range c.Order {
		if t, ok := take(id); ok {
			kept = append(kept, t)
		}
	}
	return append(kept, rest...), removed
}

// keep returns the tickets that are in a set, in their order.
func keep(all, set []*ticket) []*ticket {
	return slices.DeleteFunc(slices.Clone(all), func(t *ticket) bool { return !slices.Contains(set, t) })
}

// queueEntries returns the entries that record a change. If the order changed, they remove
// all messages and queue those that stay again.
func queueEntries(kept, removed []*ticket, moved bool) (entries []firn.Entry, err error) {
	gone := removed
	if moved {
		gone = slices.Concat(removed, kept)
	}
	if len(gone) == 0 {
		return nil, nil
	}
	ids := make([]firn.EntryID, len(gone))
	for i, t := range gone {
		ids[i] = t.ID
	}
	entries = append(entries, firn.NewEntry(&firn.Custom{Type: unqueuedType, Data: toJSON(map[string]any{"ids": ids})}))
	if !moved {
		return entries, nil
	}
	for _, t := range kept {
		entry, err := t.entry()
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// arrange applies a change to the queue. Other tickets keep their places.
func (l *lane) arrange(kept, removed []*ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = slices.DeleteFunc(slices.Clone(l.queue), func(t *ticket) bool { return slices.Contains(removed, t) })
	next := 0
	for i, t := range l.queue {
		if slices.Contains(kept, t) {
			l.queue[i] = kept[next]
			next++
		}
	}
}
