package cluster

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"firn/internal/api"
	"firn/store/jetstream"
)

// incoming is a call as the owner sees it.
type incoming struct {
	c     *Cluster
	reply string

	mu     sync.Mutex
	number uint32
	broken bool

	// ready is told whether the body is whole; gone ends what is done.
	ready chan bool
	gone  context.CancelFunc
	body  []byte
	next  uint32
}

// called takes in a call for something that may be ours.
func (c *Cluster) called(n jetstream.Note) {
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

// respond waits for the body, acts, and sends the answer.
func (c *Cluster) respond(reply string, f api.Forwarded) {
	ctx, cancel := context.WithCancel(c.life)
	defer cancel()
	in := &incoming{c: c, reply: reply, ready: make(chan bool, 1), gone: cancel}
	inbox, stop, err := c.bus.Inbox(in.take)
	if err != nil {
		return // it asks elsewhere
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
	w := &answering{in: in, header: make(http.Header)}
	c.handler.ServeForwarded(ctx, w, f)
	w.WriteHeader(http.StatusOK)
	stopBeat()
	in.send(frameEnd, nil)
}

// take takes in the body, and that nobody waits any more.
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

// send sends a frame of the answer. If one is lost the rest is worth nothing.
func (in *incoming) send(k kind, data []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.broken {
		return
	}
	in.broken = in.c.bus.Answer(in.reply, frame{k, in.number, data}.bytes()) != nil
	in.number++
}

// beat shows that we are alive until stop is called.
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

// answering writes an answer as frames.
type answering struct {
	in     *incoming
	header http.Header
	begun  bool
}

// Header implements [http.ResponseWriter].
func (w *answering) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *answering) WriteHeader(status int) {
	if w.begun || status < 200 {
		return
	}
	w.begun = true
	data, err := json.Marshal(head{status, w.header})
	if err == nil { // texts always can be
		w.in.send(frameHead, data)
	}
}

// Write implements [http.ResponseWriter].
func (w *answering) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	size := w.in.c.bus.Most() - frameHeader
	for rest := b; len(rest) > 0; {
		piece := rest[:min(size, len(rest))]
		w.in.send(frameData, piece)
		rest = rest[len(piece):]
	}
	return len(b), nil
}

// Flush implements [http.Flusher]: nothing waits.
func (w *answering) Flush() {}
