package route

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"firn.dev"
)

// Config is how messages find their agent and their key.
type Config struct {
	// Profile says how keys are made.
	Profile Profile
	// Default is the agent of messages that nothing else gives to one; empty
	// means "main".
	Default string
	// Agents are those there are. None at all means that any may be named.
	Agents []Agent
	// MainKey is the rest of an agent's main key; empty means "main".
	MainKey string
	// Global gives each agent one session for everything that is said to it.
	Global bool
	// Scope says how far direct messages are kept apart, and Links who is known
	// by several ids, for agents that do not say it themselves.
	Scope Scope
	Links []Link
	// Bindings give messages to agents.
	Bindings []Binding
	// Folded are the channels whose ids do not tell upper from lower case; nil
	// means [FoldedChannels].
	Folded []string
}

// Agent is an agent that messages can be given to.
type Agent struct {
	ID string
	// Scope and Links, if set, hold for it instead of the general ones.
	Scope Scope
	Links []Link
}

// Scope says how far direct messages are kept apart. Groups, channels and
// threads always have sessions of their own.
type Scope string

// The scopes. An empty one is ScopePerChannelPeer, so that nobody shares a
// session unless somebody said so; in the profile V2026_1 it is ScopeMain, as
// it was there.
const (
	// ScopeMain puts all who write to an agent into one session.
	ScopeMain Scope = "main"
	// ScopePerPeer gives each id a session, whatever channel it comes from.
	ScopePerPeer Scope = "per-peer"
	// ScopePerChannelPeer tells channels apart, too.
	ScopePerChannelPeer Scope = "per-channel-peer"
	// ScopePerAccountChannelPeer also tells our own accounts on them apart.
	ScopePerAccountChannelPeer Scope = "per-account-channel-peer"
)

// Link is a person who is known by several ids: <channel>:<peer>, or <peer>,
// which fits on every channel. Links do not count in ScopeMain.
type Link struct {
	Name string
	IDs  []string
}

// Links makes links of a map, in the order of their names.
func Links(byName map[string][]string) []Link {
	var links []Link
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		links = append(links, Link{name, byName[name]})
	}
	return links
}

// Binding gives the messages that fit all it names to an agent. An empty part,
// or *, fits everything.
type Binding struct {
	Agent            string
	Channel, Account string
	// PeerKind and Peer are a person, a group or a channel. A thread fits the
	// binding of what it is in.
	PeerKind PeerKind
	Peer     string
}

// FoldedChannels lists the channels whose ids are the same person or group in
// upper and in lower case. Elsewhere cases are told apart: ids of Signal's
// groups, for one, are the same but for case and belong to different groups.
func FoldedChannels() []string {
	return []string{"bluebubbles", "cli", "discord", "email", "imessage", "irc", "mattermost", "slack", "sms", "telegram", "tui", "web", "webchat", "whatsapp"}
}

// Check refuses settings that could not be meant: unknown scopes, agents that
// do not exist or are the same, links by which one id is two people.
func (c Config) Check() error {
	seen := make(map[string]bool)
	for _, a := range c.Agents {
		id := NormalizeAgent(a.ID)
		if seen[id] {
			return fmt.Errorf("%w agents: two have the id %s", firn.ErrInvalid, id)
		}
		seen[id] = true
		if err := checkScope(a.Scope); err != nil {
			return fmt.Errorf("agent %s: %w", id, err)
		}
		if err := c.checkLinks(a.Links); err != nil {
			return fmt.Errorf("agent %s: %w", id, err)
		}
	}
	if _, err := c.known(c.defaultAgent()); err != nil {
		return fmt.Errorf("the default agent: %w", err)
	}
	for i, b := range c.Bindings {
		if err := c.checkBinding(b); err != nil {
			return fmt.Errorf("binding %d: %w", i+1, err)
		}
	}
	if main := c.mainKey(); !isID(main) || main != DefaultMain && reserved[main] {
		return fmt.Errorf("%w main key %q: want letters, digits, dashes and underscores, and no word that keys use", firn.ErrInvalid, main)
	}
	if err := checkScope(c.Scope); err != nil {
		return err
	}
	return c.checkLinks(c.Links)
}

