package route

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"firn.dev"
)

// Key is the permanent name of a conversation: agent:<agent>:<rest>. The session it points
// to may change. Keys are canonical: equivalent keys are equal, so they can be compared and
// used in maps.
type Key struct{ agent, rest string }

// Kind is the kind of a conversation.
type Kind string

// The kinds of keys. Unknown kinds are KindOther and kept unchanged.
const (
	KindMain     Kind = "main"     // the agent's main conversation: main
	KindDirect   Kind = "direct"   // one person: direct:<peer>, <channel>[:<account>]:direct:<peer>
	KindGroup    Kind = "group"    // a group: <channel>:group:<id>, in old stores group:<id>
	KindChannel  Kind = "channel"  // a channel or room: <channel>:channel:<id>
	KindCron     Kind = "cron"     // a job that a timer starts: cron:<job>
	KindHook     Kind = "hook"     // a program that calls a hook: hook:<id>
	KindSubagent Kind = "subagent" // a sub-agent: subagent:<id>
	KindACP      Kind = "acp"      // an editor that uses the Agent Client Protocol: acp:<id>
	KindProject  Kind = "project"  // a directory: project:<path>
	// KindRepository is a git repository on any machine: repository:<address of its remote>.
	KindRepository Kind = "repository"
	KindGlobal     Kind = "global"  // all messages of the agent
	KindUnknown    Kind = "unknown" // conversations that other programs could not classify
	KindOther      Kind = "other"   // anything else
)

// ChatType is the kind of audience of a conversation.
type ChatType string

// The types of chats. Conversations with programs have none.
const (
	ChatDirect  ChatType = "direct"
	ChatGroup   ChatType = "group"
	ChatChannel ChatType = "channel"
)

// Parts are the parts of a key, as encoded in it. Use [EncodeID] for IDs that cannot be part
// of a key unchanged.
type Parts struct {
	Agent string
	Kind  Kind
	// Channel and Account are the channel and our account on it; empty if the key has none.
	Channel, Account string
	// Peer is the other party: a person, a group, a job, a hook, a directory. For KindOther
	// it is the whole rest.
	Peer string
	// Thread is a thread within the conversation; Topic means that the key calls it topic,
	// as for Telegram.
	Thread string
	Topic  bool
}

// maxKey is the maximum length of a key in bytes, as in stores.
const maxKey = 1024

// Parse parses a key of the form agent:<agent>:<rest>, in any historical spelling: upper
// case, dm for direct, room for channel. Paths of projects are case-sensitive. It rejects
// keys without an agent; use [Config.Key] for user input.
func Parse(s string) (Key, error) {
	if err := checkText(s); err != nil {
		return Key{}, err
	}
	low := lower(escapeProject(strings.TrimSpace(s)))
	after, ok := strings.CutPrefix(low, "agent:")
	agent, rest, more := strings.Cut(after, ":")
	if !ok || !more || rest == "" {
		return Key{}, fmt.Errorf("%w key %.80q: want agent:<agent>:<rest>", firn.ErrInvalid, s)
	}
	return newKey(agent, rest)
}

// newKey returns a canonical key for lowercase text.
func newKey(agent, rest string) (Key, error) {
	if !isID(agent) {
		return Key{}, fmt.Errorf("%w agent id %.80q: want 1 to 64 letters, digits, dashes and underscores, and no dash first", firn.ErrInvalid, agent)
	}
	k := Key{agent, split(rest).rest()}
	if n := len(k.String()); n > maxKey {
		return Key{}, fmt.Errorf("%w key %.80q: %d bytes, at most %d are allowed", firn.ErrInvalid, k.String(), n, maxKey)
	}
	return k, nil
}

// Key combines the parts. It rejects parts that would not parse back unchanged: use [EncodeID]
// for external input first.
func (p Parts) Key() (Key, error) {
	p.Agent, p.Channel, p.Account = lower(p.Agent), lower(p.Channel), lower(p.Account)
	p.Peer, p.Thread = lower(p.Peer), lower(p.Thread)
	if p.Agent == "" {
		p.Agent = DefaultAgent
	}
	rest := p.rest()
	if err := checkText(rest); err != nil {
		return Key{}, err
	}
	if back := split(rest); back != p.restOnly() || strings.TrimRightFunc(rest, unicode.IsSpace) != rest {
		return Key{}, fmt.Errorf("%w parts of a key: %.80q is ambiguous", firn.ErrInvalid, rest)
	}
	return newKey(p.Agent, rest)
}

// restOnly returns the parts without the agent.
func (p Parts) restOnly() Parts {
	p.Agent = ""
	return p
}

// checkText rejects text that cannot be part of a key in any encoding.
func checkText(s string) error {
	if s == "" || len(s) > 4*maxKey {
		return fmt.Errorf("%w key %.80q: want 1 to %d bytes", firn.ErrInvalid, s, maxKey)
	}
	if !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("%w key %.80q: want text without control characters", firn.ErrInvalid, s)
	}
	return nil
}

// String formats the key as in files and the API; empty for the zero key.
func (k Key) String() string {
	if k.IsZero() {
		return ""
	}
	return "agent:" + k.agent + ":" + k.rest
}

// IsZero reports whether there is no key.
func (k Key) IsZero() bool { return k == Key{} }

// Agent returns the owner of the conversation.
func (k Key) Agent() string { return k.agent }

