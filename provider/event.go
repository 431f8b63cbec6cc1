package provider

import (
	"time"

	"firn.dev"
)

// Event is a part of a streamed answer: [TextDelta], [ThinkingDelta], [CallDelta],
// [Retrying] or [Done]. The set is closed.
type Event interface{ event() }

// TextDelta is the next piece of text.
type TextDelta struct{ Text string }

// ThinkingDelta is the next piece of the model's thinking.
type ThinkingDelta struct{ Text string }

// CallDelta is a piece of a tool call. Only the first piece of each call has the name.
type CallDelta struct {
	ID, Name string
	// Arguments is the next piece of the JSON.
	Arguments string
}

// Retrying reports that the answer so far is abandoned and the request is retried after a
// delay. Only [Ask] sends it.
type Retrying struct {
	// Attempt counts from 1 for the first retry.
	Attempt int
	// Retries is the maximum number of retries.
	Retries int
	Delay   time.Duration
	Err     error
}

// Done is the complete answer: parts with their signatures, usage with its cost, stop
// reason, provider and model. The caller owns it.
type Done struct{ Message firn.Message }

func (TextDelta) event()     {}
func (ThinkingDelta) event() {}
func (CallDelta) event()     {}
func (Retrying) event()      {}
func (Done) event()          {}
