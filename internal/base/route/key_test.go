package route_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/store"
)

func TestParse(t *testing.T) {
	cases := []struct {
		in, want string // want is empty if in is canonical
		parts    route.Parts
		chat     route.ChatType
	}{
		{"agent:main:main", "", route.Parts{Kind: route.KindMain}, "direct"},
		{" Agent:MAIN:Main ", "agent:main:main", route.Parts{Kind: route.KindMain}, "direct"},
		{"agent:main:main:thread:5", "", route.Parts{Kind: route.KindMain, Thread: "5"}, "direct"},
		{"agent:main:dm:12", "agent:main:direct:12", route.Parts{Kind: route.KindDirect, Peer: "12"}, "direct"},
		{"agent:main:direct:@a:b.org", "", route.Parts{Kind: route.KindDirect, Peer: "@a:b.org"}, "direct"},
		{"agent:main:telegram:dm:12", "agent:main:telegram:direct:12", route.Parts{Kind: route.KindDirect, Channel: "telegram", Peer: "12"}, "direct"},
		{"agent:main:telegram:direct:dm:12", "", route.Parts{Kind: route.KindDirect, Channel: "telegram", Peer: "dm:12"}, "direct"},
		{"agent:main:telegram:bot2:dm:12", "agent:main:telegram:bot2:direct:12", route.Parts{Kind: route.KindDirect, Channel: "telegram", Account: "bot2", Peer: "12"}, "direct"},
		{"agent:main:telegram:group:-100:topic:7", "", route.Parts{Kind: route.KindGroup, Channel: "telegram", Peer: "-100", Thread: "7", Topic: true}, "group"},
		{"agent:main:slack:room:C1", "agent:main:slack:channel:c1", route.Parts{Kind: route.KindChannel, Channel: "slack", Peer: "c1"}, "channel"},
		{"agent:main:slack:channel:c1:thread:1.2", "", route.Parts{Kind: route.KindChannel, Channel: "slack", Peer: "c1", Thread: "1.2"}, "channel"},
		{"agent:main:x:group:1:topic:2:thread:3", "", route.Parts{Kind: route.KindGroup, Channel: "x", Peer: "1:topic:2", Thread: "3"}, "group"},
		{"agent:main:group:99@g.us", "", route.Parts{Kind: route.KindGroup, Peer: "99@g.us"}, "group"},
		{"agent:main:cron:nightly", "", route.Parts{Kind: route.KindCron, Peer: "nightly"}, ""},
		{"agent:main:cron:nightly:run:4", "", route.Parts{Kind: route.KindCron, Peer: "nightly:run:4"}, ""},
		{"agent:main:hook:6f", "", route.Parts{Kind: route.KindHook, Peer: "6f"}, ""},
		{"agent:main:subagent:6f", "", route.Parts{Kind: route.KindSubagent, Peer: "6f"}, ""},
		{"agent:main:acp:zed:1", "", route.Parts{Kind: route.KindACP, Peer: "zed:1"}, ""},
		{"Agent:Main:PROJECT:/Home/Ä%4D%zZ:Thread:A", "agent:main:project:/%48ome/%c3%84%4d%z%5a:thread:a", route.Parts{Kind: route.KindProject, Peer: "/%48ome/%c3%84%4d%z%5a", Thread: "a"}, ""},
		{"agent:main:project:/home/me", "", route.Parts{Kind: route.KindProject, Peer: "/home/me"}, ""},
		{"agent:main:global", "", route.Parts{Kind: route.KindGlobal}, ""},
		{"agent:main:unknown", "", route.Parts{Kind: route.KindUnknown}, ""},
		{"agent:main:unknown:dm:x", "agent:main:unknown:direct:x", route.Parts{Kind: route.KindDirect, Channel: "unknown", Peer: "x"}, "direct"},
		{"agent:main:node-7", "", route.Parts{Kind: route.KindOther, Peer: "node-7"}, ""},
		{"agent:main:telegram:group:", "", route.Parts{Kind: route.KindOther, Peer: "telegram:group:"}, ""},
		{"agent:main:x:thread:", "", route.Parts{Kind: route.KindOther, Peer: "x:thread:"}, ""},
		{"agent:main::direct:x", "", route.Parts{Kind: route.KindOther, Peer: ":direct:x"}, ""},
		{"agent:_x:a b", "", route.Parts{Agent: "_x", Kind: route.KindOther, Peer: "a b"}, ""},
	}
	for _, c := range cases {
		k := parse(t, c.in)
		want := c.want
		if want == "" {
			want = c.in
		}
		if c.parts.Agent == "" {
			c.parts.Agent = "main"
		}
		if k.String() != want || k.Parts() != c.parts || k.ChatType() != c.chat {
			t.Errorf("%q: %s %+v %q\nwant %s %+v %q", c.in, k, k.Parts(), k.ChatType(), want, c.parts, c.chat)
		}
		if again, err := c.parts.Key(); err != nil || again != k {
			t.Errorf("the parts of %s make %s, %v", k, again, err)
		}
		if k != parse(t, k.Format(route.Current)) {
			t.Errorf("%s is read back as another", k)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{
		"", " ", "main", "agent", "agent:", "agent::", "agent::x", "agent:a", "agent:a:", "agent:a: ", "agents:a:b", "agent:-a:b", "agent:a b:c", "agent:ä:c",
		"agent:a:\x00", "agent:a:b\nc", "agent:a:\xff", "agent:" + strings.Repeat("a", 65) + ":x", "agent:a:" + strings.Repeat("x", 1017),
	} {
		if k, err := route.Parse(s); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("Parse(%.40q) = %s, %v", s, k, err)
		}
	}
	if k := parse(t, "agent:a:"+strings.Repeat("x", 1016)); store.CheckKey(k.String()) != nil {
		t.Error("a store rejects the longest key")
	}
}

func TestPartsRefuse(t *testing.T) {
	for name, p := range map[string]route.Parts{
		"a person without a name":   {Kind: route.KindDirect},
		"a group that is a thread":  {Kind: route.KindGroup, Channel: "x", Peer: "1:thread:2"},
		"a channel that is a kind":  {Kind: route.KindGroup, Channel: "cron", Peer: "1"},
		"a channel with a colon":    {Kind: route.KindGroup, Channel: "a:direct", Peer: "1"},
		"an account that is a kind": {Kind: route.KindDirect, Channel: "x", Account: "group", Peer: "1"},
		"an account for a group":    {Kind: route.KindGroup, Channel: "x", Account: "a", Peer: "1"},
		"a topic without a thread":  {Kind: route.KindGroup, Channel: "x", Peer: "1", Topic: true},
		"a job without a name":      {Kind: route.KindCron},
		"an unknown kind":           {Kind: "fax", Peer: "1"},
		"something with a kind":     {Kind: route.KindOther, Peer: "x:direct:y"},
		"a space at the end":        {Kind: route.KindDirect, Peer: "x "},
		"control characters":        {Kind: route.KindDirect, Peer: "x\ny"},
		"a bad agent":               {Agent: "a b", Kind: route.KindMain},
		"nothing":                   {},
	} {
		if k, err := p.Key(); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%s: %s, %v", name, k, err)
		}
	}
}

