// Package scripted is a model that plays a script, for tests and demos.
//
// Each request is answered by the next [Step]. A step can say something, call
// tools, fail, break off, hang, wait, or overflow; what the model was asked is
// kept for the test to look at. It needs no network and nothing of package
// testing, so a process that a test starts can use it too.
package scripted

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"firn"
	"firn/provider"
)

// Step is how one request is answered. The zero step answers with nothing:
// an empty message that ends well.
type Step struct {
	// Before runs first; an error it returns ends the stream.
	Before func(ctx context.Context) error
	// OverflowAt refuses requests of more tokens than this as too long; zero
	// leaves it to the window of the model.
	OverflowAt int64
	// Parts are the answer. They are streamed in pieces.
	Parts []firn.Part
	// Events are streamed instead of the pieces of Parts, if not nil. Without
	// Parts the answer is what they say.
	Events []provider.Event
	// Delay passes before each event.
	Delay time.Duration
	// Stop is why the answer ends; empty means StopToolUse if there are calls,
	// else StopEnd.
	Stop firn.StopReason
	// Usage is what the answer used; nil means an estimate. Its cost is worked
	// out from the model's price if there is none.
	Usage *firn.Usage
	// End is what happens when After events were sent; After counts only if End
	// is not Whole.
	End   End
	After int
	// Err is what the stream ends with if End is Failed.
	Err error
	// Forever plays the step for this request and all that follow.
	Forever bool
}

// End is how a step ends.
type End int

// How a step ends.
const (
	// Whole sends the whole answer and Done.
	Whole End = iota
	// Failed ends with an error.
	Failed
	// Broken ends with the error of a connection that broke.
	Broken
	// Silent ends with neither Done nor an error, which no good model does.
	Silent
	// Hung sends nothing more until the context ends.
	Hung
)

// Say answers with text.
func Say(text string) Step {
	return Step{Parts: []firn.Part{firn.Text{Text: text}}}
}

// Think thinks, then answers with text.
func Think(thinking, text string) Step {
	return Step{Parts: []firn.Part{firn.Thinking{Text: thinking, Signature: "scripted"}, firn.Text{Text: text}}}
}

// Call calls a tool. Args are the arguments as JSON.
func Call(id, name, args string) Step {
	return Step{Parts: []firn.Part{firn.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(args)}}}
}

// Join makes one answer of the parts of several steps; all else is as the first
// says.
func Join(first Step, more ...Step) Step {
	first.Parts = slices.Clone(first.Parts)
	for _, s := range more {
		first.Parts = append(first.Parts, s.Parts...)
	}
	return first
}

// Fail fails with an error before anything is said.
func Fail(err error) Step { return Step{End: Failed, Err: err} }

// Cut breaks the connection when so many events of the step were sent.
func Cut(after int, s Step) Step {
	s.End, s.After = Broken, after
	return s
}

// Hang sends so many events of the step, and then nothing until the context
// ends.
func Hang(after int, s Step) Step {
	s.End, s.After = Hung, after
	return s
}

// Forever plays a step again and again.
func Forever(s Step) Step {
	s.Forever = true
	return s
}
