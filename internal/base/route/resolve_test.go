package route_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/route"
)

// message is a direct message over Telegram, changed by how.
func message(how func(*route.Envelope)) route.Envelope {
	e := route.Envelope{Channel: "telegram", PeerKind: "direct", PeerID: "12"}
	if how != nil {
		how(&e)
	}
	return e
}

func TestResolve(t *testing.T) {
	links := []route.Link{{Name: "Alice", IDs: []string{"telegram:12", "signal:XY", "555"}}}
	cases := []struct {
		name   string
		config route.Config
		e      route.Envelope
		key    string
		chat   route.ChatType
		parent string
	}{
		{"no scope keeps people apart", route.Config{}, message(nil), "agent:main:telegram:direct:12", "direct", ""},
		{"main", route.Config{Scope: route.ScopeMain}, message(nil), "agent:main:main", "direct", ""},
		{"main by another name", route.Config{Scope: route.ScopeMain, MainKey: "Home"}, message(nil), "agent:main:home", "direct", ""},
		{"per peer", route.Config{Scope: route.ScopePerPeer}, message(nil), "agent:main:direct:12", "direct", ""},
		{"per account", route.Config{Scope: route.ScopePerAccountChannelPeer}, message(func(e *route.Envelope) { e.AccountID = "Bot_2" }), "agent:main:telegram:bot_2:direct:12", "direct", ""},
		{"no account", route.Config{Scope: route.ScopePerAccountChannelPeer}, message(nil), "agent:main:telegram:default:direct:12", "direct", ""},
		{"an account that is a number", route.Config{Scope: route.ScopePerAccountChannelPeer}, message(func(e *route.Envelope) { e.AccountID = "+49:1" }), "agent:main:telegram:+49%3a1:direct:12", "direct", ""},
		{"an account called like a kind", route.Config{Scope: route.ScopePerAccountChannelPeer}, message(func(e *route.Envelope) { e.AccountID = "group" }), "agent:main:telegram:%67roup:direct:12", "direct", ""},
		{"the sender is the peer", route.Config{}, message(func(e *route.Envelope) { e.PeerID, e.Sender = "", "7" }), "agent:main:telegram:direct:7", "direct", ""},
		{"the old name of direct", route.Config{}, message(func(e *route.Envelope) { e.PeerKind = "DM" }), "agent:main:telegram:direct:12", "direct", ""},
		{"the agent's own scope", route.Config{Scope: route.ScopeMain, Agents: []route.Agent{{ID: "main", Scope: route.ScopePerPeer}}}, message(nil), "agent:main:direct:12", "direct", ""},
		{"everything in one", route.Config{Global: true}, message(nil), "agent:main:global", "", ""},
		{"a link", route.Config{Links: links}, message(nil), "agent:main:telegram:direct:alice", "direct", ""},
		{"a link without a channel", route.Config{Links: links, Scope: route.ScopePerPeer}, message(func(e *route.Envelope) { e.Channel, e.PeerID = "irc", "555" }), "agent:main:direct:alice", "direct", ""},
		{"a link where cases differ", route.Config{Links: links}, message(func(e *route.Envelope) { e.Channel, e.PeerID = "signal", "XY" }), "agent:main:signal:direct:alice", "direct", ""},
		{"not the one that is linked", route.Config{Links: links}, message(func(e *route.Envelope) { e.Channel, e.PeerID = "signal", "xy" }), "agent:main:signal:direct:xy", "direct", ""},
		{"a link of another channel", route.Config{Links: links}, message(func(e *route.Envelope) { e.Channel = "irc" }), "agent:main:irc:direct:12", "direct", ""},
		{"called like an id elsewhere", route.Config{Links: links}, message(func(e *route.Envelope) { e.Channel, e.PeerID = "irc", "telegram:12" }), "agent:main:irc:direct:telegram:12", "direct", ""},
		{"an unlinked sender called alice", route.Config{Links: links}, message(func(e *route.Envelope) { e.PeerID = "ALICE" }), "agent:main:telegram:direct:%61lice", "direct", ""},
		{"no links in main", route.Config{Links: links, Scope: route.ScopeMain}, message(nil), "agent:main:main", "direct", ""},
		{"the agent's own links", route.Config{Links: links, Agents: []route.Agent{{ID: "main", Links: []route.Link{{Name: "bob", IDs: []string{"12"}}}}}}, message(nil), "agent:main:telegram:direct:bob", "direct", ""},
		{"a group", route.Config{Scope: route.ScopeMain}, message(func(e *route.Envelope) { e.PeerKind = "group" }), "agent:main:telegram:group:12", "group", ""},
		{"a room", route.Config{}, message(func(e *route.Envelope) { e.Channel, e.PeerKind, e.PeerID = "Slack", "room", "C0A" }), "agent:main:slack:channel:c0a", "channel", ""},
		{"a case that matters", route.Config{}, message(func(e *route.Envelope) { e.Channel, e.PeerKind, e.PeerID = "signal", "group", "aB=" }), "agent:main:signal:group:a%42=", "group", ""},
		{"a case that was said not to", route.Config{Folded: []string{"signal"}}, message(func(e *route.Envelope) { e.Channel, e.PeerKind, e.PeerID = "signal", "group", "aB=" }), "agent:main:signal:group:ab=", "group", ""},
		{"a topic", route.Config{}, message(func(e *route.Envelope) { e.PeerKind, e.PeerID, e.ThreadID = "group", "-1", "7" }), "agent:main:telegram:group:-1:topic:7", "group", "agent:main:telegram:group:-1"},
		{"a thread", route.Config{}, message(func(e *route.Envelope) { e.Channel, e.PeerKind, e.ThreadID = "slack", "channel", "1.2" }), "agent:main:slack:channel:12:thread:1.2", "channel", "agent:main:slack:channel:12"},
		{"a thread in main", route.Config{Scope: route.ScopeMain}, message(func(e *route.Envelope) { e.ThreadID = "9" }), "agent:main:main:thread:9", "direct", "agent:main:main"},
		{"a thread with colons", route.Config{}, message(func(e *route.Envelope) { e.ThreadID = "$a:b" }), "agent:main:telegram:direct:12:thread:$a:b", "direct", "agent:main:telegram:direct:12"},
		{"a peer like a thread", route.Config{}, message(func(e *route.Envelope) { e.PeerID = "12:thread:9" }), "agent:main:telegram:direct:12%3athread%3a9", "direct", ""},
		{"a peer with colons", route.Config{}, message(func(e *route.Envelope) { e.Channel, e.PeerID = "matrix", "@a:b.org" }), "agent:main:matrix:direct:@a:b.org", "direct", ""},
		{"WhatsApp's groups", route.Config{}, message(func(e *route.Envelope) { e.Channel, e.PeerKind, e.PeerID = "whatsapp", "", "9@G.us" }), "agent:main:whatsapp:group:9@g.us", "group", ""},
		{"an own key", route.Config{Default: "crab"}, route.Envelope{Key: "Hook:XY"}, "agent:crab:hook:xy", "", ""},
		{"an own key of an agent", route.Config{}, route.Envelope{Key: "main", Agent: "Crab"}, "agent:crab:main", "direct", ""},
	}
	for _, c := range cases {
		r, err := route.Resolve(c.config, c.e)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if r.Key.String() != c.key || r.ChatType != c.chat || r.Parent.String() != c.parent || r.Agent != r.Key.Agent() || r.Reason == "" {
			t.Errorf("%s: %+v\nwant %s %q %q", c.name, r, c.key, c.chat, c.parent)
		}
		if err := c.config.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	agents := route.Config{Agents: []route.Agent{{ID: "main"}}}
	cases := []struct {
		name   string
		config route.Config
		e      route.Envelope
		kind   error
		want   string
	}{
		{"no channel", route.Config{}, message(func(e *route.Envelope) { e.Channel = " " }), firn.ErrInvalid, "the channel is missing"},
		{"a channel that is a word of keys", route.Config{}, message(func(e *route.Envelope) { e.Channel = "Cron" }), firn.ErrInvalid, `channel "cron"`},
		{"a channel with a colon", route.Config{}, message(func(e *route.Envelope) { e.Channel = "a:direct" }), firn.ErrInvalid, "channel"},
		{"no kind", route.Config{}, message(func(e *route.Envelope) { e.PeerKind = "" }), firn.ErrInvalid, "the kind of peer is missing"},
		{"an unknown kind", route.Config{}, message(func(e *route.Envelope) { e.PeerKind = "fax" }), firn.ErrInvalid, `"fax"`},
		{"no sender", route.Config{}, message(func(e *route.Envelope) { e.PeerID = "" }), firn.ErrInvalid, "the sender of the direct message is missing"},
		{"no sender in the main scope", route.Config{Scope: route.ScopeMain}, message(func(e *route.Envelope) { e.PeerID = "\t" }), firn.ErrInvalid, "the sender of the direct message is missing"},
		{"no group, but a sender", route.Config{}, message(func(e *route.Envelope) { e.PeerKind, e.PeerID, e.Sender = "group", "", "7" }), firn.ErrInvalid, "the ID of the group"},
		{"no room", route.Config{}, message(func(e *route.Envelope) { e.PeerKind, e.PeerID = "room", "" }), firn.ErrInvalid, "the ID of the channel"},
		{"an agent that is not there", agents, message(func(e *route.Envelope) { e.Agent = "boss" }), firn.ErrNotFound, `agent "boss"`},
		{"a binding to an agent that is not there", route.Config{Agents: agents.Agents, Bindings: []route.Binding{{Agent: "boss"}}}, message(nil), firn.ErrNotFound, `agent "boss"`},
		{"a default that is not there", route.Config{Agents: agents.Agents, Default: "boss"}, message(nil), firn.ErrNotFound, `agent "boss"`},
		{"another agent's key", route.Config{}, route.Envelope{Agent: "a", Key: "agent:b:main"}, firn.ErrInvalid, "another agent"},
		{"a key of an agent that is not there", agents, route.Envelope{Key: "agent:boss:main"}, firn.ErrNotFound, `agent "boss"`},
		{"a key that is none", route.Config{}, route.Envelope{Key: "agent:x"}, firn.ErrInvalid, "want agent:<agent>:<rest>"},
		{"a key that is too long", route.Config{}, message(func(e *route.Envelope) { e.PeerID = strings.Repeat("x", 2000) }), firn.ErrInvalid, "at most 1024"},
	}
	for _, c := range cases {
		r, err := route.Resolve(c.config, c.e)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "route a message: ") {
			t.Errorf("%s: %v, %v, want %q", c.name, r.Key, err, c.want)
		}
		if !r.Key.IsZero() {
			t.Errorf("%s: an error is returned together with a key", c.name)
		}
	}
}

