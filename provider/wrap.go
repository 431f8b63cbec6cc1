package provider

import (
	"context"
	"iter"
)

// Stream is how a model answers: the method of [Model], as a value. What is
// promised there is promised here.
type Stream func(ctx context.Context, req Request) iter.Seq2[Event, error]

// Wrap returns a model that answers with stream, which may ask m, and is in all
// else m: it tells the same of itself, and is a [Counter] if m is one.
func Wrap(m Model, stream Stream) Model {
	w := wrapped{m, stream}
	if counter, ok := m.(Counter); ok {
		return struct {
			wrapped
			Counter
		}{w, counter}
	}
	return w
}

// wrapped is a model that answers in another way.
type wrapped struct {
	Model
	stream Stream
}

// Stream implements [Model].
func (w wrapped) Stream(ctx context.Context, req Request) iter.Seq2[Event, error] {
	return w.stream(ctx, req)
}
