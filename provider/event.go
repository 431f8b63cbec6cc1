package provider

import (
	"encoding/json"
	"slices"
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

// Draft is what has come of an answer so far. The zero draft is empty.
type Draft struct {
	parts []firn.Part
	// args are the arguments of the calls among parts, by place.
	args map[int][]byte
}

// Add takes the next event. Done and Retrying leave a draft as it is.
func (d *Draft) Add(e Event) {
	last := len(d.parts) - 1
	switch e := e.(type) {
	case TextDelta:
		if last >= 0 {
			if t, ok := d.parts[last].(firn.Text); ok {
				t.Text += e.Text
				d.parts[last] = t
				return
			}
		}
		d.parts = append(d.parts, firn.Text{Text: e.Text})
	case ThinkingDelta:
		if last >= 0 {
			if t, ok := d.parts[last].(firn.Thinking); ok {
				t.Text += e.Text
				d.parts[last] = t
				return
			}
		}
		d.parts = append(d.parts, firn.Thinking{Text: e.Text})
	case CallDelta:
		d.call(e)
	}
}

func (d *Draft) call(e CallDelta) {
	if e.Name != "" || len(d.parts) == 0 {
		d.parts = append(d.parts, firn.ToolCall{ID: e.ID, Name: e.Name})
	}
	if d.args == nil {
		d.args = make(map[int][]byte)
	}
	last := len(d.parts) - 1
	d.args[last] = append(d.args[last], e.Arguments...)
}

// Parts returns what there is: text and thinking as far as they came, and the
// calls whose arguments came whole.
func (d *Draft) Parts() []firn.Part {
	parts := slices.Clone(d.parts)
	whole := parts[:0]
	for i, p := range parts {
		if call, ok := p.(firn.ToolCall); ok {
			if !json.Valid(d.args[i]) {
				continue
			}
			call.Arguments = d.args[i]
			p = call
		}
		whole = append(whole, p)
	}
	return whole
}