func TestBindings(t *testing.T) {
	config := route.Config{
		Default: "d",
		Bindings: []route.Binding{
			{Agent: "all", Channel: "*"},
			{Agent: "chan", Channel: "Telegram"},
			{Agent: "chan2", Channel: "telegram"},
			{Agent: "acct", Channel: "telegram", Account: "Biz"},
			{Agent: "anyacct", Account: "biz"},
			{Agent: "peer", Channel: "telegram", Account: "*", PeerKind: "dm", Peer: "12"},
			{Agent: "peer2", Peer: "12"},
			{Agent: "exact", Channel: "signal", Peer: "AB"},
		},
	}
	if err := config.Check(); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		want, reason string
		e            route.Envelope
	}{
		{"peer", "binding 6 matches the peer", message(nil)},
		{"peer", "binding 6 matches the peer", message(func(e *route.Envelope) { e.AccountID, e.ThreadID = "biz", "9" })},
		{"peer2", "binding 7 matches the peer", message(func(e *route.Envelope) { e.PeerKind = "group" })},
		{"acct", "binding 4 matches the account", message(func(e *route.Envelope) { e.PeerID, e.AccountID = "1", "BIZ" })},
		{"anyacct", "binding 5 matches the account", message(func(e *route.Envelope) { e.Channel, e.PeerID, e.AccountID = "irc", "1", "biz" })},
		{"chan", "binding 2 matches the channel", message(func(e *route.Envelope) { e.PeerID = "1" })},
		{"all", "binding 1 matches the rest", message(func(e *route.Envelope) { e.Channel, e.PeerID = "irc", "1" })},
		{"exact", "binding 8 matches the peer", message(func(e *route.Envelope) { e.Channel, e.PeerID = "signal", "AB" })},
		{"all", "binding 1 matches the rest", message(func(e *route.Envelope) { e.Channel, e.PeerID = "signal", "ab" })},
		{"asked", "the message names the agent", message(func(e *route.Envelope) { e.Agent = "Asked" })},
	}
	for _, c := range cases {
		r, err := route.Resolve(config, c.e)
		if err != nil || r.Agent != c.want || r.Reason != c.reason {
			t.Errorf("%+v: %s, %q, %v, want %s, %q", c.e, r.Agent, r.Reason, err, c.want, c.reason)
		}
	}
	config.Bindings = config.Bindings[1:]
	r, err := route.Resolve(config, message(func(e *route.Envelope) { e.Channel, e.PeerID = "irc", "1" }))
	if err != nil || r.Agent != "d" || r.Reason != "no binding matches: the default agent" {
		t.Errorf("nothing fits: %+v, %v", r, err)
	}
}

