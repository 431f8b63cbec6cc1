package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"firn.dev"
	"firn.dev/internal/base/sse"
	"firn.dev/wire"
)

// silence is how long a stream may say nothing at all. A gateway sends a sign
// of life more often than that, so a longer silence is a dead connection that
// nobody closed.
const silence = time.Minute

// errSilent is why a stream is given up that said nothing for too long.
var errSilent = errors.New("the gateway said nothing for a minute")

// errCut says that a stream ended and should not have.
var errCut = fmt.Errorf("the stream of events broke off: %w", io.ErrUnexpectedEOF)

// stream opens a stream of events and yields them until it ends. The error of
// opening it is the first thing that it yields; opened, if not nil, is called
// when that went well. A stream that just ends yields no error: what that means
// is for the caller to say.
func (c *Client) stream(ctx context.Context, r request, body []byte, opened func()) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		response, err := c.send(ctx, r, body, typeStream)
		if err != nil {
			yield(wire.Event{}, err)
			return
		}
		defer response.Body.Close()
		if opened != nil {
			opened()
		}
		if response.StatusCode == http.StatusNoContent {
			return
		}
		alive := &watched{in: response.Body, cancel: cancel}
		for raw, err := range sse.Read(alive) {
			if err != nil {
				yield(wire.Event{}, c.interrupted(ctx, r, err))
				return
			}
			e, err := decodeEvent(raw)
			if err != nil {
				yield(e, c.misread(r, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// interrupted tells why a stream that was open broke.
func (c *Client) interrupted(ctx context.Context, r request, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errSilent):
		return c.unreachable(r.doing(), errSilent)
	case errors.Is(err, firn.ErrTooLarge):
		return fmt.Errorf("%s: %w", r.doing(), err)
	}
	return c.broken(ctx, r, err)
}

// misread tells of an event that is a problem, or none of ours.
func (c *Client) misread(r request, err error) error {
	if isProblem(err) {
		return err
	}
	return c.stranger(r.doing(), err.Error())
}

// failed is the name of the event that says why a stream ends before its time.
const failed = "error"

// decodeEvent reads an event: its data is the whole event as JSON. An event
// that says why the stream ends is returned as an error.
func decodeEvent(raw sse.Event) (wire.Event, error) {
	if raw.Name == failed {
		var f wire.Failure
		if json.Unmarshal(raw.Data, &f) == nil && f.Error.Kind != "" {
			return wire.Event{}, &f.Error
		}
	}
	var e wire.Event
	if err := json.Unmarshal(raw.Data, &e); err != nil {
		return wire.Event{}, fmt.Errorf("an event of the stream cannot be read: %w", err)
	}
	if e.Name == "" {
		return wire.Event{}, errors.New("an event of the stream has no name")
	}
	return e, nil
}

// watched is a body that is given up when it says nothing for too long. Only
// the time in which somebody waits for it counts.
type watched struct {
	in     io.Reader
	cancel context.CancelCauseFunc
}

// Read reads, and ends the request if nothing comes.
func (w *watched) Read(b []byte) (int, error) {
	timer := time.AfterFunc(silence, func() { w.cancel(errSilent) })
	defer timer.Stop()
	return w.in.Read(b)
}
