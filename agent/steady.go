package agent

import (
	"context"
	"fmt"
	"iter"
	"time"

	"firn.dev/provider"
)

// steady is a model that keeps its manners whatever the one behind it does: a
// panic is an error, and if it does not notice that it was stopped it is not
// waited for any longer than patience.
type steady struct{ provider.Model }

// Stream asks the model behind it, beside whoever listens.
func (s steady) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		w := &words{said: make(chan word), left: make(chan struct{})}
		defer w.leave()
		defer cancel()
		go w.speak(ctx, s.Model, req)
		stopped := ctx.Done()
		for {
			select {
			case said, ok := <-w.said:
				if !ok || !yield(said.event, said.err) || said.err != nil {
					return
				}
			case <-stopped:
				stopped, w.late = nil, time.After(patience)
			case <-w.late:
				w.expired = true
				yield(nil, context.Cause(ctx))
				return
			}
		}
	}
}

// word is an event of an answer, or why there are no more.
type word struct {
	event provider.Event
	err   error
}

// words are what a model says, on their way to who listens.
type words struct {
	said chan word
	// left is closed when nobody listens any more.
	left chan struct{}
	// late fires when a model that was stopped has had time to notice; then it
	// is expired.
	late    <-chan time.Time
	expired bool
}

// speak passes on what the model says until it is done or nobody listens.
func (w *words) speak(ctx context.Context, m provider.Model, req provider.Request) {
	defer close(w.said)
	defer func() {
		if p := recover(); p != nil {
			w.pass(word{err: fmt.Errorf("the model broke down: %v", p)})
		}
	}()
	for event, err := range m.Stream(ctx, req) {
		if !w.pass(word{event, err}) {
			return
		}
	}
}

func (w *words) pass(next word) bool {
	select {
	case w.said <- next:
		return true
	case <-w.left:
		return false
	}
}

// leave ends the listening, and waits for a model that was stopped to notice.
func (w *words) leave() {
	close(w.left)
	if w.late == nil {
		w.late = time.After(patience)
	}
	for !w.expired {
		select {
		case _, more := <-w.said:
			w.expired = !more
		case <-w.late:
			w.expired = true
		}
	}
}
