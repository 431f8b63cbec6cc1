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
	// growEvery is the minimum interval between two HTML updates of a page.
	growEvery = 50 * time.Millisecond
	// remembered is the number of recently sent entries that a stream keeps.
	remembered = 64
	// mostHeld is the maximum number of events held back while the log is sent.
	mostHeld = 1 << 16
)

// eventStream is the stream of one listener. It merges the log and the turn events in a
// consistent order.
type eventStream struct {
	g        *eventFeeds
	id       firn.ID
	html     bool
	ctx      context.Context
	listener *listener
	logged   <-chan followed
	yield    func(wire.Event, error) bool
	// last is the log position sent so far, past are the latest entries sent.
	last firn.Pos
	past []firn.EntryID
	// live is true if the log was sent up to its end at the start. streamed is the answer of
	// the last delta that a turn of this process has sent.
	live     bool
	streamed firn.EntryID
	// withheld is the start of an answer of another process that may still be silent.
	withheld wire.Delta
	// held are events that arrived while the log was being sent.
	held []wire.Event
	// growing is the partial answer on a page. due fires when an update is to be sent,
	// ringing is set while it is armed, grown is the time of the last update.
	growing growingAnswer
	due     *time.Timer
	ringing bool
	grown   time.Time
}

// growingAnswer is a partial answer as a page shows it.
type growingAnswer struct {
	entry          firn.EntryID
	text, thinking richtext.Growth
}

// streamEvents yields the events of a session after a position.
func (g *eventFeeds) streamEvents(ctx context.Context, id firn.ID, after firn.Pos, html bool) iter.Seq2[wire.Event, error] {
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
			for range t.logged { // drain until the follower has ended
			}
		}()
		caughtUp := t.sendLogUntil(end)
		t.live, t.streamed = true, now.Entry
		if caughtUp && t.sendCurrent(now, kept) && t.sendHeld() {
			for t.next() {
			}
		}
	}
}

// next sends the next event. It returns false at the end of the stream.
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

// sendLogUntil sends the log up to a position and holds back other events.
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

// sendHeld sends the events that were held back.
func (t *eventStream) sendHeld() bool {
	for len(t.held) > 0 {
		held := t.held
		t.held = nil
		for i, e := range held {
			if !t.handleEvent(e) {
				return false
			}
			if len(t.held) > 0 { // sending it held back more events
				t.held = append(slices.Clone(held[i+1:]), t.held...)
				break
			}
		}
	}
	return true
}

// sendEntry sends a log entry. It ends the partial answer that the entry completes.
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
		return t.sendDraft(f)
	}
	if t.past = append(t.past, f.entry); len(t.past) > remembered {
		t.past = slices.Delete(t.past, 0, len(t.past)-remembered)
	}
	if f.entry != "" && f.entry == t.growing.entry {
		t.growing = growingAnswer{}
	}
	return t.yield(f.event, nil)
}

// sendDraft sends the text of a draft if its turn runs in another process, and keeps it back
// while the answer may still be silent.
func (t *eventStream) sendDraft(f followed) bool {
	d := wire.DataOf[wire.Delta](f.event)
	if d.Entry == t.withheld.Entry {
		d.Text = t.withheld.Text + d.Text
	}
	if t.withheld = (wire.Delta{}); f.held {
		t.withheld = d
		return true
	}
	return !t.isElsewhere(d) || t.delta(event(wire.DeltaText, t.id, d))
}

// isElsewhere reports whether the text of a draft is new text of a turn that runs in another
// process, which sends no deltas to this one.
func (t *eventStream) isElsewhere(d wire.Delta) bool {
	return t.live && d.Text != "" && d.Entry != t.streamed && len(t.held) == 0 && len(t.listener.events) == 0 && !t.g.events.isRunning(t.id)
}

// sendCurrent sends the start and the content of a turn that was running when the listener
// joined.
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

// handleEvent sends a turn event.
func (t *eventStream) handleEvent(e wire.Event) bool {
	switch e.Name {
	case logReached:
		return t.sendLogUntil(e.Pos)
	case wire.DeltaText, wire.DeltaThinking:
		t.streamed = wire.DataOf[wire.Delta](e).Entry
		return t.delta(e)
	}
	return t.sendGrowth() && t.yield(e, nil)
}

// delta sends a piece of an answer unless the whole answer was already sent.
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

// sendGrowth sends the changes of the partial answer since the last update.
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
