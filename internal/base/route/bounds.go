package route

import (
	"slices"
	"strings"
)

// Bounds is what an asker may see and change: sessions, and the notes made of
// them. It is decided where a request comes in and travels with everything that
// the request begins. The zero value admits nothing, so bounds that were lost on
// the way admit nothing either.
type Bounds struct {
	all          bool
	agents, keys []string
}

// Everything admits all sessions: the owner's bounds.
func Everything() Bounds { return Bounds{all: true} }

// BoundTo admits sessions of some agents, under some keys. An empty list does not
// restrict: with two empty lists the bounds are [Everything].
func BoundTo(agents, keys []string) Bounds {
	if len(agents)+len(keys) == 0 {
		return Everything()
	}
	return Bounds{agents: slices.Clone(agents), keys: slices.Clone(keys)}
}

// Conversation admits the sessions of the conversation that a key belongs to, for
// somebody outside who has a part in no other. Of the key of a thread that is the
// conversation with all its threads. What is no key admits nothing.
func Conversation(key string) Bounds {
	k, err := Parse(key)
	if err != nil {
		return Bounds{}
	}
	if in := k.Parent(); !in.IsZero() {
		k = in
	}
	return BoundTo([]string{k.Agent()}, []string{k.String()})
}

// In returns the bounds of a turn in the session of a key: a conversation with people
// admits itself only, whoever asks in it.
func (b Bounds) In(key string) Bounds {
	k, err := Parse(key)
	if err != nil {
		return b
	}
	switch k.Kind() {
	case KindDirect, KindGroup, KindChannel:
		return b.And(Conversation(key))
	}
	return b
}

// Unbounded reports whether everything is admitted.
func (b Bounds) Unbounded() bool { return b.all }

// Admits reports whether a session of an agent, under a key, is within the bounds.
// A session without a key is not, if there are bounds by key.
func (b Bounds) Admits(agent, key string) bool {
	switch {
	case b.all:
		return true
	case b.Empty(), len(b.agents) > 0 && !slices.Contains(b.agents, agent):
		return false
	}
	return len(b.keys) == 0 || key != "" && slices.ContainsFunc(b.keys, func(prefix string) bool { return Under(key, prefix) })
}

// AdmitsAgent reports whether all that belongs to an agent is within the bounds, such
// as the notes of its own conversations.
func (b Bounds) AdmitsAgent(agent string) bool { return b.Admits(agent, "") }

// KnowsAgent reports whether something of an agent is within the bounds.
func (b Bounds) KnowsAgent(agent string) bool {
	return b.AdmitsAgent(agent) || len(b.keys) > 0 && (len(b.agents) == 0 || slices.Contains(b.agents, agent)) &&
		slices.ContainsFunc(b.keys, func(prefix string) bool { return AgentOf(prefix) == agent })
}

// Cover returns the key of the bounds that a key is under, the widest if there are
// several; empty if there is none.
func (b Bounds) Cover(key string) string {
	found := ""
	for _, k := range b.keys {
		if k = strings.TrimSuffix(k, ":"); key != "" && Under(key, k) && (found == "" || len(k) < len(found)) {
			found = k
		}
	}
	return found
}

// Agents returns the agents that the bounds name; none if they name none.
func (b Bounds) Agents() []string { return slices.Clone(b.agents) }

// And returns the bounds that admit what both admit.
func (b Bounds) And(other Bounds) Bounds {
	switch {
	case b.all:
		return other
	case other.all:
		return b
	case b.Empty() || other.Empty():
		return Bounds{}
	}
	agents, some := common(b.agents, other.agents, func(a, b string) (string, bool) { return a, a == b })
	if !some {
		return Bounds{}
	}
	keys, some := common(b.keys, other.keys, func(a, b string) (string, bool) {
		if Under(a, b) {
			return a, true
		}
		return b, Under(b, a)
	})
	if !some {
		return Bounds{}
	}
	return Bounds{agents: agents, keys: keys}
}

// Equal reports whether two bounds are spelt alike. Those that are not may still admit
// the same.
func (b Bounds) Equal(other Bounds) bool {
	return b.all == other.all && slices.Equal(b.agents, other.agents) && slices.Equal(b.keys, other.keys)
}

// Empty reports whether nothing is admitted.
func (b Bounds) Empty() bool { return !b.all && len(b.agents)+len(b.keys) == 0 }

// common returns what two lists have in common; false if that is nothing. An empty
// list does not restrict.
func common(a, b []string, both func(a, b string) (string, bool)) ([]string, bool) {
	if len(a) == 0 || len(b) == 0 {
		return slices.Concat(a, b), true
	}
	var found []string
	for _, x := range a {
		for _, y := range b {
			if z, ok := both(x, y); ok && !slices.Contains(found, z) {
				found = append(found, z)
			}
		}
	}
	return found, len(found) > 0
}

// Under reports whether a key is a prefix, or continues it with another segment:
// agent:main:telegram2 is not under agent:main:telegram.
func Under(key, prefix string) bool {
	rest, ok := strings.CutPrefix(key, strings.TrimSuffix(prefix, ":"))
	return ok && (rest == "" || rest[0] == ':')
}

// AgentOf returns the agent that a key, or the beginning of one, names; empty if it
// names none.
func AgentOf(key string) string {
	rest, ok := strings.CutPrefix(key, "agent:")
	if !ok {
		return ""
	}
	agent, _, _ := strings.Cut(rest, ":")
	return agent
}
