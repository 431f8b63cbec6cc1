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

	"firn"
	"firn/internal/sse"
	"firn/provider"
)

// decoder makes an answer of what a server sends. It reads nothing by itself,
// so that it can be fed with anything.
type decoder interface {
	// take takes one event of the stream and returns what came with it. Over
	// says that there is nothing more to be read.
	take(event sse.Event) (events []provider.Event, over bool, err error)
	// takeWhole takes an answer that was not streamed.
	takeWhole(body []byte) ([]provider.Event, error)
	// message is the answer, if the server said that it is whole. Settled says
	// that nothing is missing that might still come, like the usage.
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
		blotting := func(event provider.Event, err error) bool { return yield(event, w.endpoint.Blot(err)) }
		t := teller{info: &w.info, decoder: decode(), yield: blotting}
		t.tell(ctx, answer)
	}
}

// teller reads an answer and tells it to who ranges over it.
type teller struct {
	decoder
	info  *provider.Info
	yield func(provider.Event, error) bool
}

func (t *teller) tell(ctx context.Context, answer io.Reader) {
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
	// What breaks when all has come breaks nothing.
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

// plain reports whether the answer is no stream but one JSON object: some
// servers cannot stream, and answer so whatever they are asked.
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

// events reads a stream. Gone says that nobody listens any more, or that the
// server's own complaint was told.
func (t *teller) events(r io.Reader) (gone bool, err error) {
	for event, err := range sse.Read(r) {
		if err != nil {
			return false, err
		}
		if len(bytes.TrimSpace(event.Data)) == 0 {
			continue
		}
		events, over, err := t.take(event)
		if !t.all(events) {
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

// whole reads an answer that is no stream.
func (t *teller) whole(r io.Reader) (gone bool, err error) {
	body, err := io.ReadAll(io.LimitReader(r, sse.MaxEvent+1))
	if err != nil {
		return false, err
	}
	if len(body) > sse.MaxEvent {
		return false, fmt.Errorf("read an answer of more than %d bytes: %w", sse.MaxEvent, firn.ErrTooLarge)
	}
	events, err := t.takeWhole(body)
	if !t.all(events) {
		return true, nil
	}
	if err != nil {
		t.yield(nil, err)
		return true, nil
	}
	return false, nil
}

// all tells events until nobody listens any more.
func (t *teller) all(events []provider.Event) bool {
	for _, e := range events {
		if !t.yield(e, nil) {
			return false
		}
	}
	return true
}

// failure is why reading failed. The endpoint says it as it must be said; only
// that there was too much of it is for us to say.
func (t *teller) failure(err error) error {
	if errors.Is(err, firn.ErrTooLarge) {
		return cutOff(t.info, err)
	}
	return err
}
