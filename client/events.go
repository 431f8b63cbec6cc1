package client

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"

	"firn.dev"
	"firn.dev/wire"
)

// Events follows a session: it yields the log after a position, then new events, stored and
// transient, until ctx ends.
//
// Every event of the log is yielded once and in order. When the connection breaks or the
// gateway stops, Events reconnects from the last position, for as long as necessary.
// Transient events, such as deltas, may then be missing; an event [wire.Gap] marks the
// place. If its data, a [wire.Missed], has Anew set, all positions have changed, and the
// log is repeated from the start.
//
// Events yields an error and ends if the gateway cannot be reached initially or rejects the
// request, for example because the session does not exist or the token is invalid.
func (c *Client) Events(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[wire.Event, error] {
	return c.events(ctx, id, after, false)
}

func (c *conn) events(ctx context.Context, id firn.ID, after firn.Pos, html bool) iter.Seq2[wire.Event, error] {
	r := get(sessionPath(id, "events")...).with("as", formatParam(html))
	return func(yield func(wire.Event, error) bool) {
		f := &follower{client: c, session: id, last: after}
		f.follow(ctx, func() request {
			return r.withHeader("Last-Event-ID", strconv.FormatUint(uint64(f.last), 10))
		}, yield)
	}
}

// AllEvents follows the transient events of all sessions from now on, until ctx ends. It
// reconnects like Events; events in between are missing, and an event [wire.Gap] marks the
// place.
func (c *Client) AllEvents(ctx context.Context) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		f := &follower{client: c.conn}
		f.follow(ctx, func() request { return get("v1", "events") }, yield)
	}
}

// follower follows events over any number of connections.
type follower struct {
	client  *conn
	session firn.ID // empty for all
	// last is the position of the last log event that was yielded, fault that of the last
	// fault without extent.
	last, fault firn.Pos
	// opened means that there was a connection. From then on the follower does not give up.
	opened bool
	// gapSent means that a gap was yielded and no event since.
	gapSent bool
	// failures counts consecutive connections without any event.
	failures int
}

// follow yields events until ctx ends. ask returns the request that continues from the
// current position.
func (f *follower) follow(ctx context.Context, ask func() request, yield func(wire.Event, error) bool) {
	for ctx.Err() == nil {
		again, err := f.connection(ctx, ask(), yield)
		if err != nil {
			yield(wire.Event{}, err)
		}
		if err != nil || !again || ctx.Err() != nil {
			return
		}
		if f.opened && !f.gapSent {
			f.gapSent = true
			// A reader that collects deltas must know that some may be missing.
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

// connection yields the events of one connection. It reports whether to reconnect.
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
		case e.Name == wire.Gap && isReset(e):
			f.last, f.fault, f.gapSent = 0, 0, true
			return yield(e, nil), nil
		case e.Name == wire.Gap:
			return true, nil // we were too slow; the log is sent again from our position
		case e.Name == wire.Bye:
			return yield(e, nil), nil
		case f.markSeen(e):
			continue
		}
		f.gapSent, f.failures = false, 0
		if !yield(e, nil) {
			return false, nil
		}
	}
	return true, nil
}

// isReset reports whether a gap means that all positions have changed.
func isReset(e wire.Event) bool {
	var missed wire.Missed
	return json.Unmarshal(e.Data, &missed) == nil && missed.Anew
}

// again decides whether to reconnect after an error: if the error is temporary, and before
// the first connection only a few times.
func (f *follower) again(err error) (bool, error) {
	if !worthRepeating(get(), err) {
		return false, err
	}
	if !f.opened && f.failures+1 >= get().tries {
		return false, err
	}
	return true, nil
}

// markSeen reports whether an event of the log was yielded before, and records it if not.
func (f *follower) markSeen(e wire.Event) bool {
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

// noExtent reports whether an event describes a fault without extent in the log, such as
// two records without a line break between them. Its position is the end of the preceding
// entry.
func noExtent(e wire.Event) bool {
	var entry wire.Entry
	return json.Unmarshal(e.Data, &entry) == nil && entry.Gap != "" && entry.At == entry.Next
}
