package gateway

import (
	"context"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/wire"
)

// A feed follows the log of one session for all its listeners: each record is read and
// encoded once, and the event is shared. It keeps the latest events, bounded by number and
// size. Each member reads at its own pace; one that falls behind reads the log itself until
// it has caught up, so it does not delay the others.
//
// Members are woken in groups with a pause in between, so that a thousand members do not
// starve the writer.
type feed struct {
	stop func()
	// done and woken are closed when the two goroutines have ended.
	done, woken chan struct{}
	// dirty is signaled when there are events that members have not been woken for.
	dirty chan struct{}

	mu sync.Mutex
	// events are the latest events, after position from and up to position to.
	events   []followed
	from, to firn.Pos
	bytes    int
	members  map[*member]struct{}
	// err is the error that ended the feed.
	err error
}

// member is a listener of a feed.
type member struct {
	wake chan struct{}
}

const (
	// feedEvents and feedBytes limit the events that a feed keeps.
	feedEvents = 256
	feedBytes  = 4 << 20
	// groupSize is the number of members woken together, groupPause the pause before the
	// next group.
	groupSize  = 16
	groupPause = time.Millisecond
)

// feedKey identifies a feed.
type feedKey struct {
	session firn.ID
	html    bool
}

// feeds are the active feeds.
type feeds struct {
	mu  sync.Mutex
	all map[feedKey]*feed
}

// join adds a member to the feed of a session. If there is none, it starts one at a
// position. The caller must call leave.
func (g *eventFeeds) join(key feedKey, at firn.Pos) (*feed, *member) {
	g.feeds.mu.Lock()
	defer g.feeds.mu.Unlock()
	f := g.feeds.all[key]
	if f == nil {
		f = g.startFeed(key, at)
		if g.feeds.all == nil {
			g.feeds.all = make(map[feedKey]*feed)
		}
		g.feeds.all[key] = f
	}
	m := &member{wake: make(chan struct{}, 1)}
	f.mu.Lock()
	f.members[m] = struct{}{}
	f.mu.Unlock()
	return f, m
}

// leave removes a member and stops the feed after the last one.
func (g *eventFeeds) leave(key feedKey, f *feed, m *member) {
	g.feeds.mu.Lock()
	f.mu.Lock()
	delete(f.members, m)
	last := len(f.members) == 0
	f.mu.Unlock()
	if last && g.feeds.all[key] == f {
		delete(g.feeds.all, key)
	}
	g.feeds.mu.Unlock()
	if last {
		f.stop()
		<-f.done
		<-f.woken
	}
}

// startFeed follows a session from a position.
func (g *eventFeeds) startFeed(key feedKey, at firn.Pos) *feed {
	ctx, cancel := context.WithCancel(context.Background())
	f := &feed{stop: cancel, done: make(chan struct{}), woken: make(chan struct{}), dirty: make(chan struct{}, 1), from: at, to: at, members: make(map[*member]struct{})}
	go func() {
		defer close(f.done)
		g.fill(ctx, key, f, at)
	}()
	go func() {
		defer close(f.woken)
		f.wakeMembers(ctx)
	}()
	return f
}

// fill publishes new records of a session until ctx ends.
func (g *eventFeeds) fill(ctx context.Context, key feedKey, f *feed, at firn.Pos) {
	for rec, err := range g.Store.Follow(ctx, key.session, at) {
		if err != nil {
			g.feeds.mu.Lock() // a new follower starts a new feed
			if g.feeds.all[key] == f {
				delete(g.feeds.all, key)
			}
			g.feeds.mu.Unlock()
			f.publish(followed{err: err})
			return
		}
		f.publish(g.followedOf(ctx, key, &rec))
	}
}

// followedOf converts a record.
func (g *eventFeeds) followedOf(ctx context.Context, key feedKey, rec *firn.Record) followed {
	one := followed{entry: rec.Glance.ID, pos: rec.Next}
	if d, held, ok := draftDelta(rec); ok {
		one.event, one.quiet, one.held = event(wire.DeltaText, key.session, d), true, held
		return one
	}
	one.event = g.entryEvent(ctx, key.session, rec, key.html)
	return one
}

