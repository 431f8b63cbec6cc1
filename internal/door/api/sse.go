package api

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"mime"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/sse"
	"firn.dev/internal/gateway"
	"firn.dev/wire"
)

// source is what a stream tells.
type source struct {
	// events yields what is to be told, until its context ends.
	events func(context.Context) iter.Seq2[wire.Event, error]
	// numbered says that positions are the ids of events: those of one session.
	numbered bool
	// turn says that it ends by itself, and that an error at the beginning is
	// the answer; otherwise it goes on until the gateway goes.
	turn bool
	// after is the position it begins at.
	after firn.Pos
}

// held is how long the answer to a turn waits for its first event, so that an
// error has its status, before it begins to show that it is alive.
const held = 2 * time.Second

// ahead is how many events may be ready before they are written.
const ahead = 16

// told is an event, or why there are no more.
type told struct {
	event wire.Event
	err   error
}

// stream answers with events, as they come, and returns when there are no more
// or nobody takes them.
func (c *call) stream(s source) error {
	c.streaming = true
	if !s.turn {
		defer c.h.config.Metrics.Stream()()
	}
	ctx, cancel := c.whileLetIn()
	p := &pump{events: make(chan told, ahead), slow: make(chan struct{})}
	go p.run(ctx, c, s)
	defer func() {
		cancel()
		for range p.events { // it ends, and nobody is left behind
		}
	}()
	w := &writer{c: c, numbered: s.numbered, last: s.after}
	if s.turn {
		if over, err := w.first(ctx, p); over || err != nil {
			return err
		}
	}
	w.begin()
	w.copy(ctx, p, s.turn)
	return nil
}

// pump takes events from where they come from, a few ahead of the writer.
type pump struct {
	events chan told
	// slow is closed when the writer did not take an event in time.
	slow chan struct{}
}

func (p *pump) run(ctx context.Context, c *call, s source) {
	defer close(p.events)
	defer func() {
		if fell := recover(); fell != nil {
			c.h.log.Error("a stream of events panicked", "request", c.request, "stack", string(debug.Stack()))
			p.put(ctx, c, told{err: &wire.Problem{Kind: wire.Internal, Message: "something went wrong inside the gateway"}})
		}
	}()
	for e, err := range s.events(ctx) {
		if !p.put(ctx, c, told{e, err}) || err != nil {
			return
		}
	}
}

// put hands an event to the writer, and reports whether there may be another.
func (p *pump) put(ctx context.Context, c *call, t told) bool {
	select {
	case p.events <- t:
		return true
	default:
	}
	patience := time.NewTimer(c.h.config.Patience)
	defer patience.Stop()
	select {
	case p.events <- t:
		return true
	case <-patience.C:
		close(p.slow)
	case <-ctx.Done():
	}
	return false
}

// writer writes events to a client.
type writer struct {
	c        *call
	numbered bool
	// last is the position of the last event of the log that was written.
	last firn.Pos
	// held is the first event, if it was waited for.
	held   []told
	buf    []byte
	broken bool
}

// first waits for the first event of a turn. A turn that was refused has no
// stream. It reports whether all is over.
func (w *writer) first(ctx context.Context, p *pump) (bool, error) {
	timer := time.NewTimer(held)
	defer timer.Stop()
	select {
	case t, ok := <-p.events:
		if !ok {
			return true, context.Cause(ctx)
		}
		if t.err != nil {
			return true, t.err
		}
		w.held = append(w.held, t)
	case <-timer.C:
	case <-ctx.Done():
		return true, context.Cause(ctx)
	}
	return false, nil
}

// begin sends the head. Nothing on the way may gather, pack or keep a stream.
func (w *writer) begin() {
	head := w.c.w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-store, no-transform")
	head.Set("X-Accel-Buffering", "no")
	w.c.w.WriteHeader(http.StatusOK)
	w.write([]byte("retry: 1000\n\n"))
	w.flush()
}

