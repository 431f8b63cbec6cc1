package route

import (
	"fmt"
	"slices"
	"strings"

	"firn.dev"
)

// Envelope is a message from outside.
type Envelope struct {
	// Agent is an explicitly named agent; usually empty, so that the bindings decide.
	Agent string
	// Channel is the network the message arrived on and AccountID our account there.
	Channel, AccountID string
	// PeerKind and PeerID identify the conversation: a person, a group, a channel. ThreadID
	// is a thread in it.
	PeerKind PeerKind
	PeerID   string
	ThreadID string
	// Sender is the author; in a direct conversation it is the peer.
	Sender string
	Text   string
	// Attachments are attached to the text. Routing ignores them.
	Attachments []firn.Part
	// Key, if set, overrides the routing.
	Key string
}

// PeerKind is the kind of a peer.
type PeerKind string

// The kinds of peers.
const (
	PeerDirect  PeerKind = "direct"
	PeerGroup   PeerKind = "group"
	PeerChannel PeerKind = "channel"
)

// ParsePeerKind parses a kind of peer, including the legacy names dm and room.
func ParsePeerKind(s string) (PeerKind, error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "direct", "dm":
		return PeerDirect, nil
	case "group":
		return PeerGroup, nil
	case "channel", "room":
		return PeerChannel, nil
	case "":
		return "", fmt.Errorf("%w: the kind of peer is missing, want direct, group or channel", firn.ErrInvalid)
	}
	return "", fmt.Errorf("%w kind of peer %q: want direct, group or channel", firn.ErrInvalid, s)
}

// Route is the destination of a message.
type Route struct {
	Key      Key
	Agent    string
	ChatType ChatType
	// Parent is the conversation that contains the thread; the zero key if there is no
	// thread.
	Parent Key
	// Reason describes why this agent answers.
	Reason string
}

// Resolve determines the route of a message. It rejects a message with missing data, such
// as the sender of a direct message or the ID of a group. Two messages get the same key
// only if they belong to the same conversation, or share one by scope or link.
func Resolve(c Config, e Envelope) (Route, error) {
	r, err := c.resolve(e)
	if err != nil {
		return Route{}, fmt.Errorf("route a message: %w", err)
	}
	r.Agent = r.Key.Agent()
	r.ChatType = c.ChatType(r.Key)
	r.Parent = r.Key.Parent()
	return r, nil
}

func (c Config) resolve(e Envelope) (Route, error) {
	if strings.TrimSpace(e.Key) != "" {
		return c.explicit(e)
	}
	e, err := c.normalize(e)
	if err != nil {
		return Route{}, err
	}
	agent, reason, err := c.choose(e)
	if err != nil {
		return Route{}, err
	}
	k, err := c.key(c.keyParts(agent, e))
	return Route{Key: k, Reason: reason}, err
}

// key combines parts into a key. In the profile V2026_1 the key need not parse back to the
// same parts.
func (c Config) key(p Parts) (Key, error) {
	if c.Profile != V2026_1 {
		return p.Key()
	}
	if err := checkText(p.rest()); err != nil {
		return Key{}, err
	}
	return newKey(p.Agent, p.rest())
}

// explicit uses the key in the message.
func (c Config) explicit(e Envelope) (Route, error) {
	request := e.Key
	if e.Agent != "" {
		c.Default = e.Agent
	}
	k, err := c.Key(request)
	if err != nil {
		return Route{}, err
	}
	if e.Agent != "" && k.Agent() != NormalizeAgent(e.Agent) {
		return Route{}, fmt.Errorf("%w: the message is for agent %s, but key %s belongs to another agent", firn.ErrInvalid, NormalizeAgent(e.Agent), k)
	}
	if _, err := c.findAgent(k.Agent()); err != nil {
		return Route{}, err
	}
	return Route{Key: k, Reason: "the message names the key"}, nil
}

