package agent

import (
	"context"
	"fmt"
	"iter"
	"time"

	"firn.dev/provider"
)

// guardedModel wraps a model. A panic becomes an error, and a model that does not react to
// cancellation is abandoned after stopTimeout.
type guardedModel struct{ provider.Model }

// Stream calls the wrapped model in its own goroutine.
func (s guardedModel) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		w := &eventPipe{events: make(chan modelEvent), left: make(chan struct{})}
		defer w.close()
		defer cancel()
		go w.run(ctx, s.Model, req)
		stopped := ctx.Done()
		for {
			select {
			case result, ok := <-w.events:
				if !ok || !yield(result.event, result.err) || result.err != nil {
					return
				}
			case <-stopped:
				stopped, w.late = nil, time.After(stopTimeout)
			case <-w.late:
				w.expired = true
				yield(nil, context.Cause(ctx))
				return
			}
		}
	}
}

// modelEvent is an event of an answer, or the error that ends it.
type modelEvent struct {
	event provider.Event
	err   error
}

// eventPipe passes the events of a model to the reader.
type eventPipe struct {
	events chan modelEvent
	// left is closed when the reader stops reading.
	left chan struct{}
	// late fires when stopTimeout has passed after cancellation; then the pipe is expired.
	late    <-chan time.Time
	expired bool
}

// run sends the events of the model until it is done or the reader has left.
func (w *eventPipe) run(ctx context.Context, m provider.Model, req provider.Request) {
	defer close(w.events)
	defer func() {
		if p := recover(); p != nil {
			w.send(modelEvent{err: fmt.Errorf("the model panicked: %v", p)})
		}
	}()
	for event, err := range m.Stream(ctx, req) {
		if !w.send(modelEvent{event, err}) {
			return
		}
	}
}

func (w *eventPipe) send(next modelEvent) bool {
	select {
	case w.events <- next:
		return true
	case <-w.left:
		return false
	}
}

// close stops reading and waits up to stopTimeout for a canceled model to end.
func (w *eventPipe) close() {
	close(w.left)
	if w.late == nil {
		w.late = time.After(stopTimeout)
	}
	for !w.expired {
		select {
		case _, more := <-w.events:
			w.expired = !more
		case <-w.late:
			w.expired = true
		}
	}
}
