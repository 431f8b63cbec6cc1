package cluster

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"firn.dev/store/jetstream"
	"firn.dev/wire"
)

// A turn runs on the gateway that holds the session's lease. To list the turns running
// elsewhere, only the holders of leases are asked.

func runningTopic(name string) string { return "r." + name }

// trackHolder records which gateway holds a session.
func (c *Cluster) trackHolder(change jetstream.LeaseChange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if change.Owner == "" || change.Owner == c.name {
		delete(c.held, change.Name)
		return
	}
	c.held[change.Name] = change.Owner
}

// holders returns the other gateways that hold a session.
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

// Running returns the sessions with a turn running on other gateways, as far as these
// answer in time. A guest does not watch leases, and always returns none.
func (c *Cluster) Running(ctx context.Context) []wire.Session {
	asked := c.holders()
	if len(asked) == 0 {
		return nil
	}
	answers := make(chan []wire.Session, len(asked))
	inbox, stop, err := c.bus.Inbox(func(n jetstream.Note) {
		var some []wire.Session
		if !n.NoListeners && json.Unmarshal(n.Data, &some) != nil {
			return
		}
		select {
		case answers <- some:
		default: // more answers than gateways asked
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

// answerRunning sends the running turns of this gateway. It works in a goroutine, so as not
// to block other messages.
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
		for err == nil && len(data) > c.bus.MaxSize() { // those that have run longest are kept
			all = all[:len(all)/2]
			data, err = json.Marshal(all)
		}
		if err == nil {
			_ = c.bus.Answer(n.Reply, data) // the caller does not wait for long
		}
	})
}
