package route_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/route"
)

func TestAllowed(t *testing.T) {
	policy := route.SendPolicy{Rules: []route.SendRule{
		{Effect: route.Allow, Channel: "Discord"},
		{Effect: route.Deny, Channel: "discord", ChatType: "group"},
		{Effect: route.Deny, KeyPrefix: "cron:"},
		{Effect: route.Deny, KeyPrefix: "Agent:work:telegram:dm:"},
		{Effect: route.Deny, ChatType: "room"},
	}}
	shut := route.SendPolicy{Default: route.Deny, Rules: []route.SendRule{{Effect: route.Allow, ChatType: "dm"}}}
	cases := []struct {
		name     string
		policy   route.SendPolicy
		override route.Override
		to       route.Outlet
		want     bool
		why      string
	}{
		{"no policy", route.SendPolicy{}, "", route.Outlet{}, true, "default"},
		{"nothing fits", policy, "", route.Outlet{Key: parse(t, "agent:a:main")}, true, "default"},
		{"allowed", policy, "", route.Outlet{Key: parse(t, "agent:a:discord:direct:1")}, true, "rule 1 allows"},
		{"denied though allowed before", policy, "", route.Outlet{Key: parse(t, "agent:a:discord:group:1")}, false, "rule 2 denies"},
		{"a thread of it", policy, "", route.Outlet{Key: parse(t, "agent:a:discord:group:1:thread:2")}, false, "rule 2 denies"},
		{"by prefix after the agent", policy, "", route.Outlet{Key: parse(t, "agent:a:cron:x")}, false, "rule 3 denies"},
		{"by the whole prefix, in its old spelling", policy, "", route.Outlet{Key: parse(t, "agent:work:telegram:direct:1")}, false, "rule 4 denies"},
		{"another agent's", policy, "", route.Outlet{Key: parse(t, "agent:a:telegram:direct:1")}, true, "default"},
		{"a room is a channel", policy, "", route.Outlet{Key: parse(t, "agent:a:slack:channel:1")}, false, "rule 5 denies"},
		{"main over Discord's group", policy, "", route.Outlet{Key: parse(t, "agent:a:main"), Channel: "discord", ChatType: "group"}, false, "rule 2 denies"},
		{"switched on", policy, route.AlwaysSend, route.Outlet{Key: parse(t, "agent:a:cron:x")}, true, "switched on"},
		{"switched off", policy, route.NeverSend, route.Outlet{Key: parse(t, "agent:a:main")}, false, "switched off"},
		{"inherited", policy, "inherit", route.Outlet{Key: parse(t, "agent:a:cron:x")}, false, "rule 3 denies"},
		{"an unknown policy", policy, "maybe", route.Outlet{Key: parse(t, "agent:a:main")}, false, "unknown send policy"},
		{"shut", shut, "", route.Outlet{Key: parse(t, "agent:a:x:group:1")}, false, "default"},
		{"shut but for people", shut, "", route.Outlet{Key: parse(t, "agent:a:x:direct:1")}, true, "rule 1 allows"},
		{"an unknown effect", route.SendPolicy{Rules: []route.SendRule{{Effect: "hm"}}}, "", route.Outlet{}, false, "rule 1 denies"},
		{"an unknown default", route.SendPolicy{Default: "hm"}, "", route.Outlet{}, false, "default"},
	}
	for _, c := range cases {
		ok, why := route.Allowed(c.policy, c.override, c.to)
		if ok != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s: %v, %q, want %v, %q", c.name, ok, why, c.want, c.why)
		}
	}
	for _, p := range []route.SendPolicy{policy, shut, {}} {
		if err := p.Check(); err != nil {
			t.Error(err)
		}
	}
	for _, p := range []route.SendPolicy{{Default: "hm"}, {Rules: []route.SendRule{{}}}, {Rules: []route.SendRule{{Effect: "deny", ChatType: "fax"}}}} {
		if err := p.Check(); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestParseOverride(t *testing.T) {
	for in, want := range map[string]route.Override{"on": "allow", " OFF": "deny", "inherit": "", "allow": "allow", "deny": "deny", "reset": ""} {
		if got, err := route.ParseOverride(in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "maybe", "on off"} {
		if _, err := route.ParseOverride(in); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestDecide(t *testing.T) {
	cases := []struct {
		queue   route.Queue
		running bool
		waiting int
		want    route.Decision
	}{
		{route.Queue{}, false, 0, route.Decision{Action: "run"}},
		{route.Queue{}, true, 0, route.Decision{Action: "wait"}},
		{route.Queue{}, false, 1, route.Decision{Action: "wait"}},
		{route.Queue{}, true, 19, route.Decision{Action: "wait"}},
		{route.Queue{}, true, 20, route.Decision{Action: "wait", Drop: 1, Summarize: true}},
		{route.Queue{Cap: 2}, true, 5, route.Decision{Action: "wait", Drop: 4, Summarize: true}},
		{route.Queue{Mode: "followup", Cap: 1, Drop: "old"}, true, 1, route.Decision{Action: "wait", Drop: 1}},
		{route.Queue{Mode: "followup", Cap: 1, Drop: "new"}, true, 1, route.Decision{Action: "refuse"}},
		{route.Queue{Mode: "followup"}, false, 0, route.Decision{Action: "run"}},
		{route.Queue{Mode: "steer"}, true, 0, route.Decision{Action: "steer"}},
		{route.Queue{Mode: "steer"}, true, 99, route.Decision{Action: "steer"}},
		{route.Queue{Mode: "steer"}, false, 0, route.Decision{Action: "run"}},
		{route.Queue{Mode: "steer"}, false, 1, route.Decision{Action: "wait"}},
		{route.Queue{Mode: "interrupt"}, true, 3, route.Decision{Action: "interrupt", Drop: 3}},
		{route.Queue{Mode: "interrupt"}, false, 2, route.Decision{Action: "interrupt", Drop: 2}},
		{route.Queue{Mode: "interrupt"}, false, 0, route.Decision{Action: "run"}},
	}
	for _, c := range cases {
		if got := c.queue.Decide(c.running, c.waiting); got != c.want {
			t.Errorf("%s, running %v, %d wait: %+v, want %+v", c.queue, c.running, c.waiting, got, c.want)
		}
	}
}

func TestParseQueue(t *testing.T) {
	three := route.Queue{Mode: "steer", Cap: 3}
	for args, want := range map[string]string{
		"":                                    "steer debounce:1s cap:3 drop:summarize",
		"collect":                             "collect debounce:1s cap:3 drop:summarize",
		"Steer-Backlog cap:7":                 "steer debounce:1s cap:7 drop:summarize",
		"debounce:0 drop:OLD interrupt":       "interrupt debounce:0s cap:3 drop:old",
		"follow-up debounce:1500 drop:new":    "followup debounce:1.5s cap:3 drop:new",
		"default":                             "collect debounce:1s cap:20 drop:summarize",
		"followup debounce:2s cap:9 drop:old": "followup debounce:2s cap:9 drop:old",
	} {
		q, err := route.ParseQueue(args, three)
		if err != nil || q.String() != want {
			t.Errorf("%q: %s, %v, want %s", args, q, err, want)
		}
		if again, err := route.ParseQueue(q.String(), route.Queue{}); err != nil || again.String() != want {
			t.Errorf("%s is read as %s, %v", q, again, err)
		}
	}
	for _, args := range []string{"later", "cap:0", "cap:x", "cap:99999", "cap:", "debounce:-1s", "debounce:1h", "debounce:x", "debounce:999999999999", "debounce:-5", "drop:all", "speed:1", ":"} {
		if q, err := route.ParseQueue(args, three); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%q: %s, %v", args, q, err)
		}
	}
	none := time.Duration(0)
	if got := *(route.Queue{Debounce: &none}).WithDefaults().Debounce; got != 0 {
		t.Errorf("no debounce becomes %s", got)
	}
}

func TestCollected(t *testing.T) {
	long := strings.Repeat("ü", 200)
	cases := []struct {
		name            string
		waited, dropped []route.Waiting
		want            string
	}{
		{"nothing", nil, nil, ""},
		{"one", []route.Waiting{{Text: " hi\n"}}, nil, " hi\n"},
		{"one with a sender", []route.Waiting{{Sender: "Ann", Text: "hi"}}, nil, "Ann: hi"},
		{"two", []route.Waiting{{Text: "a"}, {Sender: "Bo", Text: "b\nc"}}, nil,
			"[Messages received while you were busy:]\n\n[message 1 of 2]\na\n\n[message 2 of 2]\nBo: b\nc"},
		{"one, and some left out", []route.Waiting{{Text: "a"}}, []route.Waiting{{Sender: "Bo", Text: "x\n y"}, {Text: long}},
			"[Messages received while you were busy:]\n\n[left out] Bo: x y\n[left out] " + strings.Repeat("ü", 80) + "…\n\n[message 1 of 1]\na"},
	}
	for _, c := range cases {
		if got := route.Collected(c.waited, c.dropped); got != c.want {
			t.Errorf("%s: %q\nwant %q", c.name, got, c.want)
		}
	}
}

func TestAdapters(t *testing.T) {
	for raw, want := range map[string]string{
		"main:cli:user":        "agent:main:cli:direct:user",
		"main:cli:user_142233": "agent:main:cli:direct:user_142233",
		"Main:Telegram:A:b":    "agent:main:telegram:direct:%41:b",
	} {
		n, err := route.FromClaw0(raw)
		if err != nil || n.Key.String() != want || n.Raw != raw {
			t.Errorf("claw0's %s: %+v, %v, want %s", raw, n, err, want)
		}
	}
	for _, raw := range []string{"", "main", "main:cli", "main:cli:", ":cli:x", "main::x", "main:cron:x", "main:cli:" + strings.Repeat("x", 2000)} {
		if n, err := route.FromClaw0(raw); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("claw0's %.40q: %s, %v", raw, n.Key, err)
		}
	}
	for slug, senders := range map[string][]string{
		"tg-user-123": {"TG:user-123", "tg:user:123", "-tg--user-123-"},
		"a-b":         {"a::b"},
		"Über-ª५ⓐ":    {"Über!ª५ⓐ"},
		"":            {":::", "", "- -"},
	} {
		for _, s := range senders {
			if got := route.Slug(s); got != slug {
				t.Errorf("the slug of %q is %q, want %q", s, got, slug)
			}
		}
	}
	for sender, want := range map[string][2]string{
		"tg:1": {"agent:crab:direct:tg-1", "agent:crab:direct:tg:1"},
		"tg-1": {"agent:crab:direct:tg-1", "agent:crab:direct:tg-1"},
		"Tg-1": {"agent:crab:direct:tg-1", "agent:crab:direct:%54g-1"},
		":::":  {"agent:crab:direct::::", "agent:crab:direct::::"},
		"":     {"agent:crab:direct:user", "agent:crab:direct:user"},
	} {
		a, err := route.FromCrabTalk("Crab", sender)
		b, err2 := route.FromCrabTalkExact("Crab", sender)
		if err != nil || err2 != nil || a.Key.String() != want[0] || b.Key.String() != want[1] {
			t.Errorf("CrabTalk's %q: %s, %s, %v, %v, want %s", sender, a.Key, b.Key, err, err2, want)
		}
	}
	for _, key := range []string{"agent:a:main", "agent:a:x:group:1", "agent:a:x:acc:direct:1", "agent:a:x:direct:1:thread:2"} {
		if s, err := route.ToClaw0(parse(t, key)); !errors.Is(err, firn.ErrUnsupported) {
			t.Errorf("%s for claw0: %q, %v", key, s, err)
		}
		if _, s, err := route.ToCrabTalk(parse(t, key)); !errors.Is(err, firn.ErrUnsupported) {
			t.Errorf("%s for CrabTalk: %q, %v", key, s, err)
		}
	}
}

func TestProjectKeys(t *testing.T) {
	for dir, want := range map[string]string{
		"/home/Me/x y": "agent:main:project:/home/%4de/x y",
		`C:\Users`:     `agent:main:project:%43:\%55sers`,
	} {
		k, err := route.ProjectKey("", dir)
		if err != nil || k.String() != want || route.ProjectDir(k) != dir || k.Kind() != route.KindProject {
			t.Errorf("%s: %s, %v, back %q", dir, k, err, route.ProjectDir(k))
		}
		if typed := parse(t, "agent:main:project:"+dir); typed != k {
			t.Errorf("%s typed as it is: %s", dir, typed)
		}
	}
	deep := "/" + strings.Repeat("Ä/", 600)
	one, err := route.ProjectKey("", deep+"x/one")
	if err != nil || !strings.HasPrefix(route.ProjectDir(one), "…") || !strings.Contains(one.String(), "/x/one#") || parse(t, one.String()) != one {
		t.Errorf("a long path has the key %s, %v", one, err)
	}
	if other, err := route.ProjectKey("", "/y"+deep+"x/one"); err != nil || other == one {
		t.Errorf("two long paths have the key %s, %v", other, err)
	}
	if k, err := route.ProjectKey("a", ""); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("no directory: %s, %v", k, err)
	}
	if dir := route.ProjectDir(parse(t, "agent:a:direct:/x")); dir != "" {
		t.Errorf("a person is in %q", dir)
	}
}
