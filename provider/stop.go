package provider

import (
	"iter"
	"strings"

	"firn.dev"
)

// cutAtStop returns the events of an answer that ends before the first of the given
// sequences in its text. Parts after it are left out. The stream is read to its end, so that
// the usage is complete: a provider that is sent the sequences has ended it there anyway.
func cutAtStop(events iter.Seq2[Event, error], stop []string) iter.Seq2[Event, error] {
	if len(stop) == 0 {
		return events
	}
	return func(yield func(Event, error) bool) {
		c := stopCutter{stop: stop}
		for event, err := range events {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range c.pass(event) {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// stopCutter cuts off an answer.
type stopCutter struct {
	stop []string
	// held is text that may be the beginning of a sequence.
	held string
	// over means that a sequence was found in the text.
	over bool
}

// pass returns the events to yield for an event.
func (c *stopCutter) pass(event Event) []Event {
	switch e := event.(type) {
	case TextDelta:
		return c.text(e.Text)
	case Done:
		e.Message = cutMessage(e.Message, c.stop)
		return append(c.flush(), e)
	case CallDelta:
		return append(c.flush(), c.unlessOver(e)...)
	}
	return c.unlessOver(event)
}

// unlessOver returns an event unless the answer is over.
func (c *stopCutter) unlessOver(event Event) []Event {
	if c.over {
		return nil
	}
	return []Event{event}
}

// text passes text on as far as it is certain that no sequence begins in it.
func (c *stopCutter) text(piece string) []Event {
	if c.over {
		return nil
	}
	text := c.held + piece
	if at, ok := firstStop(text, c.stop); ok {
		c.over, c.held = true, ""
		return textEvent(text[:at])
	}
	keep := longestBeginning(text, c.stop)
	c.held = text[len(text)-keep:]
	return textEvent(text[:len(text)-keep])
}

// flush returns the held text: no sequence follows.
func (c *stopCutter) flush() []Event {
	text := c.held
	c.held = ""
	return textEvent(text)
}

// textEvent returns the event for a text, or none if it is empty.
func textEvent(text string) []Event {
	if text == "" {
		return nil
	}
	return []Event{TextDelta{Text: text}}
}

// firstStop returns the position of the first sequence in a text.
func firstStop(text string, stop []string) (at int, ok bool) {
	at = len(text)
	for _, s := range stop {
		if i := strings.Index(text, s); s != "" && i >= 0 && i < at {
			at, ok = i, true
		}
	}
	return at, ok
}

// longestBeginning returns the length of the longest end of a text that a sequence begins
// with.
func longestBeginning(text string, stop []string) (longest int) {
	for _, s := range stop {
		for n := min(len(s)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, s[:n]) {
				longest = n
			}
		}
	}
	return longest
}

// cutMessage cuts a message off before the first sequence in one of its texts.
func cutMessage(m firn.Message, stop []string) firn.Message {
	for i, part := range m.Parts {
		text, ok := part.(firn.Text)
		if !ok {
			continue
		}
		at, found := firstStop(text.Text, stop)
		if !found {
			continue
		}
		parts := append([]firn.Part{}, m.Parts[:i]...)
		if text.Text = text.Text[:at]; at > 0 {
			parts = append(parts, text)
		}
		m.Parts, m.StopReason = parts, firn.StopEnd
		return m
	}
	return m
}
