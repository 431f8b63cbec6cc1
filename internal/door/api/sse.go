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

// source is the origin of a stream's events.
type source struct {
	// events yields the events until its context ends.
	events func(context.Context) iter.Seq2[wire.Event, error]
	// numbered is set if event IDs are positions, as for the events of one session.
	numbered bool
	// turn is set for the events of one turn. The stream ends with the turn, and an initial
	// error becomes the response. Other streams continue until the gateway shuts down.
	turn bool
	// after is the start position.
	after firn.Pos
}

// firstEventWait is how long the response to a turn waits for its first event, so that an
// error can have its own status.
const firstEventWait = 2 * time.Second

// eventsAhead is the number of events buffered for the writer.
const eventsAhead = 16

// streamItem is an event, or the error that ends the stream.
type streamItem struct {
	event wire.Event
	err   error
}

// stream responds with events as they arrive. It returns when there are no more or the
// client stops reading.
func (c *call) stream(s source) error {
	c.streaming = true
	if !s.turn {
		defer c.h.config.Metrics.Stream()()
	}
	ctx, cancel := c.authorizedContext()
	p := &pump{events: make(chan streamItem, eventsAhead), slow: make(chan struct{})}
	go p.run(ctx, c, s)
	defer func() {
		cancel()
		for range p.events { // wait for the pump to end
		}
	}()
	w := &writer{c: c, numbered: s.numbered, last: s.after}
	if s.turn {
		if over, err := w.first(ctx, p); over || err != nil {
			return err
		}
	}
	w.writeHead()
	w.copy(ctx, p, s.turn)
	return nil
}

// pump reads events from the source, a few ahead of the writer.
type pump struct {
	events chan streamItem
	// slow is closed when the writer did not accept an event in time.
	slow chan struct{}
}

func (p *pump) run(ctx context.Context, c *call, s source) {
	defer close(p.events)
	defer func() {
		if fell := recover(); fell != nil {
			c.h.log.Error("event stream panicked", "request", c.request, "stack", string(debug.Stack()))
			p.put(ctx, c, streamItem{err: &wire.Problem{Kind: wire.Internal, Message: "internal error in the gateway"}})
		}
	}()
	for e, err := range s.events(ctx) {
		if !p.put(ctx, c, streamItem{e, err}) || err != nil {
			return
		}
	}
}

// put passes an event to the writer and reports whether to continue.
func (p *pump) put(ctx context.Context, c *call, t streamItem) bool {
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
	// last is the position of the last log event written.
	last firn.Pos
	// held contains the first event, if it was awaited.
	held   []streamItem
	buf    []byte
	broken bool
}

// first waits for the first event of a turn. A rejected turn has no stream. It reports
// whether the stream is over.
func (w *writer) first(ctx context.Context, p *pump) (bool, error) {
	timer := time.NewTimer(firstEventWait)
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

// writeHead sends the header. Proxies must not buffer, compress or cache a stream.
func (w *writer) writeHead() {
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
		closing = nil // turns may finish
	}
	for _, t := range w.held {
		if w.writeEvent(t) {
			return
		}
	}
	for !w.broken {
		select {
		case <-p.slow:
			w.writeEvent(streamItem{event: wire.Event{Name: wire.Gap}})
			return
		default:
		}
		select {
		case <-p.slow: // handled above, where it has priority
		case t, ok := <-p.events:
			if !ok || w.writeEvent(t) {
				w.flush()
				return
			}
			if len(p.events) == 0 {
				w.flush()
			}
			if w.last >= w.c.end { // the existing log has been sent
				w.c.reserved.release()
			}
			beat.Reset(w.c.h.config.Heartbeat)
		case <-beat.C:
			w.c.reserved.release() // the existing log has been sent; its last entries had no events
			w.write([]byte(":\n\n"))
			w.flush()
		case <-closing:
			w.writeEvent(streamItem{event: wire.Event{Name: wire.Bye}})
			w.flush()
			return
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), gateway.ErrDraining) {
				w.writeEvent(streamItem{event: wire.Event{Name: wire.Bye}})
				w.flush()
			}
			return
		}
	}
}

// writeEvent writes an event and reports whether it was the last one.
func (w *writer) writeEvent(t streamItem) bool {
	if t.err != nil {
		if !errors.Is(t.err, context.Canceled) {
			w.problem(t.err)
		}
		return true
	}
	e := t.event
	if !w.c.who.seesPaths() {
		e = eventWithoutPaths(e)
	}
	raw := sse.Event{Name: e.Name}
	if e.Name == wire.Gap && e.Pos == 0 {
		if e.Data == nil {
			e.Pos = w.last
		} else if w.numbered {
			raw.ID = "0" // a client that reconnects starts from the beginning
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

// frame returns the encoded event. Log events are shared by all clients of the session.
func (w *writer) frame(e wire.Event, raw sse.Event) (frame []byte, err error) {
	if !w.numbered || e.Pos == 0 || len(e.Data) == 0 {
		if raw.Data, err = wire.Marshal(e); err != nil {
			return nil, err
		}
		w.buf = sse.Append(w.buf[:0], raw)
		return w.buf, nil
	}
	frame = w.c.h.frames.of(frameKey{&e.Data[0], e.Name, e.Pos, raw.ID}, func() []byte {
		if raw.Data, err = wire.Marshal(e); err != nil {
			return nil
		}
		return sse.Append(nil, raw)
	})
	if frame == nil && err == nil {
		raw.Data, err = wire.Marshal(e) // encoding failed for another client
	}
	return frame, err
}

// problem sends the error that ends the stream.
func (w *writer) problem(err error) {
	p := *w.c.problemFor(err)
	p.Request = w.c.request
	w.c.h.config.Metrics.Error(string(p.Kind))
	data, err := json.Marshal(wire.Failure{Error: p})
	if err == nil {
		w.write(sse.Append(nil, sse.Event{Name: streamFailed, Data: data}))
	}
	w.flush()
}

// streamFailed is the name of the event for an error that ends a stream. Its data is a
// [wire.Failure].
const streamFailed = "error"

// write writes within the write timeout.
func (w *writer) write(b []byte) {
	if w.broken {
		return
	}
	if _, err := (sender{w.c}).Write(b); err != nil {
		w.broken = true
	}
	if cap(w.buf) > 1<<20 {
		w.buf = nil // do not keep a large buffer for the life of the stream
	}
}

func (w *writer) flush() {
	if !w.broken && http.NewResponseController(w.c.w).Flush() != nil {
		w.broken = true
	}
}

// wantsStream reports whether the client accepts events.
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

// lastEvent returns the position a client saw last. The Last-Event-ID header, sent by a
// reconnecting browser, takes precedence over the query parameter.
func lastEvent(r *http.Request, q *query) (firn.Pos, error) {
	header := strings.TrimSpace(r.Header.Get("Last-Event-ID"))
	if header == "" {
		return q.pos("after"), q.err
	}
	n, err := strconv.ParseUint(header, 10, 63)
	if err != nil {
		return 0, gateway.Invalid("Last-Event-ID %q is not a position", header)
	}
	return firn.Pos(n), nil
}
