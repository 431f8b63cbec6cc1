package cluster

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"firn"
	"firn/internal/api"
	"firn/store/jetstream"
	"firn/wire"
)

// A request travels like this. The one who has it calls the owner, with all but
// the body. The owner answers with an inbox; so it is known to be awake. Then the
// body goes there, and only when it is whole the owner acts: an owner that was
// stopped and wakes up later does nothing that nobody waits for any more. The
// answer comes back in pieces, and while there is none, a sign of life.

// kind is what a frame is.
type kind byte

const (
	// from the owner
	frameReady kind = 'r' // its inbox
	frameHead  kind = 'h' // status and header
	frameData  kind = 'd' // a piece of the body
	frameAlive kind = 'a' // nothing yet
	frameEnd   kind = 'z'
	// to the owner
	framePiece kind = 'p' // a piece of the body
	frameGo    kind = 'g' // that was all of it
	frameGone  kind = 'x' // nobody waits any more
)

// frame is a note of a call. Those of one side are numbered, so that a lost one
// is noticed.
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

// head is the head of an answer.
type head struct {
	Status int         `json:"status"`
	Header http.Header `json:"header"`
}

// How long the owner may take to say that it is awake, to say anything at all
// while it acts, and how often it does.
const (
	readyWait = 2 * time.Second
	aliveWait = 12 * time.Second
	aliveBeat = 3 * time.Second
	// most is how large a request may be; the handler has a bound of its own.
	most = 64 << 20
	// ahead is how many frames may wait to be taken.
	ahead = 256
)

func callTopic(name string) string { return "g." + name }

// outgoing is a call as the one sees it who makes it.
type outgoing struct {
	c      *Cluster
	frames chan frame
	nobody chan struct{}
	done   chan struct{}
	next   uint32
	// begun: the owner may have acted. written: the client was told something.
	begun, written bool
}

// Forward passes a request on to its owner, and the answer to w.
func (c *Cluster) Forward(ctx context.Context, owner string, f api.Forwarded, w http.ResponseWriter) error {
	if len(f.Body) > most {
		return fmt.Errorf("pass a request on: it has %d bytes: %w", len(f.Body), firn.ErrTooLarge)
	}
	o := &outgoing{c: c, frames: make(chan frame, ahead), nobody: make(chan struct{}, 1), done: make(chan struct{})}
	inbox, stop, err := c.bus.Inbox(o.take)
	if err != nil {
		return err
	}
	defer stop()
	defer close(o.done)
	open, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("pass a request on: %w", err)
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
		_ = c.bus.Answer(theirs, frame{kind: frameGone}.bytes()) // if it does not hear it, it acts to the end
	}
	return err
}

// take takes in what the owner says.
func (o *outgoing) take(n jetstream.Note) {
	if n.Nobody {
		select {
		case o.nobody <- struct{}{}:
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

// ready waits until the owner says that it is awake, and where it wants the body.
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
	case <-o.nobody:
	case <-timer.C:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	return "", api.ErrNotDelivered
}

// send sends the body.
func (o *outgoing) send(inbox string, body []byte) error {
	size := o.c.bus.Most() - frameHeader
	for n := uint32(0); ; n++ {
		if len(body) == 0 {
			o.begun = true
			return o.c.bus.Answer(inbox, frame{kind: frameGo, number: n}.bytes())
		}
		piece := body[:min(size, len(body))]
		if err := o.c.bus.Answer(inbox, frame{framePiece, n, piece}.bytes()); err != nil {
			return err
		}
		body = body[len(piece):]
	}
}

// receive passes the answer on to w.
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

// answer passes a frame of the answer on, and reports whether it was the last.
func (o *outgoing) answer(f frame, w http.ResponseWriter) (bool, error) {
	switch f.kind {
	case frameHead:
		var h head
		if err := json.Unmarshal(f.data, &h); err != nil {
			return true, o.broken()
		}
		if api.Elsewhere(h.Status, h.Header) {
			return true, api.ErrNotDelivered
		}
		for name, values := range h.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(h.Status)
		o.written = true
	case frameData:
		if _, err := w.Write(f.data); err != nil {
			return true, context.Canceled // who is gone needs no answer
		}
		if len(o.frames) == 0 {
			_ = http.NewResponseController(w).Flush() // one that cannot does so at the end
		}
	case frameEnd:
		return true, nil
	}
	return false, nil
}

// broken is what the client is told when the owner does not answer any more: if
// it was told something already, the rest is missing.
func (o *outgoing) broken() error {
	if o.written {
		panic(http.ErrAbortHandler) // so that nobody takes it for all
	}
	return &wire.Problem{
		Kind: wire.Unavailable, Message: "the gateway that has the session went away: nobody knows whether it did what was asked",
		Hint: "look, or ask again under the same id",
	}
}
