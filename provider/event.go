package provider

import (
	"time"

	"firn"
)

// Event is a piece of an answer on its way: [TextDelta], [ThinkingDelta],
// [CallDelta], [Retrying] or [Done]. The set is closed.
type Event interface{ event() }

// TextDelta is the next piece of text.
type TextDelta struct{ Text string }

// ThinkingDelta is the next piece of what the model says to itself.
type ThinkingDelta struct{ Text string }

// CallDelta is a piece of a tool call. The first piece of each call has its
// name, the others have none.
type CallDelta struct {
	ID, Name string
	// Arguments is the next piece of the JSON.
	Arguments string
}

// Retrying says that what came so far will not be finished and the model is
// asked again, after a delay. Only [Ask] sends it.
type Retrying struct {
	// Attempt counts from 1 for the first retry.
	Attempt int
	Delay   time.Duration
	Err     error
}

// Done is the whole answer: parts with their signatures, usage with its cost,
// stop reason, and who gave it. It is the caller's to keep.
type Done struct{ Message firn.Message }

func (TextDelta) event()     {}
func (ThinkingDelta) event() {}
func (CallDelta) event()     {}
func (Retrying) event()      {}
func (Done) event()          {}