// Rest returns the key without its agent.
func (k Key) Rest() string { return k.rest }

// Parts splits the key into its parts.
func (k Key) Parts() Parts {
	if k.IsZero() {
		return Parts{}
	}
	p := split(k.rest)
	p.Agent = k.agent
	return p
}

// Kind returns the kind of the conversation. A thread has the kind of its parent.
func (k Key) Kind() Kind { return k.Parts().Kind }

// Channel returns the channel of the conversation; empty if the key has none.
func (k Key) Channel() string { return k.Parts().Channel }

// Thread returns the thread within the conversation; empty if there is none.
func (k Key) Thread() string { return k.Parts().Thread }

// ChatType returns the type of chat; empty if the other party is a program or unknown.
func (k Key) ChatType() ChatType {
	switch k.Kind() {
	case KindMain, KindDirect:
		return ChatDirect
	case KindGroup:
		return ChatGroup
	case KindChannel:
		return ChatChannel
	}
	return ""
}

// Parent returns the conversation that contains a thread, and the zero key if there is no
// thread.
func (k Key) Parent() Key {
	base, _, _, ok := cutThread(k.rest)
	if !ok {
		return Key{}
	}
	return Key{k.agent, base}
}

// Under returns the key of a thread in this conversation; the key itself if thread is
// empty.
func (k Key) Under(thread string) (Key, error) {
	if thread == "" {
		return k, nil
	}
	p := k.Parts()
	if p.Thread != "" {
		return Key{}, fmt.Errorf("%w thread %.80q: %s is already a thread", firn.ErrInvalid, thread, k)
	}
	p.Thread, p.Topic = thread, false
	return p.Key()
}

// ParentSession returns the session that spawned the session of a key, if it is the key of
// a sub-agent that names it; otherwise empty.
func ParentSession(key string) string {
	k, err := Parse(key)
	if err != nil || k.Kind() != KindSubagent {
		return ""
	}
	parent, _, ok := strings.Cut(k.Parts().Peer, ":")
	if !ok {
		return ""
	}
	return DecodeID(parent)
}

// MarshalText formats the key.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText parses a key; empty text is the zero key.
func (k *Key) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*k = Key{}
		return nil
	}
	*k, err = Parse(string(text))
	return err
}

// heads are the kinds whose rest starts with their name and a colon.
var heads = map[string]Kind{
	"direct": KindDirect, "dm": KindDirect, "group": KindGroup,
	"cron": KindCron, "hook": KindHook, "subagent": KindSubagent, "acp": KindACP, "project": KindProject, "repository": KindRepository,
}

// words are the kinds whose rest is one word.
var words = map[string]Kind{"main": KindMain, "global": KindGlobal, "unknown": KindUnknown}

// peerKinds are the kinds that follow a channel.
var peerKinds = map[string]Kind{
	"direct": KindDirect, "dm": KindDirect, "group": KindGroup, "channel": KindChannel, "room": KindChannel,
}

// split splits the rest of a key. It never fails: unknown forms are KindOther with the
// whole rest as peer.
func split(rest string) Parts {
	base, thread, topic, _ := cutThread(rest)
	p := Parts{Thread: thread, Topic: topic}
	if kind, ok := words[base]; ok {
		p.Kind = kind
		return p
	}
	head, tail, ok := strings.Cut(base, ":")
	if kind, is := heads[head]; is && ok && tail != "" {
		p.Kind, p.Peer = kind, tail
		return p
	}
	second, after, ok := strings.Cut(tail, ":")
	if kind, is := peerKinds[second]; is && ok && after != "" && head != "" {
		p.Kind, p.Channel, p.Peer = kind, head, after
		return p
	}
	third, after, ok := strings.Cut(after, ":")
	if peerKinds[third] == KindDirect && ok && after != "" && head != "" && second != "" {
		p.Kind, p.Channel, p.Account, p.Peer = KindDirect, head, second, after
		return p
	}
	p.Kind, p.Peer = KindOther, base
	return p
}

// cutThread splits a rest at its last thread or topic.
func cutThread(rest string) (base, thread string, topic, ok bool) {
	at, size := strings.LastIndex(rest, ":thread:"), len(":thread:")
	if i := strings.LastIndex(rest, ":topic:"); i > at {
		at, size, topic = i, len(":topic:"), true
	}
	if at <= 0 || at+size == len(rest) {
		return rest, "", false, false
	}
	return rest[:at], rest[at+size:], topic, true
}

// rest formats the parts without the agent.
func (p Parts) rest() string { return p.restWithKind(string(p.Kind)) }

// restWithKind is rest with another word for the kind.
func (p Parts) restWithKind(kind string) string {
	var b []string
	switch p.Kind {
	case KindMain, KindGlobal, KindUnknown:
		b = append(b, kind)
	case KindOther:
		b = append(b, p.Peer)
	case KindDirect, KindGroup, KindChannel:
		if p.Channel != "" {
			b = append(b, p.Channel)
		}
		if p.Account != "" {
			b = append(b, p.Account)
		}
		b = append(b, kind, p.Peer)
	default:
		b = append(b, kind, p.Peer)
	}
	if p.Thread != "" && p.Topic {
		b = append(b, "topic", p.Thread)
	} else if p.Thread != "" {
		b = append(b, "thread", p.Thread)
	}
	return strings.Join(b, ":")
}
