package cluster

import (
	"encoding/json"

	"firn/store/jetstream"
	"firn/wire"
)

// eventTopic is what gateways tell each other on.
const eventTopic = "e"

// mostWaiting is how many events may wait to be told to the others.
const mostWaiting = 4096

// told is an event on its way to the others. Number counts those of one gateway,
// so that who misses one knows.
type told struct {
	From   string     `json:"from"`
	Number uint64     `json:"n"`
	Event  wire.Event `json:"event"`
}

// Tell tells the others what happens here. If too much waits already it is left
// out: what is in the log they see there.
func (c *Cluster) Tell(e wire.Event) {
	c.telling.Lock()
	defer c.telling.Unlock()
	c.number++ // also of what is left out: they shall know that they miss it
	select {
	case c.out <- told{c.name, c.number, e}:
	default:
	}
}

// speak passes on what is to be told.
func (c *Cluster) speak() {
	for {
		select {
		case t := <-c.out:
			data, err := json.Marshal(t)
			if err == nil && len(data) <= c.bus.Most() {
				_ = c.bus.Publish(eventTopic, "", data) // who misses it notices by the number
			}
		case <-c.life.Done():
			return
		}
	}
}

// heard takes in what the others tell.
func (c *Cluster) heard() func(jetstream.Note) {
	last := make(map[string]uint64)
	return func(n jetstream.Note) {
		var t told
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
		c.gateway.Hear(t.From, t.Event)
	}
}

// mostKnown is how many gateways are remembered; those that are gone are among
// them.
const mostKnown = 10_000