func ExampleResolve() {
	config := route.Config{
		Bindings: []route.Binding{{Agent: "support", Channel: "slack"}},
		Links:    []route.Link{{Name: "ann", IDs: []string{"telegram:12"}}},
	}
	for _, e := range []route.Envelope{
		{Channel: "telegram", PeerKind: "direct", PeerID: "12"},
		{Channel: "slack", PeerKind: "channel", PeerID: "C07", ThreadID: "17.5"},
		{Channel: "slack", PeerKind: "direct"},
	} {
		r, err := route.Resolve(config, e)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(r.Key, "-", r.Reason)
	}
	// Output:
	// agent:main:telegram:direct:ann - no binding matches: the default agent
	// agent:support:slack:channel:c07:thread:17.5 - binding 1 matches the channel
	// route a message: invalid: the sender of the direct message is missing
}

func TestConfigCheck(t *testing.T) {
	for want, c := range map[string]route.Config{
		"the ID a is used twice": {Default: "a", Agents: []route.Agent{{ID: "A"}, {ID: "a "}}},
		"the default agent":      {Agents: []route.Agent{{ID: "a"}}},
		"agent a":                {Default: "a", Agents: []route.Agent{{ID: "a", Scope: "all"}}},
		"agent main":             {Agents: []route.Agent{{ID: "main", Links: []route.Link{{}}}}},
		"scope":                  {Scope: "per-planet"},
		"the agent is missing":   {Bindings: []route.Binding{{Channel: "x"}}},
		"binding 2":              {Agents: []route.Agent{{ID: "main"}}, Bindings: []route.Binding{{Agent: "main"}, {Agent: "x"}}},
		"kind of peer":           {Bindings: []route.Binding{{Agent: "x", PeerKind: "fax", Peer: "1"}}},
		"without the peer":       {Bindings: []route.Binding{{Agent: "x", PeerKind: "group"}}},
		"main key":               {MainKey: "a:b"},
		"not a reserved word":    {MainKey: "global"},
		"the name is missing":    {Links: []route.Link{{IDs: []string{"1"}}}},
		"both bob and alice":     {Links: route.Links(map[string][]string{"Bob": {"1"}, "alice": {"2", "1"}})},
		"want main, per-peer":    {Scope: "per-planet"},
	} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}
