package gateway

import (
	"context"
	"fmt"
	"slices"
	"time"

	"firn"
	"firn/agent"
	"firn/store"
	"firn/window"
)

// recent is how far back a gateway looks for what the one before it owes.
const recent = 24 * time.Hour

// Recover goes on with what a gateway before this one had accepted and not
// answered, because it was killed: messages that waited, and turns that broke
// off. A turn that failed or was stopped is not tried again, and nothing is
// said that nobody said. It returns how many sessions it goes on with.
func (g *Gateway) Recover(ctx context.Context) (int, error) {
	n := 0
	for info, err := range g.List(ctx, store.Query{}) {
		if err != nil {
			return n, fmt.Errorf("look for messages that were not answered: %w", err)
		}
		if g.now().Sub(info.Updated) > recent {
			break // the latest come first
		}
		owed, err := g.owed(ctx, info.ID)
		if err != nil {
			g.Log.Warn("a session cannot be read", "session", info.ID, "error", err)
			continue // one bad session does not stop the others
		}
		for _, t := range owed {
			if err := g.enter(ctx, info.ID, t); err != nil {
				return n, err
			}
		}
		n += min(len(owed), 1)
	}
	return n, nil
}

// owed are the tickets of what a session still has to be answered.
func (g *Gateway) owed(ctx context.Context, id firn.ID) ([]*ticket, error) {
	path, err := window.Collect(g.Store.ReadBack(ctx, id, store.End))
	if err != nil {
		return nil, err
	}
	var tickets []*ticket
	if accepted(path) && agent.Unfinished(path) {
		t := newTicket(waiting{ID: firn.NewEntryID()})
		t.onward = true
		t.accept()
		tickets = append(tickets, t)
	}
	for _, w := range left(path) {
		t := newTicket(w)
		t.accept()
		tickets = append(tickets, t)
	}
	return tickets, nil
}

// accepted reports whether the last message of the user, or of a machine, is
// one that a gateway accepted. Who moves the head onto a message asks for
// nothing yet.
func accepted(p window.Path) bool {
	for _, e := range slices.Backward(p.Entries) {
		if e.Body.Kind() == firn.KindHead {
			return false
		}
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleUser || byMachine(e) {
			return string(e.Extra.Get(acceptedField)) == "true"
		}
	}
	return false
}