// publish adds an event and drops the oldest beyond the limits.
func (f *feed) publish(one followed) {
	f.mu.Lock()
	if one.err != nil {
		f.err = one.err
	} else {
		f.events = append(f.events, one)
		f.to = one.pos
		f.bytes += len(one.event.Data)
		drop := 0
		for len(f.events)-drop > feedEvents || f.bytes > feedBytes && len(f.events)-drop > 1 {
			f.bytes -= len(f.events[drop].event.Data)
			f.from = f.events[drop].pos
			drop++
		}
		if drop > 0 {
			f.events = append([]followed(nil), f.events[drop:]...)
		}
	}
	f.mu.Unlock()
	select {
	case f.dirty <- struct{}{}:
	default: // the pending wake-up covers this event too
	}
}

// after returns the events after a position. If some of them are no longer kept, behind is
// the position up to which the caller must read the log itself.
func (f *feed) after(pos firn.Pos) (events []followed, behind firn.Pos, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if pos < f.from {
		return nil, f.to, nil
	}
	first := len(f.events)
	for first > 0 && f.events[first-1].pos > pos {
		first--
	}
	if first == len(f.events) {
		return nil, 0, f.err
	}
	return f.events[first:len(f.events):len(f.events)], 0, nil
}

// wakeMembers wakes the members in groups whenever there are new events.
func (f *feed) wakeMembers(ctx context.Context) {
	for {
		select {
		case <-f.dirty:
		case <-ctx.Done():
			return
		}
		f.mu.Lock()
		all := make([]*member, 0, len(f.members))
		for m := range f.members {
			all = append(all, m)
		}
		f.mu.Unlock()
		for i, m := range all {
			if i > 0 && i%groupSize == 0 {
				select {
				case <-time.After(groupPause):
				case <-ctx.Done():
					return
				}
			}
			select {
			case m.wake <- struct{}{}:
			default: // already woken
			}
		}
	}
}

// follow follows the log of a session after a position until ctx ends. It reads up to end
// itself and then uses the session's feed.
func (g *eventFeeds) follow(ctx context.Context, id firn.ID, after, end firn.Pos, html bool) <-chan followed {
	out := make(chan followed)
	go func() {
		defer close(out)
		key := feedKey{id, html}
		at, ok := after, true
		if after > end { // the session was longer; the store reports why
			g.readSelf(ctx, key, at, 0, out)
			return
		}
		if at < end {
			if at, ok = g.readSelf(ctx, key, at, end, out); !ok {
				return
			}
		}
		f, m := g.join(key, at)
		defer g.leave(key, f, m)
		g.shareFeed(ctx, key, f, m, at, out)
	}()
	return out
}

// readSelf sends records after a position until end is reached, or indefinitely if end is
// zero. It returns the position reached, and false if the caller must stop.
func (g *eventFeeds) readSelf(ctx context.Context, key feedKey, at, end firn.Pos, out chan<- followed) (firn.Pos, bool) {
	for rec, err := range g.Store.Follow(ctx, key.session, at) {
		if err != nil {
			send(ctx, out, followed{err: err})
			return at, false
		}
		at = rec.Next
		if !send(ctx, out, g.followedOf(ctx, key, &rec)) {
			return at, false
		}
		if end > 0 && at >= end {
			return at, true
		}
	}
	return at, false
}

// shareFeed sends the events of a feed after a position until ctx ends.
func (g *eventFeeds) shareFeed(ctx context.Context, key feedKey, f *feed, m *member, at firn.Pos, out chan<- followed) {
	for {
		events, behind, err := f.after(at)
		switch {
		case behind > 0:
			var ok bool
			if at, ok = g.readSelf(ctx, key, at, behind, out); !ok {
				return
			}
			continue
		case err != nil:
			send(ctx, out, followed{err: err})
			return
		}
		for _, one := range events {
			if !send(ctx, out, one) {
				return
			}
			at = one.pos
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-m.wake:
		case <-ctx.Done():
			return
		}
	}
}

// send sends unless ctx ends first.
func send(ctx context.Context, out chan<- followed, one followed) bool {
	select {
	case out <- one:
		return true
	case <-ctx.Done():
		return false
	}
}
