package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// recent is how far back a gateway looks for what the one before it owes. That many
// sessions it looks at in any case: the times that sessions tell are those of a clock,
// which may have jumped.
const (
	recent      = 24 * time.Hour
	leastLooked = 1000
)

// arrears is what the gateway before this one may not have answered. It is
// looked for beside everything else, since there may be many sessions; but one
// that somebody talks in is looked at before that, so that what was said first
// is answered first. The zero value has nothing to look for.
type recoveryScan struct {
	mu sync.Mutex
	// looks are those at sessions, one each; nil when there is nothing to look for.
	scans map[firn.ID]*sync.Once
}

func (a *recoveryScan) start() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.scans == nil {
		a.scans = make(map[firn.ID]*sync.Once)
	}
}

func (a *recoveryScan) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scans = nil
}

// look is the one look at a session; nil if nothing is looked for.
func (a *recoveryScan) once(id firn.ID) *sync.Once {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.scans != nil && a.scans[id] == nil {
		a.scans[id] = new(sync.Once)
	}
	return a.scans[id]
}

// GoOn begins to go on with what a gateway before this one had accepted and not
// answered, beside everything else: see [Gateway.Recover]. Whoever talks in a
// session is behind what is owed there.
func (g *Gateway) GoOn() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.recovery.start()
	g.work.Add(1)
	go func() {
		defer g.work.Done()
		n, err := g.Recover(g.ctx)
		switch {
		case err != nil && wire.KindOf(err) != wire.Closing && g.ctx.Err() == nil:
			g.Log.Error("what was not answered cannot be looked for", "error", err)
		case n > 0:
			g.Log.Info("goes on with what was not answered", "sessions", n)
		}
	}()
}

// Recover goes on with what a gateway before this one had accepted and not
// answered, because it was killed: messages that waited, and turns that broke
// off. A turn that failed or was stopped is not tried again, and nothing is
// said that nobody said. It returns how many sessions it goes on with.
func (g *Gateway) Recover(ctx context.Context) (int, error) {
	g.recovery.start()
	defer g.recovery.stop()
	n, looked, since := 0, 0, time.Time{}
	for info, err := range g.List(ctx, store.Query{}) {
		if err != nil {
			return n, fmt.Errorf("look for messages that were not answered: %w", err)
		}
		if looked++; looked == 1 {
			since = earliest(info.Updated, g.now()).Add(-recent)
		}
		if looked > leastLooked && info.Updated.Before(since) {
			break // the latest come first
		}
		if g.Peers != nil {
			owes, err := g.recoverOwned(ctx, info.ID)
			if err != nil {
				return n, err
			}
			if owes {
				n++
			}
			continue
		}
		owes, err := g.recoverSession(ctx, info.ID)
		if err != nil {
			return n, err
		}
		if owes {
			n++
		}
	}
	return n, nil
}

// before is the earlier of two times.
func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// repay sees that what is owed in a session is on its way, and reports whether
// there was anything. It is done once, while arrears are looked for.
func (g *Gateway) recoverSession(ctx context.Context, id firn.ID) (owes bool, err error) {
	look := g.recovery.once(id)
	if look == nil || g.Peers != nil { // then who gets a session looks, see [Gateway.Inherit]
		return false, nil
	}
	look.Do(func() {
		owed, failed := g.pendingTickets(context.WithoutCancel(ctx), id) // it is looked at for all
		if failed != nil {
			if !errors.Is(failed, firn.ErrNotFound) {
				g.Log.Warn("a session cannot be read", "session", id, "error", failed)
			}
			return // one bad session does not stop the others
		}
		for _, t := range owed {
			if err = g.queue(context.WithoutCancel(ctx), id, t); err != nil {
				return
			}
			g.deliverReply(id, t)
		}
		owes = len(owed) > 0
	})
	return owes, err
}

// owed are the tickets of what a session still has to be answered.
func (g *Gateway) pendingTickets(ctx context.Context, id firn.ID) ([]*ticket, error) {
	path, err := window.Collect(g.Store.ReadBack(ctx, id, store.End))
	if err != nil {
		return nil, err
	}
	asked := path
	if onlySummary(path) { // of what was asked nothing is kept: it stands before the summary
		if asked, err = window.CollectFrom(g.Store.ReadBack(ctx, id, store.End), path.Compaction.Parent); err != nil {
			return nil, err
		}
	}
	var tickets []*ticket
	if lastAccepted(asked) && agent.Unfinished(asked) {
		t := newTicket(waiting{ID: firn.NewEntryID(), Asker: lastAsker(asked), From: originIn(asked), Agent: askedAgent(asked)})
		t.resume = true
		t.accept()
		tickets = append(tickets, t)
	}
	for _, w := range queuedIn(path) {
		t := newTicket(w)
		t.recovered = true
		t.accept()
		tickets = append(tickets, t)
	}
	return tickets, nil
}

// lastAsker is who said the last message of a path that a gateway accepted; nobody if
// it does not tell.
func lastAsker(p window.Path) Asker {
	for _, e := range slices.Backward(p.Entries) {
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleUser || byMachine(e) {
			a, _ := askerIn(e)
			return a
		}
	}
	return Asker{}
}

// summed reports whether a path is a summary, behind which nothing was said and nobody
// went elsewhere.
func onlySummary(p window.Path) bool {
	return p.Compaction != nil && p.Compaction.Parent != "" && !slices.ContainsFunc(p.Entries, func(e firn.Entry) bool {
		switch e.Body.Kind() {
		case firn.KindMessage, firn.KindCustomMessage, firn.KindHead, firn.KindBranchSummary:
			return true
		}
		return false
	})
}

// accepted reports whether the last message of the user, or of a machine, is
// one that a gateway accepted. Who moves the head onto a message asks for
// nothing yet.
func lastAccepted(p window.Path) bool {
	for _, e := range slices.Backward(p.Entries) {
		if kind := e.Body.Kind(); kind == firn.KindHead || kind == firn.KindBranchSummary {
			return false
		}
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleUser || byMachine(e) {
			return string(e.Extra.Get(acceptedField)) == "true"
		}
	}
	return false
}
