// Package scripted provides a model that plays a script, for tests and demos.
//
// Each request is answered by the next [Step]. A step can send text, call tools, fail,
// break off, hang, wait, or overflow. The model records its requests for inspection. It
// uses neither the network nor package testing, so a process started by a test can use it
// too.
package scripted

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/provider"
)

// Step is the answer to one request. The zero step answers with an empty message that ends
// normally.
type Step struct {
	// Before runs first. An error that it returns ends the stream.
	Before func(ctx context.Context) error
	// OverflowAt rejects requests of more than this many tokens as too long. Zero means the
	// window of the model.
	OverflowAt int64
	// Parts is the answer. It is streamed in pieces.
	Parts []firn.Part
	// Events, if not nil, are streamed instead of the pieces of Parts. If Parts is empty,
	// the answer is assembled from Events.
	Events []provider.Event
	// Delay is the pause before each event.
	Delay time.Duration
	// Stop is the stop reason. Empty means StopToolUse if there are calls, otherwise
	// StopEnd.
	Stop firn.StopReason
	// Usage is the usage of the answer; nil means an estimate. If it has no cost, the cost
	// is computed from the model's price.
	Usage *firn.Usage
	// End selects how the step ends after After events. After is ignored if End is Whole.
	End   End
	After int
	// Err is the error at the end of the stream if End is Failed.
	Err error
	// Forever plays the step for this and all following requests.
	Forever bool
}

// End selects how a step ends.
type End int

// The ways a step can end.
const (
	// Complete sends the whole answer and Done.
	Complete End = iota
	// Failed ends with Err.
	Failed
	// Broken ends with the error of a broken connection.
	Broken
	// Silent ends with neither Done nor an error, which violates the contract of a model.
	Silent
	// Hung sends nothing more until the context is done.
	Hung
)

// Reply returns a step that answers with text.
func Reply(text string) Step {
	return Step{Parts: []firn.Part{firn.Text{Text: text}}}
}

// Think returns a step with thinking, followed by text.
func Think(thinking, text string) Step {
	return Step{Parts: []firn.Part{firn.Thinking{Text: thinking, Signature: "scripted"}, firn.Text{Text: text}}}
}

// Call returns a step that calls a tool. Args holds the arguments as JSON.
func Call(id, name, args string) Step {
	return Step{Parts: []firn.Part{firn.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(args)}}}
}

// Join combines the parts of several steps into one answer. All other fields are those of
// the first step.
func Join(first Step, more ...Step) Step {
	first.Parts = slices.Clone(first.Parts)
	for _, s := range more {
		first.Parts = append(first.Parts, s.Parts...)
	}
	return first
}

// Fail returns a step that fails with an error before any event.
func Fail(err error) Step { return Step{End: Failed, Err: err} }

// Cut breaks the connection after the given number of events of the step.
func Cut(after int, s Step) Step {
	s.End, s.After = Broken, after
	return s
}

// Hang sends the given number of events of the step, then nothing until the context is
// done.
func Hang(after int, s Step) Step {
	s.End, s.After = Hung, after
	return s
}

// Forever returns a step that is repeated for all following requests.
func Forever(s Step) Step {
	s.Forever = true
	return s
}
