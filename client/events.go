package client

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"

	"firn.dev"
	"firn.dev/wire"
)

// Events follows a session: first what is in its log after a position, then
// what comes, in the log and beside it, until ctx ends.
//
// It yields every event of the log once and in order, whatever becomes of the
// connection: when it breaks, or the gateway goes away, it is made again from
// the last position that was seen, for as long as that takes. What is not in the
// log (deltas and the like) may then be missing; an event [wire.Gap] says where.
// If its data, a [wire.Missed], says anew, all positions have changed, and the
// log is told again from the start.
//
// It yields an error, and ends, if the gateway cannot be reached at the
// beginning, or if it refuses: there is no such session, or the token is no
// good.
func (c *Client) Events(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[wire.Event, error] {
	return c.events(ctx, id, after, false)
}

func (c *Client) events(ctx context.Context, id firn.ID, after firn.Pos, html bool) iter.Seq2[wire.Event, error] {
	r := get(sessionPath(id, "events")...).with("as", as(html))
	return func(yield func(wire.Event, error) bool) {
		f := &follower{client: c, session: id, last: after}
		f.follow(ctx, func() request {
			return r.withHeader("Last-Event-ID", strconv.FormatUint(uint64(f.last), 10))
		}, yield)
	}
}

// AllEvents follows what happens in all sessions, beside their logs, from now
// on, until ctx ends. It makes the connection again as Events does; what
// happened in between is missing, and an event [wire.Gap] says so.
func (c *Client) AllEvents(ctx context.Context) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		f := &follower{client: c}
		f.follow(ctx, func() request { return get("v1", "events") }, yield)
	}
}

// follower follows events over any number of connections.
type follower struct {
	client  *Client
	session firn.ID // empty for all
	// last is the position of the last event of the log that was yielded, fault
	// that of the last fault that takes up no room.
	last, fault firn.Pos
	// opened: there was a connection. From then on it does not give up.
	opened bool
	// away: a gap was told, and nothing came since.
	away bool
	// failures counts the connections in a row that brought nothing.
	failures int
}

// follow yields events until ctx ends. ask makes the request that goes on from
// where the follower is.
func (f *follower) follow(ctx context.Context, ask func() request, yield func(wire.Event, error) bool) {
	for ctx.Err() == nil {
		again, err := f.connection(ctx, ask(), yield)
		if err != nil {
			yield(wire.Event{}, err)
		}
		if err != nil || !again || ctx.Err() != nil {
			return
		}
		if f.opened && !f.away {
			f.away = true
			// Who gathers deltas must know that some may be missing.
			if !yield(wire.Event{Name: wire.Gap, Session: f.session, Pos: f.last}, nil) {
				return
			}
		}
		if f.client.pauses.wait(ctx, f.failures) != nil {
			return
		}
		f.failures++
	}
}

// connection yields what one connection brings. It reports whether to make
// another.
func (f *follower) connection(ctx context.Context, r request, yield func(wire.Event, error) bool) (again bool, err error) {
	if err := r.check(); err != nil {
		return false, err
	}
	for e, err := range f.client.stream(ctx, r, nil, func() { f.opened = true }) {
		switch {
		case ctx.Err() != nil:
			return false, nil
		case err != nil:
			return f.again(err)
		case e.Name == wire.Gap && anew(e):
			f.last, f.fault, f.away = 0, 0, true
			return yield(e, nil), nil
		case e.Name == wire.Gap:
			return true, nil // we were too slow; the log is told again from where we are
		case e.Name == wire.Bye:
			return yield(e, nil), nil
		case f.seen(e):
			continue
		}
		f.away, f.failures = false, 0
		if !yield(e, nil) {
			return false, nil
		}
	}
	return true, nil
}

// anew reports whether a gap says that all positions have changed.
func anew(e wire.Event) bool {
	var missed wire.Missed
	return json.Unmarshal(e.Data, &missed) == nil && missed.Anew
}

// again decides about another connection after an error: it is made if the
// error passes, and for a beginner only a few times.
func (f *follower) again(err error) (bool, error) {
	if !worthRepeating(get(), err) {
		return false, err
	}
	if !f.opened && f.failures+1 >= get().tries {
		return false, err
	}
	return true, nil
}

// seen reports whether an event of the log was yielded before, and remembers it
// if not.
func (f *follower) seen(e wire.Event) bool {
	switch {
	case e.Pos == 0 || f.session == "":
		return false
	case e.Pos == f.last && e.Pos != f.fault && noExtent(e):
		f.fault = e.Pos
		return false
	case e.Pos <= f.last:
		return true
	}
	f.last = e.Pos
	return false
}

// noExtent reports whether an event tells of a fault that takes up no room in
// the log, such as two records with no line break between them. It stands where
// the entry before it ends.
func noExtent(e wire.Event) bool {
	var entry wire.Entry
	return json.Unmarshal(e.Data, &entry) == nil && entry.Gap != "" && entry.At == entry.Next
}