func TestConfigKey(t *testing.T) {
	c := route.Config{Default: "Crab", MainKey: "Work"}
	for in, want := range map[string]string{
		"":                     "agent:crab:work",
		"main":                 "agent:crab:work",
		"WORK":                 "agent:crab:work",
		"agent:x:main":         "agent:x:work",
		"agent:x:work":         "agent:x:work",
		"main:thread:1":        "agent:crab:work:thread:1",
		"group:9":              "agent:crab:group:9",
		"telegram:dm:1":        "agent:crab:telegram:direct:1",
		"global":               "agent:crab:global",
		"unknown":              "agent:crab:unknown",
		"cron:x":               "agent:crab:cron:x",
		"agent:x:slack:room:c": "agent:x:slack:channel:c",
	} {
		k, err := c.Key(in)
		if err != nil || k.String() != want {
			t.Errorf("%q is %s, %v, want %s", in, k, err, want)
		}
	}
	if _, err := c.Key("agent:x"); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("a key without a rest: %v", err)
	}
	for key, want := range map[string]bool{"agent:x:main": true, "agent:x:work": true, "agent:x:other": false, "agent:x:work:thread:1": false} {
		if c.IsMain(parse(t, key)) != want {
			t.Errorf("%s is main: %v", key, !want)
		}
	}
	if c.IsMain(route.Key{}) {
		t.Error("no key is main")
	}
	for key, want := range map[string]route.ChatType{"agent:x:work": "direct", "agent:x:work:thread:1": "direct", "agent:x:s:group:1": "group", "agent:x:cron:1": ""} {
		if got := c.ChatType(parse(t, key)); got != want {
			t.Errorf("%s is of chat type %q, want %q", key, got, want)
		}
	}
}

func TestSpellings(t *testing.T) {
	for canonical, old := range map[string]string{
		"agent:a:mydirect:direct:direct:x": "agent:a:mydirect:dm:direct:x",
		"agent:a:ch:acc:direct:x:thread:1": "agent:a:ch:acc:dm:x:thread:1",
		"agent:a:direct:x":                 "agent:a:dm:x",
		"agent:a:global":                   "global",
		"agent:a:unknown":                  "unknown",
		"agent:a:x:channel:c":              "agent:a:x:channel:c",
		"agent:a:cron:direct:x":            "agent:a:cron:direct:x",
	} {
		if got := parse(t, canonical).Format(route.V2026_1); got != old {
			t.Errorf("%s in 2026.1: %s, want %s", canonical, got, old)
		}
	}
	if (route.Key{}).String() != "" || (route.Key{}).Format(route.V2026_1) != "" || (route.Key{}).Parts() != (route.Parts{}) {
		t.Error("no key is encoded as something")
	}
}

