package gateway

import (
	"context"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/route"
)

// Habits are what holds for one agent instead of what holds for all.
type Habits struct {
	// Resets says when its sessions end by themselves, Send where its answers
	// may go; nil leaves it at what holds for all.
	Resets *route.Resets
	Send   *route.SendPolicy
	// Turns bounds how many turns of the user are sent in direct conversations,
	// by channel or channel:peer; zero means all. What is not named leaves it to
	// the agent.
	Turns map[string]int
	// Delegation says how it may delegate.
	Delegation Delegation
}

// resets says when the sessions of an agent end by themselves.
func (s *Setup) resets(agent string) route.Resets {
	if own := s.Habits[agent].Resets; own != nil {
		return *own
	}
	return s.Resets
}

// send says where the answers of an agent may go.
func (s *Setup) send(agent string) route.SendPolicy {
	if own := s.Habits[agent].Send; own != nil {
		return *own
	}
	return s.Send
}

// queue says what becomes of messages of a channel that come while a turn is
// running.
func (s *Setup) queue(channel string) route.Queue {
	if own, ok := s.Queues[strings.ToLower(channel)]; ok {
		return own.Settle()
	}
	return s.Queue.Settle()
}

// turns bounds how many turns are sent to an agent in the conversation of a
// key: zero leaves it to the agent, less than zero means all. Channel is where
// the message came from; empty means that of the key.
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
		if one && of == channel && (peer == k.Parts().Peer || route.Spell(peer) == k.Parts().Peer || route.Spell(strings.ToLower(peer)) == k.Parts().Peer) {
			found, known = n, true
			break
		}
	}
	if known && found == 0 {
		return -1
	}
	return found
}

// turnsOf bounds how many turns of a session are sent; see [Setup.turns].
func (g *Gateway) turnsOf(ctx context.Context, id firn.ID, channel string) int {
	setup := g.setup.Load()
	for _, h := range setup.Habits {
		if len(h.Turns) > 0 {
			header, err := g.header(ctx, id)
			if err != nil {
				return 0 // the turn finds out what is wrong
			}
			return setup.turns(header.Key, channel)
		}
	}
	return 0
}

// channelOf is the channel that the key of a session tells; empty if none.
func (g *Gateway) channelOf(ctx context.Context, id firn.ID) string {
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
