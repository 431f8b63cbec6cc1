package cluster

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"firn.dev/internal/door/api"
	"firn.dev/store/jetstream"
)

// incoming is a forwarded request on the owner's side.
type incoming struct {
	c     *Cluster
	reply string

	mu     sync.Mutex
	number uint32
	broken bool

	// ready receives whether the body is complete; gone cancels the request.
	ready chan bool
	gone  context.CancelFunc
	body  []byte
	next  uint32
}

// handleCall handles a request for a session that may be ours.
func (c *Cluster) handleCall(n jetstream.Note) {
	var f api.Forwarded
	if n.Reply == "" || json.Unmarshal(n.Data, &f) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.work.Go(func() { c.respond(n.Reply, f) })
	}
}

// respond waits for the body, handles the request and sends the response.
func (c *Cluster) respond(reply string, f api.Forwarded) {
	ctx, cancel := context.WithCancel(c.life)
	defer cancel()
	in := &incoming{c: c, reply: reply, ready: make(chan bool, 1), gone: cancel}
	inbox, stop, err := c.bus.Inbox(in.take)
	if err != nil {
		return // the caller tries another gateway
	}
	defer stop()
	in.send(frameReady, []byte(inbox))
	timer := time.NewTimer(aliveWait)
	defer timer.Stop()
	select {
	case whole := <-in.ready:
		if !whole {
			return
		}
	case <-timer.C:
		return
	case <-ctx.Done():
		return
	}
	f.Body = in.body
	stopBeat := in.beat()
	w := &frameWriter{in: in, header: make(http.Header)}
	c.handler.ServeForwarded(ctx, w, f)
	w.WriteHeader(http.StatusOK)
	stopBeat()
	in.send(frameEnd, nil)
}

// take handles a frame: a part of the body, or the caller's cancellation.
func (in *incoming) take(n jetstream.Note) {
	f, ok := readFrame(n.Data)
	if !ok {
		return
	}
	if f.kind == frameGone {
		in.gone()
		return
	}
	whole := f.number == in.next && len(in.body)+len(f.data) <= most
	in.next++
	if f.kind == framePiece && whole {
		in.body = append(in.body, f.data...)
		return
	}
	select {
	case in.ready <- whole:
	default:
	}
}

// send sends a frame of the response. If one is lost, the response is unusable.
func (in *incoming) send(k kind, data []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.broken {
		return
	}
	in.broken = in.c.bus.Answer(in.reply, frame{k, in.number, data}.bytes()) != nil
	in.number++
}

// beat sends keep-alive frames until stop is called.
func (in *incoming) beat() (stop func()) {
	end := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		ticker := time.NewTicker(aliveBeat)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				in.send(frameAlive, nil)
			case <-end:
				return
			}
		}
	})
	return func() {
		close(end)
		work.Wait()
	}
}

// frameWriter is a ResponseWriter that sends frames.
type frameWriter struct {
	in     *incoming
	header http.Header
	begun  bool
}

// Header implements [http.ResponseWriter].
func (w *frameWriter) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *frameWriter) WriteHeader(status int) {
	if w.begun || status < 200 {
		return
	}
	w.begun = true
	data, err := json.Marshal(head{status, w.header})
	if err == nil { // strings always marshal
		w.in.send(frameHead, data)
	}
}

// Write implements [http.ResponseWriter].
func (w *frameWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	size := w.in.c.bus.MaxSize() - frameHeader
	for rest := b; len(rest) > 0; {
		piece := rest[:min(size, len(rest))]
		w.in.send(frameData, piece)
		rest = rest[len(piece):]
	}
	return len(b), nil
}

// Flush implements [http.Flusher]. Nothing is buffered.
func (w *frameWriter) Flush() {}