func TestUnder(t *testing.T) {
	thread := parse(t, "agent:a:x:group:1:thread:2")
	if k, err := thread.Under("3"); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("a thread in a thread: %s, %v", k, err)
	}
	if k, err := thread.Parent().Under("2"); err != nil || k != thread {
		t.Errorf("the thread of the parent is %s, %v", k, err)
	}
}

func TestKeysInJSON(t *testing.T) {
	type doc struct {
		Key  route.Key
		None route.Key
		Map  map[route.Key]int
	}
	k := parse(t, "agent:a:b:dm:c")
	raw, err := json.Marshal(doc{Key: k, Map: map[route.Key]int{k: 1}})
	if err != nil || string(raw) != `{"Key":"agent:a:b:direct:c","None":"","Map":{"agent:a:b:direct:c":1}}` {
		t.Fatalf("%s, %v", raw, err)
	}
	var back doc
	if err := json.Unmarshal([]byte(`{"Key":"agent:A:b:dm:c","Map":{"agent:a:b:dm:c":1}}`), &back); err != nil || back.Key != k || back.Map[k] != 1 || !back.None.IsZero() {
		t.Fatalf("%+v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"Key":"x"}`), &back); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("a bad key: %v", err)
	}
}

// TestEveryRuneCanBeEncoded tries each rune alone, and finds no two that become
// the same or that change when the key is read.
func TestEveryRuneCanBeEncoded(t *testing.T) {
	seen := make(map[string]rune, unicode.MaxRune)
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xd800 && r < 0xe000 {
			continue // no rune of a valid text
		}
		encoded := route.EncodeID(string(r))
		if other, ok := seen[encoded]; ok {
			t.Fatalf("%U and %U are both encoded %q", r, other, encoded)
		}
		seen[encoded] = r
		if back := route.DecodeID(encoded); back != string(r) {
			t.Fatalf("%U is read back as %q", r, back)
		}
		k, err := route.Parse("agent:a:direct:" + encoded)
		if err != nil || k.Parts().Peer != encoded {
			t.Fatalf("%U is encoded %q and read as %q, %v", r, encoded, k.Parts().Peer, err)
		}
	}
}

func TestFileNames(t *testing.T) {
	for key, want := range map[string]string{
		"agent:main:main":                      "agent,main,main",
		"agent:main:telegram:group:-1:topic:7": "agent,main,telegram,group,-1,topic,7",
		"agent:main:direct:+49 170":            "agent,main,direct,+49%20170",
		"agent:main:direct:é":                  "agent,main,direct,%c3%a9",
		"agent:main:direct:e\u0301":            "agent,main,direct,e%cc%81",
		"agent:main:direct:%41":                "agent,main,direct,%2541",
		"agent:main:direct:a_part2":            "agent,main,direct,a%5fpart2",
		"agent:main:direct:a.b.":               "agent,main,direct,a.b%2e",
		"agent:main:direct:../..":              "agent,main,direct,..%2f.%2e",
		"agent:main:direct:a,b=c":              "agent,main,direct,a%2cb%3dc",
		"agent:main:project:c:\\x":             "agent,main,project,c,%5cx",
	} {
		k := parse(t, key)
		if got := route.FileName(k); got != want {
			t.Errorf("%s is named %s, want %s", key, got, want)
		}
		if back, err := route.FromFileName(want); err != nil || back != k {
			t.Errorf("%s is read as %s, %v", want, back, err)
		}
	}
	for _, name := range []string{
		"", ".", "..", "agent", "agent,main", "agent,main,Main", "AGENT,main,main", "agent,main,%6dain", "agent,main,direct,%2F", "agent:main:main", "agent,main,dm,x",
		"agent,main=/=,main", "agent,main,main=", "agent,main,x/y", "agent,main,a%", "agent,main,a%2", "agent,main,a_b", "agent,main,é", strings.Repeat("a", 5000),
	} {
		if k, err := route.FromFileName(name); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%.40q is read as %s, %v", name, k, err)
		}
	}
}

func TestLongFileNames(t *testing.T) {
	for _, fill := range []string{"x", "é", "%", ":", "con/"} {
		for n := 150; n*len(fill) < 1000; n++ {
			k := parse(t, "agent:a:"+strings.Repeat(fill, n))
			name := route.FileName(k)
			elements := strings.Split(name, "/")
			for i, e := range elements {
				last := i == len(elements)-1
				if len(e) > 200 || strings.HasSuffix(e, "=") == last || strings.HasPrefix(e, "=") != (i > 0) {
					t.Fatalf("element %d of %s: %q", i, name, e)
				}
			}
			if back, err := route.FromFileName(name); err != nil || back != k {
				t.Fatalf("%s is read as %s, %v", name, back, err)
			}
		}
	}
}