func (c Config) checkBinding(b Binding) error {
	if _, err := c.known(NormalizeAgent(b.Agent)); err != nil {
		return err
	}
	if strings.TrimSpace(b.Agent) == "" {
		return fmt.Errorf("%w: it names no agent", firn.ErrInvalid)
	}
	if b.PeerKind != "" {
		if _, err := ParsePeerKind(string(b.PeerKind)); err != nil {
			return err
		}
	}
	if b.PeerKind != "" && anything(b.Peer) {
		return fmt.Errorf("%w: it names a kind of peer and no peer", firn.ErrInvalid)
	}
	return nil
}

func checkScope(s Scope) error {
	switch s {
	case "", ScopeMain, ScopePerPeer, ScopePerChannelPeer, ScopePerAccountChannelPeer:
		return nil
	}
	return fmt.Errorf("%w scope %q: want main, per-peer, per-channel-peer or per-account-channel-peer", firn.ErrInvalid, s)
}

// checkLinks refuses links by which an id is two people, or that lead nowhere.
func (c Config) checkLinks(links []Link) error {
	owner := make(map[string]string)
	for _, l := range links {
		name := linkName(l)
		if name == "" {
			return fmt.Errorf("%w identity link: it has no name", firn.ErrInvalid)
		}
		for _, id := range l.IDs {
			if other, ok := owner[id]; ok && other != name {
				return fmt.Errorf("%w identity links: %q is both %s and %s", firn.ErrInvalid, id, other, name)
			}
			owner[id] = name
		}
	}
	return nil
}

// Key reads a key that somebody names: one with an agent, or one without, which
// then is the default agent's. Nothing, main, and the configured main key all
// mean the main conversation.
func (c Config) Key(request string) (Key, error) {
	request = strings.TrimSpace(request)
	if request == "" {
		return newKey(c.defaultAgent(), c.mainKey())
	}
	if !strings.HasPrefix(lower(request), "agent:") {
		request = "agent:" + c.defaultAgent() + ":" + request
	}
	k, err := Parse(request)
	if err != nil {
		return Key{}, err
	}
	p := k.Parts()
	if p.Kind == KindMain && c.mainKey() != DefaultMain {
		p.Kind, p.Peer = KindOther, c.mainKey()
		return p.Key()
	}
	return k, nil
}

// IsMain reports whether a key is an agent's main conversation.
func (c Config) IsMain(k Key) bool {
	return !k.IsZero() && (k.rest == DefaultMain || k.rest == c.mainKey())
}

// ChatType is the chat type of a key where the main key may have another name.
func (c Config) ChatType(k Key) ChatType {
	if base := k.Parent(); c.IsMain(k) || c.IsMain(base) {
		return ChatDirect
	}
	return k.ChatType()
}

func (c Config) mainKey() string { return NormalizeMain(c.MainKey) }

func (c Config) defaultAgent() string { return NormalizeAgent(c.Default) }

// known returns the settings of an agent, or an error if there is none.
func (c Config) known(id string) (Agent, error) {
	for _, a := range c.Agents {
		if NormalizeAgent(a.ID) == id {
			return a, nil
		}
	}
	if len(c.Agents) > 0 {
		return Agent{}, fmt.Errorf("agent %q: %w", id, firn.ErrNotFound)
	}
	return Agent{ID: id}, nil
}

// scope is the scope that holds for an agent.
func (c Config) scope(a Agent) Scope {
	switch {
	case a.Scope != "":
		return a.Scope
	case c.Scope != "":
		return c.Scope
	case c.Profile == V2026_1:
		return ScopeMain
	}
	return ScopePerChannelPeer
}

// links are the links that hold for an agent.
func (c Config) links(a Agent) []Link {
	if len(a.Links) > 0 {
		return a.Links
	}
	return c.Links
}

// spell writes the id of a peer or a thread as keys on a channel have it.
func (c Config) spell(channel, id string) string {
	if c.Profile == V2026_1 {
		return lower(strings.TrimSpace(id))
	}
	if c.folds(channel) {
		id = lower(id)
	}
	return Spell(id)
}

func (c Config) folds(channel string) bool {
	folded := c.Folded
	if folded == nil {
		folded = FoldedChannels()
	}
	return slices.Contains(folded, channel)
}

// reserved are words that mean something in a key, so that no channel, account
// or main key can be called so.
var reserved = map[string]bool{
	"agent": true, "main": true, "direct": true, "dm": true, "group": true, "channel": true, "room": true, "thread": true, "topic": true,
	"cron": true, "hook": true, "subagent": true, "acp": true, "project": true, "global": true, "unknown": true,
}
