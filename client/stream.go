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

// maxSilence is the time without any data after which a stream is considered dead. A
// gateway sends keep-alives more often than that.
const maxSilence = time.Minute

// errNoData is the error of a stream without data for maxSilence.
var errNoData = errors.New("no data from the gateway for a minute")

// errCut is the error of a stream that ended unexpectedly.
var errCut = fmt.Errorf("the event stream broke: %w", io.ErrUnexpectedEOF)

// stream opens a stream of events and yields them until it ends. If it cannot be opened,
// the error is the first item; otherwise opened is called unless nil. A normal end yields
// no error: its meaning is up to the caller.
func (c *conn) stream(ctx context.Context, r request, body []byte, opened func()) iter.Seq2[wire.Event, error] {
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
		alive := &watchedBody{in: response.Body, cancel: cancel}
		for raw, err := range sse.Read(alive) {
			if err != nil {
				yield(wire.Event{}, c.streamError(ctx, r, err))
				return
			}
			e, err := decodeEvent(raw)
			if err != nil {
				yield(e, c.eventError(r, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// streamError returns the error for an open stream that broke.
func (c *conn) streamError(ctx context.Context, r request, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errNoData):
		return c.unreachable(r.describe(), errNoData)
	case errors.Is(err, firn.ErrTooLarge):
		return fmt.Errorf("%s: %w", r.describe(), err)
	}
	return c.connectionError(ctx, r, err)
}

// eventError returns the error for an event that is a problem or invalid.
func (c *conn) eventError(r request, err error) error {
	if isProblem(err) {
		return err
	}
	return c.notGateway(r.describe(), err.Error())
}

// failedEvent is the name of the event with the error that ends a stream.
const failedEvent = "error"

// decodeEvent decodes an event: its data is the whole event as JSON. An event with the
// error that ends the stream is returned as an error.
func decodeEvent(raw sse.Event) (wire.Event, error) {
	if raw.Name == failedEvent {
		var f wire.Failure
		if json.Unmarshal(raw.Data, &f) == nil && f.Error.Kind != "" {
			return wire.Event{}, &f.Error
		}
	}
	var e wire.Event
	if err := json.Unmarshal(raw.Data, &e); err != nil {
		return wire.Event{}, fmt.Errorf("invalid event in the stream: %w", err)
	}
	if e.Name == "" {
		return wire.Event{}, errors.New("event without a name in the stream")
	}
	return e, nil
}

// watchedBody is a body that is closed if it delivers no data for too long. Only the time
// spent in Read counts.
type watchedBody struct {
	in     io.Reader
	cancel context.CancelCauseFunc
}

// Read reads, and ends the request if no data arrives in time.
func (w *watchedBody) Read(b []byte) (int, error) {
	timer := time.AfterFunc(maxSilence, func() { w.cancel(errNoData) })
	defer timer.Stop()
	return w.in.Read(b)
}