// normalize normalizes an envelope and rejects missing data.
func (c Config) normalize(e Envelope) (Envelope, error) {
	e.Channel = lower(strings.TrimSpace(e.Channel))
	if strings.TrimSpace(string(e.PeerKind)) == "" {
		e.PeerKind = GuessPeerKind(e.Channel, e.PeerID)
	}
	kind, err := ParsePeerKind(string(e.PeerKind))
	if err != nil {
		return e, err
	}
	e.PeerKind = kind
	if kind == PeerDirect && e.PeerID == "" {
		e.PeerID = e.Sender
	}
	if c.Profile == V2026_1 {
		return lenient(e), nil
	}
	switch {
	case e.Channel == "":
		return e, fmt.Errorf("%w: the channel is missing", firn.ErrInvalid)
	case !isChannel(e.Channel):
		return e, fmt.Errorf("%w channel %.80q: want letters, digits, dots, dashes and underscores, and not a reserved word", firn.ErrInvalid, e.Channel)
	case strings.TrimSpace(e.PeerID) == "" && kind == PeerDirect:
		return e, fmt.Errorf("%w: the sender of the direct message is missing", firn.ErrInvalid)
	case strings.TrimSpace(e.PeerID) == "":
		return e, fmt.Errorf("%w: the ID of the %s is missing", firn.ErrInvalid, kind)
	}
	return e, nil
}

// lenient fills in missing data as Clawdbot 2026.1 did.
func lenient(e Envelope) Envelope {
	if e.Channel == "" {
		e.Channel = "unknown"
	}
	if strings.TrimSpace(e.PeerID) == "" && e.PeerKind != PeerDirect {
		e.PeerID = "unknown"
	}
	return e
}

// GuessPeerKind guesses the kind of a peer from its ID, for channels that do not provide
// it: WhatsApp's groups end in @g.us, and some IDs contain the word. It returns an empty
// kind if it cannot tell, and never guesses a direct chat.
func GuessPeerKind(channel, peer string) PeerKind {
	peer = strings.ToLower(peer)
	switch {
	case channel == "whatsapp" && strings.HasSuffix(peer, "@g.us"), strings.Contains(peer, ":group:"):
		return PeerGroup
	case strings.Contains(peer, ":channel:"):
		return PeerChannel
	}
	return ""
}

// isChannel reports whether s can be the name of a channel in a key.
func isChannel(s string) bool {
	return isID(strings.ReplaceAll(s, ".", "_")) && !reserved[s]
}

// choose returns the agent: the one named in the message, else that of the first matching
// binding of the most specific tier, else the default.
func (c Config) choose(e Envelope) (Agent, string, error) {
	if strings.TrimSpace(e.Agent) != "" {
		a, err := c.agent(e.Agent)
		return a, "the message names the agent", err
	}
	best, at := tierNone, 0
	for i, b := range c.Bindings {
		if t := b.tier(); t > best && c.fits(b, e) {
			best, at = t, i
		}
	}
	if best == tierNone {
		a, err := c.agent(c.Default)
		return a, "no binding matches: the default agent", err
	}
	a, err := c.agent(c.Bindings[at].Agent)
	return a, fmt.Sprintf("binding %d matches the %s", at+1, tierNames[best]), err
}

func (c Config) agent(name string) (Agent, error) {
	id := NormalizeAgent(name)
	a, err := c.findAgent(id)
	a.ID = id
	return a, err
}

// tier is how specific a binding is.
type tier int

const (
	tierNone tier = iota
	tierAll
	tierChannel
	tierAccount
	tierPeer
)

var tierNames = [...]string{tierAll: "rest", tierChannel: "channel", tierAccount: "account", tierPeer: "peer"}

func (b Binding) tier() tier {
	switch {
	case !isWildcard(b.Peer):
		return tierPeer
	case !isWildcard(b.Account):
		return tierAccount
	case !isWildcard(b.Channel):
		return tierChannel
	}
	return tierAll
}

// isWildcard reports whether a field of a binding matches everything.
func isWildcard(s string) bool {
	s = strings.TrimSpace(s)
	return s == "" || s == "*"
}