// copy writes events until there are no more.
func (w *writer) copy(ctx context.Context, p *pump, turn bool) {
	beat := time.NewTicker(w.c.h.config.Heartbeat)
	defer beat.Stop()
	closing := w.c.h.closing
	if turn {
		closing = nil // it may finish
	}
	for _, t := range w.held {
		if w.tell(t) {
			return
		}
	}
	for !w.broken {
		select {
		case <-p.slow:
			w.tell(told{event: wire.Event{Name: wire.Gap}})
			return
		default:
		}
		select {
		case <-p.slow: // above, where it comes before all else
		case t, ok := <-p.events:
			if !ok || w.tell(t) {
				w.flush()
				return
			}
			if len(p.events) == 0 {
				w.flush()
			}
			if w.last >= w.c.end { // the log as it was is told
				w.c.reserved.release()
			}
			beat.Reset(w.c.h.config.Heartbeat)
		case <-beat.C:
			w.c.reserved.release() // the log is told: its end was nothing to tell
			w.write([]byte(":\n\n"))
			w.flush()
		case <-closing:
			w.tell(told{event: wire.Event{Name: wire.Bye}})
			w.flush()
			return
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), gateway.ErrDraining) {
				w.tell(told{event: wire.Event{Name: wire.Bye}})
				w.flush()
			}
			return
		}
	}
}

// tell writes an event and reports whether it was the last one.
func (w *writer) tell(t told) bool {
	if t.err != nil {
		if !errors.Is(t.err, context.Canceled) {
			w.problem(t.err)
		}
		return true
	}
	e := t.event
	if !w.c.who.knowsPlaces() {
		e = withoutPlacesIn(e)
	}
	raw := sse.Event{Name: e.Name}
	if e.Name == wire.Gap && e.Pos == 0 {
		if e.Data == nil {
			e.Pos = w.last
		} else if w.numbered {
			raw.ID = "0" // who comes back by itself begins at the start
		}
	}
	if e.Pos > 0 && w.numbered {
		w.last = max(w.last, e.Pos)
		raw.ID = strconv.FormatUint(uint64(e.Pos), 10)
	}
	frame, err := w.frame(e, raw)
	if err != nil {
		w.problem(err)
		return true
	}
	w.write(frame)
	return w.broken || e.Name == wire.Gap || e.Name == wire.Bye
}

// frame returns the bytes of an event. Those of the log are shared by all who
// listen to the session.
func (w *writer) frame(e wire.Event, raw sse.Event) (frame []byte, err error) {
	if !w.numbered || e.Pos == 0 || len(e.Data) == 0 {
		if raw.Data, err = wire.Spell(e); err != nil {
			return nil, err
		}
		w.buf = sse.Append(w.buf[:0], raw)
		return w.buf, nil
	}
	frame = w.c.h.frames.of(frameKey{&e.Data[0], e.Name, e.Pos, raw.ID}, func() []byte {
		if raw.Data, err = wire.Spell(e); err != nil {
			return nil
		}
		return sse.Append(nil, raw)
	})
	if frame == nil && err == nil {
		raw.Data, err = wire.Spell(e) // it could not be spelt for another
	}
	return frame, err
}

// problem says why the stream ends before its time.
func (w *writer) problem(err error) {
	p := *w.c.tell(err)
	p.Request = w.c.request
	w.c.h.config.Metrics.Error(string(p.Kind))
	data, err := json.Marshal(wire.Failure{Error: p})
	if err == nil {
		w.write(sse.Append(nil, sse.Event{Name: streamFailed, Data: data}))
	}
	w.flush()
}

// streamFailed is the name of the event that says why a stream ends before its
// time; its data is a [wire.Failure].
const streamFailed = "error"

// write writes within the time that a client has.
func (w *writer) write(b []byte) {
	if w.broken {
		return
	}
	if _, err := (sender{w.c}).Write(b); err != nil {
		w.broken = true
	}
	if cap(w.buf) > 1<<20 {
		w.buf = nil // one long line must not stay in memory for hours
	}
}

func (w *writer) flush() {
	if !w.broken && http.NewResponseController(w.c.w).Flush() != nil {
		w.broken = true
	}
}

// wantsStream reports whether the client asks for events.
func wantsStream(r *http.Request) bool {
	for _, header := range r.Header.Values("Accept") {
		for one := range strings.SplitSeq(header, ",") {
			if kind, _, err := mime.ParseMediaType(one); err == nil && kind == "text/event-stream" {
				return true
			}
		}
	}
	return false
}

// lastEvent is the position that a client saw last: a browser that comes back
// tells it in a header, which counts more than the address it came by first.
func lastEvent(r *http.Request, q *query) (firn.Pos, error) {
	header := strings.TrimSpace(r.Header.Get("Last-Event-ID"))
	if header == "" {
		return q.pos("after"), q.err
	}
	n, err := strconv.ParseUint(header, 10, 63)
	if err != nil {
		return 0, gateway.Invalid("the Last-Event-ID %q is no position", header)
	}
	return firn.Pos(n), nil
}
