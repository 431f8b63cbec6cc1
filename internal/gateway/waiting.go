package gateway

import (
	"firn.dev"
	"firn.dev/wire"
)

// longestWaiting is the maximum length of a reported queued message, in bytes.
const longestWaiting = 400

// waitingIn returns the queued messages of a session, the next one first. Tickets that
// resume a turn have no text and are not included.
func (g *lanes) waitingIn(id firn.ID) []wire.Waiting {
	l := g.laneOf(id)
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []wire.Waiting
	for _, t := range l.queue {
		if t.state().inQueue() {
			all = append(all, wire.Waiting{ID: t.ID, Text: firn.CutText(t.Text, longestWaiting), Sender: t.Sender})
		}
	}
	return all
}