// fits reports whether a normalized message matches all fields of a binding.
func (c Config) fits(b Binding, e Envelope) bool {
	if !isWildcard(b.Channel) && lower(strings.TrimSpace(b.Channel)) != e.Channel {
		return false
	}
	if !isWildcard(b.Account) && normalizeAccountID(b.Account) != normalizeAccountID(e.AccountID) {
		return false
	}
	if isWildcard(b.Peer) {
		return true
	}
	if b.PeerKind != "" {
		if kind, err := ParsePeerKind(string(b.PeerKind)); err != nil || kind != e.PeerKind {
			return false
		}
	}
	return c.encodeID(e.Channel, b.Peer) == c.encodeID(e.Channel, e.PeerID)
}

// normalizeAccountID lowercases the ID of an account; empty means DefaultAccount.
func normalizeAccountID(id string) string {
	if id = lower(strings.TrimSpace(id)); id == "" {
		return DefaultAccount
	}
	return id
}

// keyParts returns the parts of the key of a normalized message.
func (c Config) keyParts(a Agent, e Envelope) Parts {
	if c.Global {
		return Parts{Agent: a.ID, Kind: KindGlobal}
	}
	p := Parts{Agent: a.ID, Kind: Kind(e.PeerKind), Channel: e.Channel}
	if e.PeerKind == PeerDirect {
		p = c.directParts(a, e)
	} else {
		p.Peer = c.encodeID(e.Channel, e.PeerID)
	}
	if strings.TrimSpace(e.ThreadID) != "" {
		p.Thread = c.encodeID(e.Channel, e.ThreadID)
		p.Topic = e.Channel == "telegram" && e.PeerKind == PeerGroup
	}
	return p
}

// directParts returns the parts of the key of a direct message.
func (c Config) directParts(a Agent, e Envelope) Parts {
	main := Parts{Agent: a.ID, Kind: KindMain}
	if c.mainKey() != DefaultMain {
		main.Kind, main.Peer = KindOther, c.mainKey()
	}
	scope := c.scope(a)
	if scope == ScopeMain {
		return main
	}
	peer := c.identity(c.links(a), e)
	if peer == "" {
		return main // only the profile V2026_1 accepts such a message
	}
	p := Parts{Agent: a.ID, Kind: KindDirect, Peer: peer}
	if scope != ScopePerPeer {
		p.Channel = e.Channel
	}
	if scope == ScopePerAccountChannelPeer {
		p.Account = c.encodeAccount(e.AccountID)
	}
	return p
}

// encodeAccount encodes an account for keys.
func (c Config) encodeAccount(id string) string {
	if c.Profile == V2026_1 {
		return NormalizeAccount(id)
	}
	encoded := encodeID(normalizeAccountID(id), true)
	if reserved[encoded] {
		return escapeFirst(encoded)
	}
	return encoded
}

// identity returns the peer for the key: the name of the matching link, else the ID. If the
// ID of another peer equals the name of a link, it is escaped, so that the two are not
// confused.
func (c Config) identity(links []Link, e Envelope) string {
	peer := c.encodeID(e.Channel, e.PeerID)
	if peer == "" {
		return ""
	}
	for _, l := range links {
		fits := func(id string) bool { return c.linkMatches(id, e.Channel, peer) }
		if linkName(l) != "" && slices.ContainsFunc(l.IDs, fits) {
			return c.linkPeer(l)
		}
	}
	taken := func(l Link) bool { return c.linkPeer(l) == peer }
	if c.Profile != V2026_1 && slices.ContainsFunc(links, taken) {
		return escapeFirst(peer)
	}
	return peer
}

// linkMatches reports whether an ID of a link matches an encoded peer on a channel. An ID
// with a channel prefix matches only on that channel, so that a peer elsewhere cannot
// impersonate it.
func (c Config) linkMatches(id, channel, peer string) bool {
	of, rest, colon := strings.Cut(id, ":")
	of = lower(strings.TrimSpace(of))
	here := colon && of == channel && c.encodeID(channel, rest) == peer
	if colon && c.Profile != V2026_1 && isChannel(of) {
		return here
	}
	return here || c.encodeID(channel, id) == peer
}

func linkName(l Link) string { return lower(strings.TrimSpace(l.Name)) }

// linkPeer returns the name of a link as encoded in keys.
func (c Config) linkPeer(l Link) string {
	if c.Profile == V2026_1 {
		return linkName(l)
	}
	return EncodeID(linkName(l))
}
