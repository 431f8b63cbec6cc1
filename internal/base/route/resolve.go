package route

import (
	"fmt"
	"slices"
	"strings"

	"firn.dev"
)

// Envelope is a message from outside: who says what, where.
type Envelope struct {
	// Agent is asked for by name; usually empty, and the bindings choose.
	Agent string
	// Channel is the network it came over and AccountID our account there.
	Channel, AccountID string
	// PeerKind and PeerID say with whom the conversation is: a person, a group,
	// a channel. ThreadID is a thread in it.
	PeerKind PeerKind
	PeerID   string
	ThreadID string
	// Sender is who speaks; in a direct conversation it is the peer.
	Sender string
	Text   string
	// Attachments come with the text. Routing does not look at them.
	Attachments []firn.Part
	// Key, if set, is the key to use, whatever the rest says.
	Key string
}

// PeerKind says what a conversation is with.
type PeerKind string

// The kinds of peers.
const (
	PeerDirect  PeerKind = "direct"
	PeerGroup   PeerKind = "group"
	PeerChannel PeerKind = "channel"
)

// ParsePeerKind reads a kind of peer, also by its old names dm and room.
func ParsePeerKind(s string) (PeerKind, error) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "direct", "dm":
		return PeerDirect, nil
	case "group":
		return PeerGroup, nil
	case "channel", "room":
		return PeerChannel, nil
	case "":
		return "", fmt.Errorf("%w: no kind of peer is named, want direct, group or channel", firn.ErrInvalid)
	}
	return "", fmt.Errorf("%w kind of peer %q: want direct, group or channel", firn.ErrInvalid, s)
}

// Route is where a message belongs.
type Route struct {
	Key      Key
	Agent    string
	ChatType ChatType
	// Parent is the conversation that a thread is in; no key if it is none.
	Parent Key
	// Reason says in words why this agent answers.
	Reason string
}

// Resolve finds where a message belongs. It refuses a message that does not
// say enough: who a direct message is from, which group it was said in. Two
// messages get the same key only if they are of the same conversation, or the
// scope or a link says that they share one.
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
	e, err := c.tidy(e)
	if err != nil {
		return Route{}, err
	}
	agent, reason, err := c.choose(e)
	if err != nil {
		return Route{}, err
	}
	k, err := c.key(c.place(agent, e))
	return Route{Key: k, Reason: reason}, err
}

// key puts parts together. In the profile V2026_1 it does not matter how they
// are read back.
func (c Config) key(p Parts) (Key, error) {
	if c.Profile != V2026_1 {
		return p.Key()
	}
	if err := checkText(p.rest()); err != nil {
		return Key{}, err
	}
	return newKey(p.Agent, p.rest())
}

// explicit uses the key that the message brings.
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
		return Route{}, fmt.Errorf("%w: the message is for agent %s and key %s is another's", firn.ErrInvalid, NormalizeAgent(e.Agent), k)
	}
	if _, err := c.known(k.Agent()); err != nil {
		return Route{}, err
	}
	return Route{Key: k, Reason: "the message names its key"}, nil
}

// tidy brings an envelope into one form and refuses what is missing.
func (c Config) tidy(e Envelope) (Envelope, error) {
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
		return e, fmt.Errorf("%w: it does not say over which channel it came", firn.ErrInvalid)
	case !isChannel(e.Channel):
		return e, fmt.Errorf("%w channel %.80q: want letters, digits, dots, dashes and underscores, and no word that keys use", firn.ErrInvalid, e.Channel)
	case strings.TrimSpace(e.PeerID) == "" && kind == PeerDirect:
		return e, fmt.Errorf("%w: it does not say who the direct message is from", firn.ErrInvalid)
	case strings.TrimSpace(e.PeerID) == "":
		return e, fmt.Errorf("%w: it does not say which %s it was said in", firn.ErrInvalid, kind)
	}
	return e, nil
}

// lenient fills the gaps as Clawdbot 2026.1 did.
func lenient(e Envelope) Envelope {
	if e.Channel == "" {
		e.Channel = "unknown"
	}
	if strings.TrimSpace(e.PeerID) == "" && e.PeerKind != PeerDirect {
		e.PeerID = "unknown"
	}
	return e
}

// GuessPeerKind tells the kind of a peer by its id, for channels that do not
// say it: WhatsApp's groups end in @g.us, and some ids hold the word. Empty if
// it cannot tell; it never guesses that somebody is alone.
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

// choose finds the agent: the one that the message names, else the first
// binding that fits of the narrowest tier that has one, else the default.
func (c Config) choose(e Envelope) (Agent, string, error) {
	if strings.TrimSpace(e.Agent) != "" {
		a, err := c.agent(e.Agent)
		return a, "the message names its agent", err
	}
	best, at := tierNone, 0
	for i, b := range c.Bindings {
		if t := b.tier(); t > best && c.fits(b, e) {
			best, at = t, i
		}
	}
	if best == tierNone {
		a, err := c.agent(c.Default)
		return a, "no binding fits: the default agent", err
	}
	a, err := c.agent(c.Bindings[at].Agent)
	return a, fmt.Sprintf("binding %d fits the %s", at+1, tierNames[best]), err
}

