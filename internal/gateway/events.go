package gateway

import (
	"context"
	"fmt"
	"iter"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/wire"
)

// Events yields what happens in a session: first what is in the log after a
// position, then what comes, in the log and beside it. Who comes while a turn runs
// is told behind the log that it began, and what was said in it so far. What
// follows from an entry is told behind it. It ends when ctx does, or with an
// event that says why: [wire.Gap] if the listener was too slow, and must ask again
// from the position of the last entry it saw, or from the start if all positions
// have changed; [wire.Bye] if the gateway goes away.
func (g *Gateway) Events(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[wire.Event, error] {
	return g.narrate(ctx, id, after, false)
}

// PageEvents is Events for a page: entries come as cards, and an answer that is
// being given as HTML that grows.
func (g *Gateway) PageEvents(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[wire.Event, error] {
	return g.narrate(ctx, id, after, true)
}

// CheckPosition refuses a position that is not the place behind an entry of a session:
// one beyond its end, or in the middle of an entry. It reads only what is around the
// position. What cannot be read is for who reads the session to report.
func (g *Gateway) CheckPosition(ctx context.Context, id firn.ID, pos firn.Pos) error {
	if pos == store.Start {
		return nil
	}
	end := store.Start
	for rec, err := range g.Store.ReadBack(ctx, id, store.End) {
		if err != nil {
			return nil
		}
		end = rec.Next
		break
	}
	if pos >= end {
		if pos == end {
			return nil
		}
		return noPosition(id, pos, fmt.Sprintf("it is beyond the end, %d", end))
	}
	for before, err := range g.Store.ReadBack(ctx, id, pos) {
		if err != nil {
			return nil
		}
		for rec, err := range g.Store.Read(ctx, id, before.At) {
			if err != nil || rec.Next >= pos {
				if err == nil && rec.At < pos && pos < rec.Next {
					return noPosition(id, pos, "it is in the middle of an entry")
				}
				return nil
			}
		}
		return nil
	}
	return nil
}

func noPosition(id firn.ID, pos firn.Pos, why string) error {
	return &wire.Problem{
		Kind: wire.Invalid, Message: fmt.Sprintf("%d is no position of session %s: %s", pos, id, why),
		Hint: "positions are the ids of events; without one the events begin at the start",
	}
}

// followed is an entry of the log as an event, or why there are no more.
type followed struct {
	event wire.Event
	// entry is its name, pos the place behind it; quiet says that it is not told.
	entry firn.EntryID
	pos   firn.Pos
	quiet bool
	err   error
}

// entryEvent tells a record of the log as an event. Pieces of an answer that
// is being given are left out: they were told as they came.
func (g *Gateway) entryEvent(ctx context.Context, id firn.ID, rec *firn.Record, html bool) (wire.Event, bool) {
	if rec.Gap != nil {
		e := event(wire.EntryAppended, id, g.Told(ctx, id, rec, html))
		e.Pos = rec.Next
		return e, true
	}
	entry, err := rec.Entry()
	if err == nil {
		if c, ok := entry.Body.(*firn.Custom); ok && c.Type == firn.DraftType {
			return wire.Event{}, false
		}
	}
	name := wire.EntryAppended
	if rec.Glance.Kind == firn.KindHead {
		name = wire.HeadMoved
	}
	e := event(name, id, g.Told(ctx, id, rec, html))
	e.Pos = rec.Next
	return e, true
}

// AllEvents yields what happens beside the log in all sessions, as it happens. Who
// comes while turns run is told first that they began, and what was said in them
// so far.
func (g *Gateway) AllEvents(ctx context.Context) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		listener, running := g.events.listenToAll()
		defer g.events.leave(listener)
		for _, now := range running {
			if !yield(now.started, nil) || now.said() && !yield(event(wire.TurnPartial, now.started.Session, now.Partial), nil) {
				return
			}
		}
		for {
			select {
			case e := <-listener.events:
				if !yield(e, nil) {
					return
				}
			case <-listener.slow:
				yield(event(wire.Gap, "", nil), nil)
				return
			case <-listener.gone:
				yield(event(wire.Bye, "", nil), nil)
				return
			case <-ctx.Done():
				return
			}
		}
	}
}
