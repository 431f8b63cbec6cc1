package route

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"firn.dev"
)

// Config configures the routing of messages to agents and keys.
type Config struct {
	// Profile is the way keys are made.
	Profile Profile
	// Default is the agent of messages without another assignment; empty means "main".
	Default string
	// Agents are the known agents. If empty, any agent may be named.
	Agents []Agent
	// MainKey is the rest of an agent's main key; empty means "main".
	MainKey string
	// Global gives each agent a single session for all messages.
	Global bool
	// Scope is the separation of direct messages, and Links are people with several IDs,
	// for agents without their own settings.
	Scope Scope
	Links []Link
	// Bindings assign messages to agents.
	Bindings []Binding
	// Folded are the channels with case-insensitive IDs; nil means [FoldedChannels].
	Folded []string
}

// Agent is an agent that messages can be assigned to.
type Agent struct {
	ID string
	// Scope and Links, if set, override the general ones.
	Scope Scope
	Links []Link
}

// Scope is the separation of direct messages. Groups, channels and threads always have
// their own sessions.
type Scope string

// The scopes. An empty one means ScopePerChannelPeer, so that no two people share a session
// unless configured; in the profile V2026_1 it means ScopeMain, as it did there.
const (
	// ScopeMain puts all direct messages of an agent into one session.
	ScopeMain Scope = "main"
	// ScopePerPeer gives each ID a session, regardless of the channel.
	ScopePerPeer Scope = "per-peer"
	// ScopePerChannelPeer also separates channels.
	ScopePerChannelPeer Scope = "per-channel-peer"
	// ScopePerAccountChannelPeer also separates our own accounts on a channel.
	ScopePerAccountChannelPeer Scope = "per-account-channel-peer"
)

// Link is a person with several IDs: <channel>:<peer>, or <peer>, which matches on every
// channel. Links are ignored in ScopeMain.
type Link struct {
	Name string
	IDs  []string
}

// Links converts a map to links, sorted by name.
func Links(byName map[string][]string) []Link {
	var links []Link
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		links = append(links, Link{name, byName[name]})
	}
	return links
}

// Binding assigns the messages that match all its fields to an agent. An empty field, or *,
// matches everything.
type Binding struct {
	Agent            string
	Channel, Account string
	// PeerKind and Peer identify a person, a group or a channel. A thread matches the
	// binding of its parent.
	PeerKind PeerKind
	Peer     string
}

// FoldedChannels lists the channels with case-insensitive IDs. Other channels are
// case-sensitive: on Signal, for example, IDs of different groups may differ only in case.
func FoldedChannels() []string {
	return []string{"bluebubbles", "cli", "discord", "email", "imessage", "irc", "mattermost", "slack", "sms", "telegram", "tui", "web", "webchat", "whatsapp"}
}

// Check rejects invalid settings: unknown scopes, unknown or duplicate agents, links that
// assign one ID to two people.
func (c Config) Check() error {
	seen := make(map[string]bool)
	for _, a := range c.Agents {
		id := NormalizeAgent(a.ID)
		if seen[id] {
			return fmt.Errorf("%w agents: the ID %s is used twice", firn.ErrInvalid, id)
		}
		seen[id] = true
		if err := checkScope(a.Scope); err != nil {
			return fmt.Errorf("agent %s: %w", id, err)
		}
		if err := c.checkLinks(a.Links); err != nil {
			return fmt.Errorf("agent %s: %w", id, err)
		}
	}
	if _, err := c.findAgent(c.defaultAgent()); err != nil {
		return fmt.Errorf("the default agent: %w", err)
	}
	for i, b := range c.Bindings {
		if err := c.checkBinding(b); err != nil {
			return fmt.Errorf("binding %d: %w", i+1, err)
		}
	}
	if main := c.mainKey(); !isID(main) || main != DefaultMain && reserved[main] {
		return fmt.Errorf("%w main key %q: want letters, digits, dashes and underscores, and not a reserved word", firn.ErrInvalid, main)
	}
	if err := checkScope(c.Scope); err != nil {
		return err
	}
	return c.checkLinks(c.Links)
}

func (c Config) checkBinding(b Binding) error {
	if _, err := c.findAgent(NormalizeAgent(b.Agent)); err != nil {
		return err
	}
	if strings.TrimSpace(b.Agent) == "" {
		return fmt.Errorf("%w: the agent is missing", firn.ErrInvalid)
	}
	if b.PeerKind != "" {
		if _, err := ParsePeerKind(string(b.PeerKind)); err != nil {
			return err
		}
	}
	if b.PeerKind != "" && isWildcard(b.Peer) {
		return fmt.Errorf("%w: the kind of peer is given without the peer", firn.ErrInvalid)
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

// checkLinks rejects links that assign an ID to two people, or that are empty.
func (c Config) checkLinks(links []Link) error {
	owner := make(map[string]string)
	for _, l := range links {
		name := linkName(l)
		if name == "" {
			return fmt.Errorf("%w identity link: the name is missing", firn.ErrInvalid)
		}
		for _, id := range l.IDs {
			if other, ok := owner[id]; ok && other != name {
				return fmt.Errorf("%w identity links: %q is linked to both %s and %s", firn.ErrInvalid, id, other, name)
			}
			owner[id] = name
		}
	}
	return nil
}

// Key parses a key given by a user, with an agent or, for the default agent, without. An
// empty string, main and the configured main key all mean the main conversation.
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

// ChatType returns the chat type of a key, considering the configured main key.
func (c Config) ChatType(k Key) ChatType {
	if base := k.Parent(); c.IsMain(k) || c.IsMain(base) {
		return ChatDirect
	}
	return k.ChatType()
}

func (c Config) mainKey() string { return NormalizeMain(c.MainKey) }

func (c Config) defaultAgent() string { return NormalizeAgent(c.Default) }

// findAgent returns the settings of an agent, or an error if it is unknown.
func (c Config) findAgent(id string) (Agent, error) {
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

// scope returns the scope of an agent.
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

// links returns the links of an agent.
func (c Config) links(a Agent) []Link {
	if len(a.Links) > 0 {
		return a.Links
	}
	return c.Links
}

// encodeID encodes the ID of a peer or a thread for keys of a channel.
func (c Config) encodeID(channel, id string) string {
	if c.Profile == V2026_1 {
		return lower(strings.TrimSpace(id))
	}
	if c.folds(channel) {
		id = lower(id)
	}
	return EncodeID(id)
}

func (c Config) folds(channel string) bool {
	folded := c.Folded
	if folded == nil {
		folded = FoldedChannels()
	}
	return slices.Contains(folded, channel)
}

// reserved are words with a special meaning in a key, which cannot be the name of a
// channel, account or main key.
var reserved = map[string]bool{
	"agent": true, "main": true, "direct": true, "dm": true, "group": true, "channel": true, "room": true, "thread": true, "topic": true,
	"cron": true, "hook": true, "subagent": true, "acp": true, "project": true, "repository": true, "global": true, "unknown": true,
}
