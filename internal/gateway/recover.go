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

// recent is how far back a gateway looks for unanswered messages of its predecessor. It
// reads at least leastLooked sessions, since session times come from a clock that may have
// jumped.
const (
	recent      = 24 * time.Hour
	leastLooked = 1000
)

// recoveryScan tracks the search for messages that the previous gateway did not answer. The
// search runs in the background, since there may be many sessions. A session that receives
// a message is scanned first, so that older messages are answered first. The zero value
// scans nothing.
type recoveryScan struct {
	mu sync.Mutex
	// scans has one Once per session; nil when no search is running.
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

// once returns the Once of a session; nil if no search is running.
func (a *recoveryScan) once(id firn.ID) *sync.Once {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.scans != nil && a.scans[id] == nil {
		a.scans[id] = new(sync.Once)
	}
	return a.scans[id]
}

// StartRecovery starts [Gateway.Recover] in the background. New messages of a session are queued
// after its unanswered ones.
func (g *lanes) StartRecovery() {
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
			g.Log.Error("finding unanswered messages failed", "error", err)
		case n > 0:
			g.Log.Info("continuing unanswered messages", "sessions", n)
		}
	}()
}

// Recover continues the messages that a killed gateway had accepted and not answered:
// queued messages and interrupted turns. Turns that failed or were stopped are not retried,
// and no message is added. It returns the number of sessions that are continued.
func (g *lanes) Recover(ctx context.Context) (int, error) {
	g.recovery.start()
	defer g.recovery.stop()
	n, looked, since := 0, 0, time.Time{}
	for info, err := range g.List(ctx, store.Query{}) {
		if err != nil {
			return n, fmt.Errorf("find unanswered messages: %w", err)
		}
		if looked++; looked == 1 {
			since = earliest(info.Updated, g.now()).Add(-recent)
		}
		if looked > leastLooked && info.Updated.Before(since) {
			break // the list is newest first
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

// earliest returns the earlier of two times.
func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// recoverSession queues the unanswered messages of a session and reports whether there were
// any. It does so once per search.
func (g *lanes) recoverSession(ctx context.Context, id firn.ID) (owes bool, err error) {
	look := g.recovery.once(id)
	if look == nil || g.Peers != nil { // with peers the owner does it, see [Gateway.Inherit]
		return false, nil
	}
	look.Do(func() {
		owed, failed := g.pendingTickets(context.WithoutCancel(ctx), id) // the scan serves other callers too
		if failed != nil {
			if !errors.Is(failed, firn.ErrNotFound) {
				g.Log.Warn("cannot read session", "session", id, "error", failed)
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

// pendingTickets returns tickets for the unanswered messages of a session.
func (g *lanes) pendingTickets(ctx context.Context, id firn.ID) ([]*ticket, error) {
	path, err := window.Collect(g.Store.ReadBack(ctx, id, store.End))
	if err != nil {
		return nil, err
	}
	asked := path
	if onlySummary(path) { // the question is before the summary
		if asked, err = window.CollectFrom(g.Store.ReadBack(ctx, id, store.End), path.Compaction.Parent); err != nil {
			return nil, err
		}
	}
	var tickets []*ticket
	if lastAccepted(asked) && agent.Unfinished(asked) && !g.setup.Load().needsClientTools(asked) {
		t := newTicket(waiting{ID: firn.NewEntryID(), Asker: lastAsker(asked), From: originIn(asked), Agent: askedAgent(asked)})
		t.apply(eventResume, eventAccept)
		tickets = append(tickets, t)
	}
	for _, w := range queuedIn(path) {
		t := newTicket(w)
		t.apply(eventRecover, eventAccept)
		tickets = append(tickets, t)
	}
	return tickets, nil
}

// lastAsker returns the asker of the last accepted message of a path; the zero value if it
// is not recorded.
func lastAsker(p window.Path) Asker {
	if e, ok := lastMessage(p); ok {
		a, _ := askerIn(e)
		return a
	}
	return Asker{}
}

// lastMessage returns the last user or machine message of a path.
func lastMessage(p window.Path) (firn.Entry, bool) {
	for _, e := range slices.Backward(p.Entries) {
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleUser || byMachine(e) {
			return e, true
		}
	}
	return firn.Entry{}, false
}

// onlySummary reports whether a path is a summary without later messages or head moves.
func onlySummary(p window.Path) bool {
	return p.Compaction != nil && p.Compaction.Parent != "" && !slices.ContainsFunc(p.Entries, func(e firn.Entry) bool {
		switch e.Body.Kind() {
		case firn.KindMessage, firn.KindCustomMessage, firn.KindHead, firn.KindBranchSummary:
			return true
		}
		return false
	})
}

// lastAccepted reports whether the last user or machine message was accepted by a gateway.
// Moving the head onto a message does not request an answer.
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
