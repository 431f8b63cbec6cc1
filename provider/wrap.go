package provider

import (
	"context"
	"iter"
)

// Stream is the Stream method of a [Model] as a value. The same contract applies.
type Stream func(ctx context.Context, req Request) iter.Seq2[Event, error]

// Wrap returns a model that answers with stream, which may call m. The model has the info
// of m, and is a [Counter] if m is one.
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

// wrapped is a model with a replaced Stream method.
type wrapped struct {
	Model
	stream Stream
}

// Stream implements [Model].
func (w wrapped) Stream(ctx context.Context, req Request) iter.Seq2[Event, error] {
	return w.stream(ctx, req)
}
