package route

import (
	"slices"
	"strings"
)

// Bounds limits access to sessions and the notes made from them. It is determined when a
// request arrives and is passed on to all work that the request starts. The zero value
// admits nothing, so missing bounds fail closed.
type Bounds struct {
	all          bool
	agents, keys []string
}

// Everything admits all sessions: the owner's bounds.
func Everything() Bounds { return Bounds{all: true} }

// BoundTo admits sessions of the given agents under the given keys. An empty list does not
// restrict: with two empty lists the bounds are [Everything].
func BoundTo(agents, keys []string) Bounds {
	if len(agents)+len(keys) == 0 {
		return Everything()
	}
	return Bounds{agents: slices.Clone(agents), keys: slices.Clone(keys)}
}

// Conversation admits only the sessions of the conversation that a key belongs to, for an
// external participant. For the key of a thread that is the conversation with all its
// threads. An invalid key admits nothing.
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
// admits only itself, regardless of the caller.
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

// Admits reports whether a session of an agent with a key is within the bounds. A session
// without a key is not, if there are bounds by key.
func (b Bounds) Admits(agent, key string) bool {
	switch {
	case b.all:
		return true
	case b.Empty(), len(b.agents) > 0 && !slices.Contains(b.agents, agent):
		return false
	}
	return len(b.keys) == 0 || key != "" && slices.ContainsFunc(b.keys, func(prefix string) bool { return Under(key, prefix) })
}

// AdmitsAgent reports whether everything of an agent is within the bounds, including the
// notes of its own conversations.
func (b Bounds) AdmitsAgent(agent string) bool { return b.Admits(agent, "") }

// KnowsAgent reports whether any session of an agent can be within the bounds.
func (b Bounds) KnowsAgent(agent string) bool {
	return b.AdmitsAgent(agent) || len(b.keys) > 0 && (len(b.agents) == 0 || slices.Contains(b.agents, agent)) &&
		slices.ContainsFunc(b.keys, func(prefix string) bool { return AgentOf(prefix) == agent })
}

// Cover returns the key of the bounds that contains a key, the widest if there are several;
// empty if there is none.
func (b Bounds) Cover(key string) string {
	found := ""
	for _, k := range b.keys {
		if k = strings.TrimSuffix(k, ":"); key != "" && Under(key, k) && (found == "" || len(k) < len(found)) {
			found = k
		}
	}
	return found
}

// Agents returns the agents named in the bounds, if any.
func (b Bounds) Agents() []string { return slices.Clone(b.agents) }

// And returns the intersection of two bounds.
func (b Bounds) And(other Bounds) Bounds {
	switch {
	case b.all:
		return other
	case other.all:
		return b
	case b.Empty() || other.Empty():
		return Bounds{}
	}
	agents, some := intersect(b.agents, other.agents, func(a, b string) (string, bool) { return a, a == b })
	if !some {
		return Bounds{}
	}
	keys, some := intersect(b.keys, other.keys, func(a, b string) (string, bool) {
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

// Equal reports whether two bounds have the same representation. Different bounds may still
// admit the same sessions.
func (b Bounds) Equal(other Bounds) bool {
	return b.all == other.all && slices.Equal(b.agents, other.agents) && slices.Equal(b.keys, other.keys)
}

// Empty reports whether nothing is admitted.
func (b Bounds) Empty() bool { return !b.all && len(b.agents)+len(b.keys) == 0 }

// intersect returns the intersection of two lists; false if it is empty. An empty list does
// not restrict.
func intersect(a, b []string, both func(a, b string) (string, bool)) ([]string, bool) {
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

// Under reports whether a key equals a prefix or continues it with another segment:
// agent:main:telegram2 is not under agent:main:telegram.
func Under(key, prefix string) bool {
	rest, ok := strings.CutPrefix(key, strings.TrimSuffix(prefix, ":"))
	return ok && (rest == "" || rest[0] == ':')
}

// AgentOf returns the agent of a key or a key prefix; empty if it has none.
func AgentOf(key string) string {
	rest, ok := strings.CutPrefix(key, "agent:")
	if !ok {
		return ""
	}
	agent, _, _ := strings.Cut(rest, ":")
	return agent
}
