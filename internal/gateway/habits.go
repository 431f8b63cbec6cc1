package gateway

import (
	"context"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/route"
)

// AgentSettings are the settings of one agent that override the general ones.
type AgentSettings struct {
	// Resets determines when sessions expire, Send where answers may be delivered; nil
	// means the general setting.
	Resets *route.Resets
	Send   *route.SendPolicy
	// Turns limits the number of user turns sent in direct conversations, by channel or
	// channel:peer; zero means all. For other conversations the agent's own limit applies.
	Turns map[string]int
	// Delegation configures delegation.
	Delegation Delegation
	// Approvals is the policy for tool calls.
	Approvals Approvals
}

// resets returns the reset policy of an agent.
func (s *Setup) resets(agent string) route.Resets {
	if own := s.Habits[agent].Resets; own != nil {
		return *own
	}
	return s.Resets
}

// send returns the send policy of an agent.
func (s *Setup) send(agent string) route.SendPolicy {
	if own := s.Habits[agent].Send; own != nil {
		return *own
	}
	return s.Send
}

// queue returns the queue policy of a channel.
func (s *Setup) queue(channel string) route.Queue {
	if own, ok := s.Queues[strings.ToLower(channel)]; ok {
		return own.WithDefaults()
	}
	return s.Queue.WithDefaults()
}

// turns returns the turn limit for the conversation of a key: zero means the agent's own
// limit, a negative number means no limit. channel is the channel of origin; empty means
// that of the key.
func (s *Setup) turns(key, channel string) int {
	k, err := route.Parse(key)
	if err != nil || s.Route.ChatType(k) != route.ChatDirect {
		return 0
	}
	limits := s.Habits[k.Agent()].Turns
	if len(limits) == 0 {
		return 0
	}
	if channel == "" {
		channel = k.Channel()
	}
	channel = strings.ToLower(channel)
	found, known := limits[channel]
	for name, n := range limits {
		of, peer, one := strings.Cut(name, ":")
		if one && of == channel && (peer == k.Parts().Peer || route.EncodeID(peer) == k.Parts().Peer || route.EncodeID(strings.ToLower(peer)) == k.Parts().Peer) {
			found, known = n, true
			break
		}
	}
	if known && found == 0 {
		return -1
	}
	return found
}

// turnsOf returns the turn limit of a session; see [Setup.turns].
func (g *lanes) turnsOf(ctx context.Context, id firn.ID, channel string) int {
	setup := g.setup.Load()
	for _, h := range setup.Habits {
		if len(h.Turns) > 0 {
			header, err := g.header(ctx, id)
			if err != nil {
				return 0 // the turn reports the error
			}
			return setup.turns(header.Key, channel)
		}
	}
	return 0
}

// channelOf returns the channel in the key of a session; empty if none.
func (g *lanes) channelOf(ctx context.Context, id firn.ID) string {
	header, err := g.header(ctx, id)
	if err != nil {
		return ""
	}
	k, err := route.Parse(header.Key)
	if err != nil {
		return ""
	}
	return k.Channel()
}
