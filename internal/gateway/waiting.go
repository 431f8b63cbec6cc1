package gateway

import (
	"firn.dev"
	"firn.dev/wire"
)

// longestWaiting bounds what is told of a message that waits, in bytes.
const longestWaiting = 400

// waitingIn are the messages that wait in a session, the next one first. What
// goes on with what was not answered says nothing, and is not among them.
func (g *Gateway) waitingIn(id firn.ID) []wire.Waiting {
	l := g.laneOf(id)
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []wire.Waiting
	for _, t := range l.queue {
		if t.queued && !t.resume {
			all = append(all, wire.Waiting{ID: t.ID, Text: firn.CutText(t.Text, longestWaiting), Sender: t.Sender})
		}
	}
	return all
}
