package openai

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"firn.dev"
	"firn.dev/internal/base/sse"
	"firn.dev/provider"
)

// decoder converts a server's events to an answer. It does no I/O, so tests can feed it
// arbitrary input.
type decoder interface {
	// take handles one event of the stream and returns the resulting events. Over reports
	// whether the stream has ended.
	take(event sse.Event) (events []provider.Event, over bool, err error)
	// takeWhole handles an answer that was not streamed.
	takeWhole(body []byte) ([]provider.Event, error)
	// message returns the answer if the server signaled its end. Settled reports whether
	// nothing more, such as the usage, is expected.
	message() (m firn.Message, settled bool, err error)
}

// stream sends a request and yields the answer.
func (w *wire) stream(ctx context.Context, path string, req provider.Request,
	encode func(provider.Request) ([]byte, error), decode func() decoder,
) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		body, err := encode(req)
		if err != nil {
			yield(nil, &provider.Error{Kind: provider.BadRequest, Provider: w.info.Provider, Model: w.info.Name, Err: err})
			return
		}
		answer, err := w.endpoint.Post(ctx, w.info.Name, path, body)
		if err != nil {
			yield(nil, err)
			return
		}
		defer answer.Close()
		blotting := func(event provider.Event, err error) bool { return yield(event, w.endpoint.Redact(err)) }
		t := emitter{info: &w.info, decoder: decode(), yield: blotting}
		t.run(ctx, answer)
	}
}

// emitter reads an answer and yields its events.
type emitter struct {
	decoder
	info  *provider.Info
	yield func(provider.Event, error) bool
}

func (t *emitter) run(ctx context.Context, answer io.Reader) {
	r := bufio.NewReaderSize(answer, 4<<10)
	var readErr error
	var gone bool
	if plain(r) {
		gone, readErr = t.whole(r)
	} else {
		gone, readErr = t.events(r)
	}
	if gone {
		return
	}
	message, settled, err := t.message()
	// A read error after the complete answer is ignored.
	if err == nil && ctx.Err() == nil && (settled || readErr == nil) {
		message.Time = time.Now().UTC().Truncate(time.Millisecond)
		t.yield(provider.Done{Message: message}, nil)
		return
	}
	if readErr != nil {
		err = t.failure(readErr)
	} else if err == nil {
		err = context.Cause(ctx)
	}
	t.yield(nil, err)
}

// plain reports whether the answer is a JSON object instead of a stream. Some servers
// cannot stream and ignore the request for it.
func plain(r *bufio.Reader) bool {
	for n := 1; n <= r.Size(); n++ {
		seen, err := r.Peek(n)
		if err != nil {
			return false
		}
		switch seen[n-1] {
		case ' ', '\t', '\r', '\n':
		default:
			return seen[n-1] == '{'
		}
	}
	return false
}

// events reads a stream. Gone reports whether the consumer stopped or the server's error
// was already yielded.
func (t *emitter) events(r io.Reader) (gone bool, err error) {
	for event, err := range sse.Read(r) {
		if err != nil {
			return false, err
		}
		if len(bytes.TrimSpace(event.Data)) == 0 {
			continue
		}
		events, over, err := t.take(event)
		if !t.emit(events) {
			return true, nil
		}
		if err != nil {
			t.yield(nil, err)
			return true, nil
		}
		if over {
			break
		}
	}
	return false, nil
}

// whole reads an answer that is not a stream.
func (t *emitter) whole(r io.Reader) (gone bool, err error) {
	body, err := io.ReadAll(io.LimitReader(r, sse.MaxEvent+1))
	if err != nil {
		return false, err
	}
	if len(body) > sse.MaxEvent {
		return false, fmt.Errorf("read an answer of more than %d bytes: %w", sse.MaxEvent, firn.ErrTooLarge)
	}
	events, err := t.takeWhole(body)
	if !t.emit(events) {
		return true, nil
	}
	if err != nil {
		t.yield(nil, err)
		return true, nil
	}
	return false, nil
}

// emit yields events. It returns false when the consumer stops.
func (t *emitter) emit(events []provider.Event) bool {
	for _, e := range events {
		if !t.yield(e, nil) {
			return false
		}
	}
	return true
}

// failure converts a read error. Errors of the endpoint are returned unchanged; only the
// size limit gets a message here.
func (t *emitter) failure(err error) error {
	if errors.Is(err, firn.ErrTooLarge) {
		return cutOff(t.info, err)
	}
	return err
}
