package gateway

import (
	"context"
	"errors"
	"iter"

	"firn"
	"firn/store"
	"firn/wire"
)

// Events yields what happens in a session: first what is in the log after a
// position, then what comes, in the log and beside it. It ends when ctx does,
// or with an event that says why: [wire.Gap] if the listener was too slow, and
// must ask again from the position of the last entry it saw, or from the start if
// all positions have changed; [wire.Bye] if the gateway goes away.
func (g *Gateway) Events(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		listener := g.events.listen(id)
		defer g.events.leave(listener)
		ctx, cancel := context.WithCancel(ctx)
		logged := g.follow(ctx, id, after)
		defer func() {
			cancel()
			for range logged { // it ends, and nobody is left behind
			}
		}()
		for {
			select {
			case f, ok := <-logged:
				var moved *store.Moved
				if errors.As(f.err, &moved) {
					g.Moved(id)
					yield(event(wire.Gap, id, wire.Missed{Anew: true}), nil)
					return
				}
				if !ok || !yield(f.event, f.err) || f.err != nil {
					return
				}
			case e := <-listener.events:
				if !yield(e, nil) {
					return
				}
			case <-listener.slow:
				yield(event(wire.Gap, id, nil), nil)
				return
			case <-listener.gone:
				yield(event(wire.Bye, id, nil), nil)
				return
			case <-ctx.Done():
				return
			}
		}
	}
}

// followed is an entry of the log as an event, or why there are no more.
type followed struct {
	event wire.Event
	err   error
}

// follow follows the log of a session until ctx ends.
func (g *Gateway) follow(ctx context.Context, id firn.ID, after firn.Pos) <-chan followed {
	out := make(chan followed)
	go func() {
		defer close(out)
		for rec, err := range g.Store.Follow(ctx, id, after) {
			f := followed{err: err}
			if err == nil {
				var told bool
				if f.event, told = g.entryEvent(id, &rec); !told {
					continue
				}
			}
			select {
			case out <- f:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

// entryEvent tells a record of the log as an event. Pieces of an answer that
// is being given are left out: they were told as they came.
func (g *Gateway) entryEvent(id firn.ID, rec *firn.Record) (wire.Event, bool) {
	if rec.Gap != nil {
		e := event(wire.EntryAppended, id, wire.Entry{At: rec.At, Next: rec.Next, Gap: rec.Gap.Error()})
		e.Pos = rec.Next
		return e, true
	}
	entry, err := rec.Entry()
	if err == nil {
		if c, ok := entry.Body.(*firn.Custom); ok && c.Type == "firn.draft" {
			return wire.Event{}, false
		}
	}
	name := wire.EntryAppended
	if rec.Glance.Kind == firn.KindHead {
		name = wire.HeadMoved
	}
	told := wire.Entry{At: rec.At, Next: rec.Next}
	if told.Line, err = g.line(rec); err != nil {
		told.Gap = err.Error()
	}
	e := event(name, id, told)
	e.Pos = rec.Next
	return e, true
}

// Moved forgets what was noted of places in a session that is kept elsewhere
// now, where all places are others.
func (g *Gateway) Moved(id firn.ID) {
	g.numbers.forget(id)
	g.courses.forget(id)
}

// AllEvents yields what happens beside the log in all sessions, as it happens.
func (g *Gateway) AllEvents(ctx context.Context) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		listener := g.events.listen("")
		defer g.events.leave(listener)
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
