package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/render/richtext"
	"firn.dev/store"
	"firn.dev/wire"
)

const (
	// growEvery is how long a page waits at least from one growth to the next.
	growEvery = 50 * time.Millisecond
	// remembered is how many entries a stream knows that it has told.
	remembered = 64
	// mostHeld is how many events wait while the log is told.
	mostHeld = 1 << 16
)

// narration is what one who listens to a session is told: the log, and what
// is beside it, in an order that makes sense.
type eventStream struct {
	g        *Gateway
	id       firn.ID
	html     bool
	ctx      context.Context
	listener *listener
	logged   <-chan followed
	yield    func(wire.Event, error) bool
	// last is how far the log was told, and past the latest entries of it.
	last firn.Pos
	past []firn.EntryID
	// held are events that came while the log was told.
	held []wire.Event
	// grows is the answer that grows, on a page. due rings when it is to be told;
	// ringing: it will. grown is when it was told last.
	growing   growingAnswer
	due     *time.Timer
	ringing bool
	grown   time.Time
}

// grows is an answer that is being given, as a page shows it.
type growingAnswer struct {
	entry          firn.EntryID
	text, thinking richtext.Growth
}

// narrate yields what happens in a session after a position.
func (g *Gateway) streamEvents(ctx context.Context, id firn.ID, after firn.Pos, html bool) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		listener, now := g.events.listenTo(id)
		defer g.events.leave(listener)
		ctx, cancel := context.WithCancel(ctx)
		end, kept, err := g.Reaches(ctx, id, now.Entry, remembered)
		if err != nil {
			cancel()
			yield(wire.Event{}, err)
			return
		}
		t := &eventStream{g: g, id: id, html: html, ctx: ctx, listener: listener, logged: g.follow(ctx, id, after, end, html), yield: yield, last: after, due: time.NewTimer(time.Hour)}
		t.due.Stop()
		defer func() {
			t.due.Stop()
			cancel()
			for range t.logged { // it ends, and nobody is left behind
			}
		}()
		if t.sendLogUntil(end) && t.sendCurrent(now, kept) && t.sendHeld() {
			for t.next() {
			}
		}
	}
}

// next tells what comes next. It is false if that was all.
func (t *eventStream) next() bool {
	select {
	case f, ok := <-t.logged:
		return t.sendEntry(f, ok)
	case e := <-t.listener.events:
		return t.handleEvent(e) && t.sendHeld()
	case <-t.due.C:
		t.ringing = false
		return t.sendGrowth()
	case <-t.listener.slow:
		t.yield(event(wire.Gap, t.id, nil), nil)
	case <-t.listener.gone:
		t.yield(event(wire.Bye, t.id, nil), nil)
	case <-t.ctx.Done():
	}
	return false
}

// until tells the log up to a position. What happens beside it meanwhile waits.
func (t *eventStream) sendLogUntil(pos firn.Pos) bool {
	for t.last < pos {
		select {
		case f, ok := <-t.logged:
			if !t.sendEntry(f, ok) {
				return false
			}
		case e := <-t.listener.events:
			if t.held = append(t.held, e); len(t.held) > mostHeld {
				t.yield(event(wire.Gap, t.id, nil), nil)
				return false
			}
		case <-t.listener.slow:
			t.yield(event(wire.Gap, t.id, nil), nil)
			return false
		case <-t.listener.gone:
			t.yield(event(wire.Bye, t.id, nil), nil)
			return false
		case <-t.ctx.Done():
			return false
		}
	}
	return true
}

// release tells what waited for the log.
func (t *eventStream) sendHeld() bool {
	for len(t.held) > 0 {
		held := t.held
		t.held = nil
		for i, e := range held {
			if !t.handleEvent(e) {
				return false
			}
			if len(t.held) > 0 { // it waited for the log again, and others came meanwhile
				t.held = append(slices.Clone(held[i+1:]), t.held...)
				break
			}
		}
	}
	return true
}

// log tells an entry of the log. An answer that is in it has grown up.
func (t *eventStream) sendEntry(f followed, ok bool) bool {
	var moved *store.Moved
	switch {
	case errors.As(f.err, &moved):
		t.g.Moved(t.id)
		t.yield(event(wire.Gap, t.id, wire.Missed{Anew: true}), nil)
		return false
	case !ok:
		return false
	case f.err != nil:
		t.yield(f.event, f.err)
		return false
	}
	t.last = max(t.last, f.pos)
	if f.quiet {
		return true
	}
	if t.past = append(t.past, f.entry); len(t.past) > remembered {
		t.past = slices.Delete(t.past, 0, len(t.past)-remembered)
	}
	if f.entry != "" && f.entry == t.growing.entry {
		t.growing = growingAnswer{}
	}
	return t.yield(f.event, nil)
}

// begin tells who comes while a turn runs what happened in it.
func (t *eventStream) sendCurrent(now moment, kept bool) bool {
	if !now.running {
		return true
	}
	if !t.yield(now.started, nil) {
		return false
	}
	if kept || slices.Contains(t.past, now.Entry) {
		now.Entry, now.Text, now.Thinking = "", "", ""
	}
	if !t.html {
		return !now.hasContent() || t.yield(event(wire.TurnPartial, t.id, now.Partial), nil)
	}
	t.growing.entry = now.Entry
	t.growing.thinking.Add(now.Thinking)
	t.growing.text.Add(now.Text)
	if !t.sendGrowth() {
		return false
	}
	for _, tool := range now.Tools {
		if !t.yield(event(wire.ToolStarted, t.id, tool), nil) {
			return false
		}
	}
	return true
}

// hear tells what happened beside the log.
func (t *eventStream) handleEvent(e wire.Event) bool {
	switch e.Name {
	case logReached:
		return t.sendLogUntil(e.Pos)
	case wire.DeltaText, wire.DeltaThinking:
		return t.delta(e)
	}
	return t.sendGrowth() && t.yield(e, nil)
}

// delta tells a piece of an answer, unless the answer was told already.
func (t *eventStream) delta(e wire.Event) bool {
	var d wire.Delta
	if json.Unmarshal(e.Data, &d) != nil || d.Entry != "" && slices.Contains(t.past, d.Entry) {
		return true
	}
	if !t.html {
		return t.yield(e, nil)
	}
	if d.Entry != t.growing.entry {
		t.growing = growingAnswer{entry: d.Entry}
	}
	if e.Name == wire.DeltaThinking {
		t.growing.thinking.Add(d.Text)
	} else {
		t.growing.text.Add(d.Text)
	}
	if !t.ringing {
		t.ringing = true
		t.due.Reset(max(0, growEvery-time.Since(t.grown)))
	}
	return true
}

// grow tells what grew since the last time.
func (t *eventStream) sendGrowth() bool {
	for _, thinking := range []bool{true, false} {
		g := &t.growing.text
		if thinking {
			g = &t.growing.thinking
		}
		from, blocks, changed := g.Grown()
		if !changed {
			continue
		}
		t.grown = time.Now()
		if !t.yield(event(wire.DeltaHTML, t.id, wire.Growth{Entry: t.growing.entry, Thinking: thinking, From: from, Blocks: blocks}), nil) {
			return false
		}
	}
	return true
}
