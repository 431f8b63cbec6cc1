package scripted

import (
	"slices"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/provider"
)

// pieceSize is the number of bytes of text per delta.
const pieceSize = 16

// events returns the events that a step streams before it ends.
func (s Step) events() []provider.Event {
	if s.Events != nil {
		return s.Events
	}
	var events []provider.Event
	for _, part := range s.Parts {
		switch p := part.(type) {
		case firn.Text:
			for piece := range pieces(p.Text) {
				events = append(events, provider.TextDelta{Text: piece})
			}
		case firn.Thinking:
			for piece := range pieces(p.Text) {
				events = append(events, provider.ThinkingDelta{Text: piece})
			}
		case firn.ToolCall:
			events = append(events, provider.CallDelta{ID: p.ID, Name: p.Name})
			for piece := range pieces(string(p.Arguments)) {
				events = append(events, provider.CallDelta{ID: p.ID, Arguments: piece})
			}
		}
	}
	return events
}

// parts returns the complete answer of a step.
func (s Step) parts() []firn.Part {
	if s.Parts != nil || s.Events == nil {
		return slices.Clone(s.Parts)
	}
	var draft provider.Draft
	for _, event := range s.Events {
		draft.Add(event)
	}
	return draft.Parts()
}

// pieces splits a text into pieces of about pieceSize bytes, never within a rune.
func pieces(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for s != "" {
			n := min(pieceSize, len(s))
			for n < len(s) && !utf8.RuneStart(s[n]) {
				n++
			}
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
	}
}

// Len returns the number of events before Done if the step is played to its end.
func (s Step) Len() int { return len(s.events()) }