func (c Config) agent(name string) (Agent, error) {
	id := NormalizeAgent(name)
	a, err := c.known(id)
	a.ID = id
	return a, err
}

// tier is how narrow a binding is.
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
	case !anything(b.Peer):
		return tierPeer
	case !anything(b.Account):
		return tierAccount
	case !anything(b.Channel):
		return tierChannel
	}
	return tierAll
}

// anything reports whether a part of a binding fits everything.
func anything(s string) bool {
	s = strings.TrimSpace(s)
	return s == "" || s == "*"
}

// fits reports whether a tidy message fits all that a binding names.
func (c Config) fits(b Binding, e Envelope) bool {
	if !anything(b.Channel) && lower(strings.TrimSpace(b.Channel)) != e.Channel {
		return false
	}
	if !anything(b.Account) && account(b.Account) != account(e.AccountID) {
		return false
	}
	if anything(b.Peer) {
		return true
	}
	if b.PeerKind != "" {
		if kind, err := ParsePeerKind(string(b.PeerKind)); err != nil || kind != e.PeerKind {
			return false
		}
	}
	return c.spell(e.Channel, b.Peer) == c.spell(e.Channel, e.PeerID)
}

// account is an account's id in one form: our own names, in any case.
func account(id string) string {
	if id = lower(strings.TrimSpace(id)); id == "" {
		return DefaultAccount
	}
	return id
}

// place makes the parts of the key of a tidy message.
func (c Config) place(a Agent, e Envelope) Parts {
	if c.Global {
		return Parts{Agent: a.ID, Kind: KindGlobal}
	}
	p := Parts{Agent: a.ID, Kind: Kind(e.PeerKind), Channel: e.Channel}
	if e.PeerKind == PeerDirect {
		p = c.placeDirect(a, e)
	} else {
		p.Peer = c.spell(e.Channel, e.PeerID)
	}
	if strings.TrimSpace(e.ThreadID) != "" {
		p.Thread = c.spell(e.Channel, e.ThreadID)
		p.Topic = e.Channel == "telegram" && e.PeerKind == PeerGroup
	}
	return p
}

// placeDirect makes the parts of the key of a direct message.
func (c Config) placeDirect(a Agent, e Envelope) Parts {
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
		return main // only the profile V2026_1 lets such a message through
	}
	p := Parts{Agent: a.ID, Kind: KindDirect, Peer: peer}
	if scope != ScopePerPeer {
		p.Channel = e.Channel
	}
	if scope == ScopePerAccountChannelPeer {
		p.Account = c.spellAccount(e.AccountID)
	}
	return p
}

// spellAccount writes an account as keys have it.
func (c Config) spellAccount(id string) string {
	if c.Profile == V2026_1 {
		return NormalizeAccount(id)
	}
	spelt := spell(account(id), true)
	if reserved[spelt] {
		return mask(spelt)
	}
	return spelt
}

// identity is the peer's place in the key: the name of the link that fits, else
// the id. A stranger whose id is the name of a link is spelt so that they are
// not taken for that person.
func (c Config) identity(links []Link, e Envelope) string {
	peer := c.spell(e.Channel, e.PeerID)
	if peer == "" {
		return ""
	}
	for _, l := range links {
		fits := func(id string) bool { return c.means(id, e.Channel, peer) }
		if linkName(l) != "" && slices.ContainsFunc(l.IDs, fits) {
			return c.linkPeer(l)
		}
	}
	taken := func(l Link) bool { return c.linkPeer(l) == peer }
	if c.Profile != V2026_1 && slices.ContainsFunc(links, taken) {
		return mask(peer)
	}
	return peer
}

// means reports whether an id of a link is a peer, as spelt, on a channel. One
// that begins with the name of a channel is of that channel alone, so that no
// one elsewhere can pass for it by being called so.
func (c Config) means(id, channel, peer string) bool {
	of, rest, colon := strings.Cut(id, ":")
	of = lower(strings.TrimSpace(of))
	here := colon && of == channel && c.spell(channel, rest) == peer
	if colon && c.Profile != V2026_1 && isChannel(of) {
		return here
	}
	return here || c.spell(channel, id) == peer
}

func linkName(l Link) string { return lower(strings.TrimSpace(l.Name)) }

// linkPeer is the name of a link as keys have it.
func (c Config) linkPeer(l Link) string {
	if c.Profile == V2026_1 {
		return linkName(l)
	}
	return Spell(linkName(l))
}
