package cluster

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"firn/store/jetstream"
	"firn/wire"
)

// A turn runs where its session's lease is. So to tell what runs elsewhere, those
// are asked who have leases, and nobody if no session is in use.

func runningTopic(name string) string { return "r." + name }

// hold takes note of who has a session.
func (c *Cluster) hold(change jetstream.LeaseChange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if change.Owner == "" || change.Owner == c.name {
		delete(c.held, change.Name)
		return
	}
	c.held[change.Name] = change.Owner
}

// holders are the other gateways that have a session.
func (c *Cluster) holders() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, owner := range c.held {
		if !slices.Contains(all, owner) {
			all = append(all, owner)
		}
	}
	return all
}

// Running tells in which sessions the others have a turn running, as far as they
// answer in time. A guest, which does not watch the others, knows of none.
func (c *Cluster) Running(ctx context.Context) []wire.Session {
	asked := c.holders()
	if len(asked) == 0 {
		return nil
	}
	answers := make(chan []wire.Session, len(asked))
	inbox, stop, err := c.bus.Inbox(func(n jetstream.Note) {
		var some []wire.Session
		if !n.Nobody && json.Unmarshal(n.Data, &some) != nil {
			return
		}
		select {
		case answers <- some:
		default: // more than were asked
		}
	})
	if err != nil {
		return nil
	}
	defer stop()
	timer := time.NewTimer(rollWait)
	defer timer.Stop()
	left := 0
	for _, name := range asked {
		if c.bus.Publish(runningTopic(name), inbox, nil) == nil {
			left++
		}
	}
	var all []wire.Session
	for ; left > 0; left-- {
		select {
		case some := <-answers:
			all = append(all, some...)
		case <-timer.C:
			return all
		case <-ctx.Done():
			return all
		}
	}
	return all
}

// answerRunning tells what runs here. To look is not for the line to wait for.
func (c *Cluster) answerRunning(n jetstream.Note) {
	if n.Reply == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.work.Go(func() {
		all := c.gateway.RunningHere(c.life)
		data, err := json.Marshal(all)
		for err == nil && len(data) > c.bus.Most() { // those that have run longest are told
			all = all[:len(all)/2]
			data, err = json.Marshal(all)
		}
		if err == nil {
			_ = c.bus.Answer(n.Reply, data) // who asked does not wait for long
		}
	})
}
