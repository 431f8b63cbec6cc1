package cluster

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"firn.dev"
	"firn.dev/internal/door/api"
	"firn.dev/store/jetstream"
	"firn.dev/wire"
)

// Forwarding works as follows. The caller sends the request without its body to the owner.
// The owner answers with an inbox, which shows that it is running. The caller sends the
// body to that inbox, and the owner handles the request only when the body is complete. An
// owner that was suspended and resumes later therefore does not handle a request that was
// given up. The response is sent in frames, with keep-alive frames in between.

// kind is the type of a frame.
type kind byte

const (
	// from the owner
	frameReady kind = 'r' // its inbox
	frameHead  kind = 'h' // status and header
	frameData  kind = 'd' // part of the body
	frameAlive kind = 'a' // keep-alive
	frameEnd   kind = 'z'
	// to the owner
	framePiece kind = 'p' // part of the body
	frameGo    kind = 'g' // end of the body
	frameGone  kind = 'x' // the caller gave up
)

// frame is a message of a forwarded request. The frames of each side are numbered, so that
// a lost one is noticed.
type frame struct {
	kind   kind
	number uint32
	data   []byte
}

const frameHeader = 5

func (f frame) bytes() []byte {
	b := make([]byte, frameHeader, frameHeader+len(f.data))
	b[0] = byte(f.kind)
	binary.BigEndian.PutUint32(b[1:], f.number)
	return append(b, f.data...)
}

func readFrame(b []byte) (frame, bool) {
	if len(b) < frameHeader {
		return frame{}, false
	}
	return frame{kind(b[0]), binary.BigEndian.Uint32(b[1:]), b[frameHeader:]}, true
}

// head is the status and header of a response.
type head struct {
	Status int         `json:"status"`
	Header http.Header `json:"header"`
}

// Timeouts for the owner's first answer and for silence while it handles the request, and
// the keep-alive interval.
const (
	readyWait = 2 * time.Second
	aliveWait = 12 * time.Second
	aliveBeat = 3 * time.Second
	// most is the maximum size of a request; the handler has its own limit.
	most = 64 << 20
	// ahead is the number of frames buffered.
	ahead = 256
)

func callTopic(name string) string { return "g." + name }

// outgoing is a forwarded request on the caller's side.
type outgoing struct {
	c           *Cluster
	frames      chan frame
	noListeners chan struct{}
	done        chan struct{}
	next        uint32
	// started is true if the owner may have handled the request; written is true if a part
	// of the response was passed on.
	started, written bool
}

// Forward forwards a request to its owner and writes the response to w.
func (c *Cluster) Forward(ctx context.Context, owner string, f api.Forwarded, w http.ResponseWriter) error {
	if len(f.Body) > most {
		return fmt.Errorf("forward request of %d bytes: %w", len(f.Body), firn.ErrTooLarge)
	}
	o := &outgoing{c: c, frames: make(chan frame, ahead), noListeners: make(chan struct{}, 1), done: make(chan struct{})}
	inbox, stop, err := c.bus.Inbox(o.take)
	if err != nil {
		return err
	}
	defer stop()
	defer close(o.done)
	open, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("forward request: %w", err)
	}
	if err := c.bus.Publish(callTopic(owner), inbox, open); err != nil {
		return err
	}
	theirs, err := o.ready(ctx)
	if err != nil {
		return err
	}
	if err := o.send(theirs, f.Body); err != nil {
		return err
	}
	err = o.receive(ctx, w)
	if ctx.Err() != nil {
		_ = c.bus.Answer(theirs, frame{kind: frameGone}.bytes()) // if it is lost, the owner completes the request
	}
	return err
}

// take handles a frame from the owner.
func (o *outgoing) take(n jetstream.Note) {
	if n.NoListeners {
		select {
		case o.noListeners <- struct{}{}:
		default:
		}
		return
	}
	f, ok := readFrame(n.Data)
	if !ok {
		return
	}
	f.data = append([]byte(nil), f.data...)
	select {
	case o.frames <- f:
	case <-o.done:
	}
}

// ready waits for the owner's first answer and returns its inbox.
func (o *outgoing) ready(ctx context.Context) (string, error) {
	timer := time.NewTimer(readyWait)
	defer timer.Stop()
	select {
	case f := <-o.frames:
		if f.kind != frameReady {
			return "", api.ErrNotDelivered
		}
		o.next = 1
		return string(f.data), nil
	case <-o.noListeners:
	case <-timer.C:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	return "", api.ErrNotDelivered
}

// send sends the body.
func (o *outgoing) send(inbox string, body []byte) error {
	size := o.c.bus.MaxSize() - frameHeader
	for n := uint32(0); ; n++ {
		if len(body) == 0 {
			o.started = true
			return o.c.bus.Answer(inbox, frame{kind: frameGo, number: n}.bytes())
		}
		piece := body[:min(size, len(body))]
		if err := o.c.bus.Answer(inbox, frame{framePiece, n, piece}.bytes()); err != nil {
			return err
		}
		body = body[len(piece):]
	}
}

// receive writes the response to w.
func (o *outgoing) receive(ctx context.Context, w http.ResponseWriter) error {
	timer := time.NewTimer(aliveWait)
	defer timer.Stop()
	for {
		select {
		case f := <-o.frames:
			if f.number != o.next {
				return o.broken()
			}
			o.next++
			timer.Reset(aliveWait)
			if end, err := o.answer(f, w); end || err != nil {
				return err
			}
		case <-timer.C:
			return o.broken()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// answer writes a frame of the response to w and reports whether it was the last.
func (o *outgoing) answer(f frame, w http.ResponseWriter) (bool, error) {
	switch f.kind {
	case frameHead:
		var h head
		if err := json.Unmarshal(f.data, &h); err != nil {
			return true, o.broken()
		}
		if api.IsMisrouted(h.Status, h.Header) {
			return true, api.ErrNotDelivered
		}
		for name, values := range h.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(h.Status)
		o.written = true
	case frameData:
		if _, err := w.Write(f.data); err != nil {
			return true, context.Canceled // the client is gone
		}
		if len(o.frames) == 0 {
			_ = http.NewResponseController(w).Flush() // a writer that cannot flush does so at the end
		}
	case frameEnd:
		return true, nil
	}
	return false, nil
}

// broken returns the error for an owner that stopped answering. If a part of the response
// was written, it aborts the connection.
func (o *outgoing) broken() error {
	if o.written {
		panic(http.ErrAbortHandler) // so that the client does not take it for a complete response
	}
	return &wire.Problem{
		Kind: wire.Unavailable, Message: "the gateway that owns the session disconnected; the outcome is unknown",
		Hint: "check the session, or retry with the same Idempotency-Key",
	}
}
