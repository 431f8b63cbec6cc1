package cluster

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"firn.dev/store/jetstream"
	"firn.dev/wire"
)

// rollTopic is the topic for listing the members.
const rollTopic = "w"

// rollWait is how long to wait for answers.
const rollWait = 300 * time.Millisecond

// Roll returns the gateways and servers of the cluster. There is no membership list: all
// gateways are asked, and those that answer are members.
func (c *Cluster) Roll(ctx context.Context) (wire.Cluster, error) {
	servers, err := c.o.Engine.Servers(ctx)
	if err != nil {
		return wire.Cluster{}, err
	}
	var out wire.Cluster
	for _, s := range servers {
		out.Servers = append(out.Servers, wire.ClusterServer(s))
	}
	others, err := c.call(ctx)
	if err != nil {
		return wire.Cluster{}, err
	}
	slices.SortFunc(others, func(a, b wire.ClusterGateway) int { return strings.Compare(a.Name, b.Name) })
	out.Gateways = append([]wire.ClusterGateway{c.self(ctx)}, others...)
	return out, nil
}

// call asks the other gateways and returns those that answer in time.
func (c *Cluster) call(ctx context.Context) ([]wire.ClusterGateway, error) {
	var mu sync.Mutex
	var others []wire.ClusterGateway
	inbox, stop, err := c.bus.Inbox(func(n jetstream.Note) {
		var g wire.ClusterGateway
		if n.NoListeners || json.Unmarshal(n.Data, &g) != nil || g.Name == c.name {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		others = append(others, g)
	})
	if err != nil {
		return nil, err
	}
	defer stop()
	if err := c.bus.Publish(rollTopic, inbox, nil); err != nil {
		return nil, err
	}
	if err := c.pause(ctx, rollWait); err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(others), nil
}

// answerRoll answers a roll call.
func (c *Cluster) answerRoll(n jetstream.Note) {
	if n.Reply == "" || c.o.Guest {
		return
	}
	data, err := json.Marshal(c.self(c.life))
	if err == nil {
		_ = c.bus.Answer(n.Reply, data) // the caller asks again
	}
}

// self describes this gateway.
func (c *Cluster) self(ctx context.Context) wire.ClusterGateway {
	g := wire.ClusterGateway{Name: c.name, Leads: c.Leads(), Owns: c.owns()}
	if c.gateway != nil {
		g.Address, g.Version = c.gateway.Address, c.gateway.Version
		g.Running = len(c.gateway.RunningHere(ctx))
	}
	return g
}

// owns returns the number of sessions owned by this gateway.
func (c *Cluster) owns() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, h := range c.holdings {
		select {
		case h.turn <- struct{}{}:
			if h.session != "" && h.lease != nil {
				n++
			}
			<-h.turn
		default: // being acquired or released
		}
	}
	return n
}
