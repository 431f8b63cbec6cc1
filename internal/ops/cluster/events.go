package cluster

import (
	"encoding/json"

	"firn.dev/store/jetstream"
	"firn.dev/wire"
)

// eventTopic is the topic for events.
const eventTopic = "e"

// mostWaiting is the maximum number of events queued for publishing.
const mostWaiting = 4096

// publishedEvent is an event sent to the other gateways. Number counts the events of one
// gateway, so that a receiver notices a lost one.
type publishedEvent struct {
	From   string     `json:"from"`
	Number uint64     `json:"n"`
	Event  wire.Event `json:"event"`
}

// Publish publishes an event to the other gateways. If the queue is full, the event is
// dropped; the others still see the entries in the log.
func (c *Cluster) Publish(e wire.Event) {
	c.publishing.Lock()
	defer c.publishing.Unlock()
	c.number++ // counts dropped events too, so that receivers notice the loss
	select {
	case c.out <- publishedEvent{c.name, c.number, e}:
	default:
	}
}

// publishEvents publishes the queued events.
func (c *Cluster) publishEvents() {
	for {
		select {
		case t := <-c.out:
			data, err := json.Marshal(t)
			if err == nil && len(data) <= c.bus.MaxSize() {
				_ = c.bus.Publish(eventTopic, "", data) // receivers notice a loss by the number
			}
		case <-c.life.Done():
			return
		}
	}
}

// receiveEvents returns the handler for the events of other gateways.
func (c *Cluster) receiveEvents() func(jetstream.Note) {
	last := make(map[string]uint64)
	return func(n jetstream.Note) {
		var t publishedEvent
		if json.Unmarshal(n.Data, &t) != nil || t.From == c.name {
			return
		}
		if before, ok := last[t.From]; ok && t.Number != before+1 {
			c.gateway.Missed(t.From)
		}
		if len(last) > mostKnown {
			clear(last)
		}
		last[t.From] = t.Number
		c.gateway.HandlePeerEvent(t.From, t.Event)
	}
}

// mostKnown is the maximum number of gateways remembered, including those that are gone.
const mostKnown = 10_000
