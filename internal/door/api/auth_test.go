package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev/internal/door/api"
	"firn.dev/internal/gateway/metrics"
	"firn.dev/wire"
)

func TestTokenScopes(t *testing.T) {
	set := metrics.New(time.Now())
	s := newFakeServer(t, api.Config{Metrics: set})
	read := s.token(wire.NewToken{Name: "r", Scope: wire.ScopeRead})
	write := s.token(wire.NewToken{Name: "w", Scope: wire.ScopeWrite})
	admin := s.token(wire.NewToken{Name: "a", Scope: wire.ScopeAdmin})
	cases := []struct {
		name, method, target string
		changes              []change
		status               int
		kind                 wire.Kind
	}{
		{"no token", "GET", "/v1/sessions", nil, 401, wire.NoToken},
		{"wrong token", "GET", "/v1/sessions", []change{bearing("firn_" + strings.Repeat("A", 43))}, 401, wire.NoToken},
		{"half a token", "GET", "/v1/sessions", []change{bearing(read[:len(read)-1])}, 401, wire.NoToken},
		{"hash of a token", "GET", "/v1/sessions", []change{bearing("0000")}, 401, wire.NoToken},
		{"empty token", "GET", "/v1/sessions", []change{bearing("")}, 401, wire.NoToken},
		{"another scheme", "GET", "/v1/sessions", []change{with("Authorization", "Basic "+read)}, 401, wire.NoToken},
		{"token in the address", "GET", "/v1/sessions?token=" + read, nil, 401, wire.NoToken},
		{"read reads", "GET", "/v1/sessions", []change{bearing(read)}, 200, ""},
		{"scheme in any case", "GET", "/v1/sessions", []change{with("Authorization", "bearer "+read)}, 200, ""},
		{"token as an API key", "GET", "/v1/sessions", []change{with("X-Api-Key", read)}, 200, ""},
		{"wrong API key", "GET", "/v1/sessions", []change{with("X-Api-Key", "unknown")}, 401, wire.NoToken},
		{"token before API key", "GET", "/v1/sessions", []change{with("X-Api-Key", "unknown"), bearing(read)}, 200, ""},
		{"wrong token before API key", "GET", "/v1/sessions", []change{with("X-Api-Key", read), bearing("nobody")}, 401, wire.NoToken},
		{"read does not write", "POST", "/v1/sessions", []change{bearing(read)}, 403, wire.NotAllowed},
		{"read does not talk", "POST", "/v1/sessions/aaaa-1/turns", []change{bearing(read), sending(wire.Turn{Text: "x"})}, 403, wire.NotAllowed},
		{"write writes", "POST", "/v1/sessions", []change{bearing(write)}, 200, ""},
		{"write does not erase", "POST", "/v1/sessions/aaaa-1/purge", []change{bearing(write), sending(wire.Erase{Sure: "aaaa-1"})}, 403, wire.NotAllowed},
		{"write makes no tokens", "POST", "/v1/tokens", []change{bearing(write), sending(wire.NewToken{Name: "x", Scope: wire.ScopeAdmin})}, 403, wire.NotAllowed},
		{"admin erases", "POST", "/v1/sessions/aaaa-1/purge", []change{bearing(admin), sending(wire.Erase{Sure: "aaaa-1"})}, 200, ""},
		{"admin lists tokens", "GET", "/v1/tokens", []change{bearing(admin)}, 200, ""},
		{"metrics need a token", "GET", "/metrics", nil, 401, wire.NoToken},
		{"metrics", "GET", "/metrics", []change{bearing(read)}, 200, ""},
		{"health needs none", "GET", "/healthz", nil, 200, ""},
		{"readiness needs none", "GET", "/readyz", nil, 200, ""},
		{"the description needs none", "GET", "/openapi.json", nil, 200, ""},
	}
	for _, c := range cases {
		got := s.ask(c.method, c.target, c.changes...)
		if got.status != c.status || got.kind() != c.kind {
			t.Errorf("%s: %d %s, want %d %s", c.name, got.status, got.body, c.status, c.kind)
		}
		if got.status == 401 && got.head.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", c.name)
		}
	}
	if asked := s.fake.was(); len(asked) != 6 {
		t.Errorf("the gateway received %q", asked)
	}
	numbers := string(set.Append(nil))
	for _, want := range []string{`firn_http_refused_total{reason="token"} 10`, `firn_http_refused_total{reason="scope"} 4`, `firn_errors_total{kind="no-token"} 10`} {
		if !strings.Contains(numbers, want) {
			t.Errorf("the metrics lack %s:\n%s", want, numbers)
		}
	}
	// A token counts even if the owner sends it.
	if got := s.owner("POST", "/v1/sessions", bearing(read)); got.status != 403 {
		t.Errorf("the owner with a token that only reads: %d", got.status)
	}
}

func TestRevokedAndExpired(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	secret := s.token(wire.NewToken{Name: "phone", Scope: wire.ScopeRead})
	if got := s.ask("GET", "/v1/models", bearing(secret)); got.status != 200 {
		t.Fatalf("before: %d", got.status)
	}
	if got := s.owner("DELETE", "/v1/tokens/phone"); got.status != 200 {
		t.Fatalf("revoke: %d %s", got.status, got.body)
	}
	if got := s.ask("GET", "/v1/models", bearing(secret)); got.status != 401 {
		t.Errorf("after: %d", got.status)
	}
	list := s.owner("GET", "/v1/tokens")
	if !strings.Contains(list.body, `"revoked"`) || strings.Contains(list.body, "hash") || strings.Contains(list.body, secret) {
		t.Errorf("the list is %s", list.body)
	}
}

func TestCreateOverHTTP(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	got := s.owner("POST", "/v1/tokens", sending(wire.NewToken{Name: "web", Scope: wire.ScopeWrite}))
	var made wire.Created
	if err := json.Unmarshal([]byte(got.body), &made); err != nil || !strings.HasPrefix(made.Secret, "firn_") || len(made.Secret) != 48 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := s.ask("POST", "/v1/sessions", bearing(made.Secret)); got.status != 200 {
		t.Errorf("the new token: %d %s", got.status, got.body)
	}
}

// TestForeignHostOrOrigin checks that requests with a foreign host or origin are rejected first,
// even with a valid token.
func TestForeignHostOrOrigin(t *testing.T) {
	s := newFakeServer(t, api.Config{Hosts: []string{"firn.lan", "box:9999"}, Origins: []string{"https://app.example"}})
	secret := bearing(s.token(wire.NewToken{Scope: wire.ScopeAdmin}))
	cases := []struct {
		name    string
		changes []change
		status  int
	}{
		{"localhost", []change{calling("localhost")}, 200},
		{"localhost with a port", []change{calling("LocalHost:1234")}, 200},
		{"an address", []change{calling("127.0.0.1:7766")}, 200},
		{"a long address", []change{calling("[::1]:7766")}, 200},
		{"a long address alone", []change{calling("[::1]")}, 200},
		{"a name of ours", []change{calling("firn.lan:80")}, 200},
		{"a name with its port", []change{calling("box:9999")}, 200},
		{"a name with another port", []change{calling("box:9998")}, 403},
		{"a foreign name", []change{calling("evil.example")}, 403},
		{"a foreign name with our port", []change{calling("evil.example:7766")}, 403},
		{"a name that begins like ours", []change{calling("localhost.evil.example")}, 403},
		{"a name that ends like ours", []change{calling("evil-localhost")}, 403},
		{"another address", []change{calling("10.0.0.1:7766")}, 403},
		{"no name", []change{calling("")}, 403},
		{"our own page", []change{with("Origin", "http://localhost:7766")}, 200},
		{"a page on another port", []change{with("Origin", "http://localhost:3000")}, 403},
		{"a foreign page", []change{with("Origin", "https://evil.example")}, 403},
		{"no page", []change{with("Origin", "null")}, 403},
		{"rubbish", []change{with("Origin", "%%%")}, 403},
		{"a file", []change{with("Origin", "file://localhost:7766")}, 403},
		{"an allowed page", []change{with("Origin", "https://app.example")}, 200},
		{"an allowed page under a foreign name", []change{calling("evil.example"), with("Origin", "https://app.example")}, 403},
		{"rebound", []change{calling("evil.example"), with("Origin", "http://evil.example")}, 403},
		{"a foreign page without an origin", []change{with("Sec-Fetch-Site", "cross-site")}, 403},
		{"a page of a neighbor", []change{with("Sec-Fetch-Site", "same-site")}, 403},
		{"our page by its own word", []change{with("Sec-Fetch-Site", "same-origin")}, 200},
		{"typed in", []change{with("Sec-Fetch-Site", "none")}, 200},
	}
	for _, c := range cases {
		got := s.ask("GET", "/v1/models", append(c.changes, secret)...)
		if got.status != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, got.status, got.body, c.status)
		}
	}
	if got := s.ask("GET", "/healthz", calling("evil.example")); got.status != 403 {
		t.Errorf("health under a foreign name: %d", got.status)
	}
	if got := s.owner("GET", "/v1/models", calling("whatever"), with("Origin", "https://evil.example")); got.status != 403 {
		t.Errorf("a foreign page through the socket: %d", got.status)
	}
	if got := s.owner("GET", "/v1/models", calling("whatever")); got.status != 200 {
		t.Errorf("the socket has no name: %d", got.status)
	}
}

// TestSharing checks that pages of other origins cannot read responses unless allowed.
func TestSharing(t *testing.T) {
	s := newFakeServer(t, api.Config{Origins: []string{"https://app.example"}})
	secret := bearing(s.token(wire.NewToken{Scope: wire.ScopeRead}))
	plain := s.ask("GET", "/v1/models", secret, with("Origin", "http://localhost:7766"))
	if plain.head.Get("Access-Control-Allow-Origin") != "" {
		t.Error("our own page needs no permission")
	}
	allowed := s.ask("GET", "/v1/models", secret, with("Origin", "https://app.example"))
	if allowed.head.Get("Access-Control-Allow-Origin") != "https://app.example" || allowed.head.Get("Vary") != "Origin" {
		t.Errorf("the header is %v", allowed.head)
	}
	before := s.ask("OPTIONS", "/v1/models", with("Origin", "https://app.example"), with("Access-Control-Request-Method", "PUT"))
	if before.status != 204 || !strings.Contains(before.head.Get("Access-Control-Allow-Methods"), "PUT") {
		t.Errorf("%d %v", before.status, before.head)
	}
	foreign := s.ask("OPTIONS", "/v1/models", with("Origin", "https://evil.example"), with("Access-Control-Request-Method", "PUT"))
	if foreign.status != 403 || foreign.head.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%d %v", foreign.status, foreign.head)
	}
}

// ids returns the session IDs in a page.
func ids(t *testing.T, body string) []string {
	t.Helper()
	var page wire.Page[wire.Session]
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	var all []string
	for _, s := range page.Items {
		all = append(all, string(s.ID))
	}
	return all
}

// TestBoundToAgents checks that a token bound to one agent sees nothing else.
func TestBoundToAgents(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	secret := bearing(s.token(wire.NewToken{Scope: wire.ScopeWrite, Agents: []string{"work"}}))
	if got := ids(t, s.ask("GET", "/v1/sessions?limit=10", secret).body); !slices.Equal(got, []string{"aaaa-2", "bbbb-2", "cccc-1"}) {
		t.Errorf("the list is %q", got)
	}
	if got := ids(t, s.ask("GET", "/v1/running", secret).body); !slices.Equal(got, []string{"aaaa-2", "bbbb-2", "cccc-1"}) {
		t.Errorf("running: %q", got)
	}
	theirs := []string{"GET /v1/sessions/%s", "GET /v1/sessions/%s/entries", "GET /v1/sessions/%s/tree", "GET /v1/sessions/%s/window",
		"GET /v1/sessions/%s/compactions", "DELETE /v1/sessions/%s", "POST /v1/sessions/%s:kill", "POST /v1/sessions/%s/turns", "POST /v1/sessions/%s/fork"}
	for _, route := range theirs {
		method, target, _ := strings.Cut(route, " ")
		for ref, status := range map[string]int{"aaaa-2": 200, "aaaa-1": 404, "a%20plan": 404, "@agent:main:main": 404, "aaaa": 404, "nobody": 404} {
			if got := s.ask(method, strings.Replace(target, "%s", ref, 1), secret); got.status != status {
				t.Errorf("%s of %s: %d %s", route, ref, got.status, got.body)
			} else if status == 404 && strings.Contains(got.body, "aaaa-") && ref != "aaaa-1" {
				t.Errorf("%s of %s reveals %s", route, ref, got.body)
			}
		}
	}
	mine, other := s.ask("GET", "/v1/sessions/aaaa-1", secret), s.ask("GET", "/v1/sessions/aaaa-9", secret)
	if mine.kind() != other.kind() || len(mine.body) != len(other.body) {
		t.Errorf("a foreign session differs from a missing one: %s %s", mine.body, other.body)
	}
	if got := s.ask("GET", "/v1/sessions/aaaa-1/events", secret); got.status != 404 {
		t.Errorf("events of a foreign session: %d", got.status)
	}
	for target, status := range map[string]int{"/v1/usage": 403, "/metrics": 403, "/v1/keys/agent:main:main": 404, "/v1/keys/AGENT:Main:main": 404, "/v1/keys/main": 404, "/v1/keys/agent:work:x": 200} {
		if got := s.ask("GET", target, secret); got.status != status {
			t.Errorf("%s: %d %s", target, got.status, got.body)
		}
	}
	status := s.ask("GET", "/v1/status", secret).body
	if strings.Contains(status, "/home") || strings.Contains(status, "aaaa-1") || strings.Contains(status, `"main"`) || !strings.Contains(status, "aaaa-2") {
		t.Errorf("the status is %s", status)
	}
	if agents := s.ask("GET", "/v1/agents", secret).body; strings.Contains(agents, "main") || !strings.Contains(agents, "work") {
		t.Errorf("the agents are %s", agents)
	}
	if keys := s.ask("GET", "/v1/keys", secret).body; strings.Contains(keys, "agent:main") || !strings.Contains(keys, "agent:work") {
		t.Errorf("the keys are %s", keys)
	}
	s.fake.was()
	for body, status := range map[wire.NewSession]int{
		{Agent: "work"}: 200, {}: 200, {Agent: "main"}: 403, {Key: "agent:main:x"}: 403, {Key: "agent:work:x"}: 200, {Key: "agent:work:x", Agent: "main"}: 403, {Key: "x"}: 403,
	} {
		if got := s.ask("POST", "/v1/sessions", secret, sending(body)); got.status != status {
			t.Errorf("a new session %+v: %d %s", body, got.status, got.body)
		}
	}
	for _, asked := range s.fake.was() {
		if !strings.Contains(asked, "Agent:work") && !strings.Contains(asked, "agent:work:x") {
			t.Errorf("requested %s", asked)
		}
	}
	for agent, status := range map[string]int{"work": 200, "main": 403, "": 403} {
		in := wire.Inbound{Agent: agent, Channel: "telegram", PeerKind: "direct", PeerID: "1", Text: "x"}
		if got := s.ask("POST", "/v1/inbound", secret, sending(in)); got.status != status {
			t.Errorf("inbound for %q: %d %s", agent, got.status, got.body)
		}
	}
	if got := s.ask("PUT", "/v1/keys/agent:work:x", secret, sending(wire.Key{Session: "aaaa-1"})); got.status != 404 {
		t.Errorf("a key pointed at a foreign session: %d", got.status)
	}
}

// TestBoundToKeys checks that a token bound to a key prefix sees only sessions with such
// keys.
func TestBoundToKeys(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	secret := bearing(s.token(wire.NewToken{Scope: wire.ScopeWrite, Keys: []string{"agent:work:telegram"}}))
	if got := ids(t, s.ask("GET", "/v1/sessions?limit=10", secret).body); !slices.Equal(got, []string{"aaaa-2"}) {
		t.Errorf("the list is %q", got)
	}
	for target, status := range map[string]int{
		"/v1/sessions/aaaa-2": 200, "/v1/sessions/bbbb-2": 404, "/v1/sessions/cccc-1": 404,
		"/v1/keys/agent:work:telegram": 200, "/v1/keys/agent:work:telegram:direct:1": 200, "/v1/keys/agent:work:telegram2:direct:1": 404,
	} {
		if got := s.ask("GET", target, secret); got.status != status {
			t.Errorf("%s: %d %s", target, got.status, got.body)
		}
	}
	for key, status := range map[string]int{"": 403, "agent:work:telegram:group:9": 200, "agent:work:x": 403} {
		if got := s.ask("POST", "/v1/sessions/aaaa-2:fork", secret, sending(wire.Fork{Key: key})); got.status != status {
			t.Errorf("a fork under %q: %d %s", key, got.status, got.body)
		}
		if got := s.ask("POST", "/v1/sessions", secret, sending(wire.NewSession{Key: key})); got.status != status {
			t.Errorf("a new session under %q: %d %s", key, got.status, got.body)
		}
	}
	in := wire.Inbound{Agent: "work", Channel: "telegram", PeerKind: "direct", PeerID: "1", Text: "x"}
	if got := s.ask("POST", "/v1/inbound", secret, sending(in)); got.status != 200 {
		t.Errorf("inbound: %d %s", got.status, got.body)
	}
	in.Channel = "telegram2"
	if got := s.ask("POST", "/v1/inbound", secret, sending(in)); got.status != 403 {
		t.Errorf("inbound elsewhere: %d %s", got.status, got.body)
	}
	if agents := s.ask("GET", "/v1/agents", secret).body; strings.Contains(agents, "main") || !strings.Contains(agents, "work") {
		t.Errorf("the agents are %s", agents)
	}
}

// TestHooks checks that a hook accepts any body with the token it names, which may have no
// other rights.
func TestHooks(t *testing.T) {
	s := newFakeServer(t, api.Config{MaxBody: 100})
	deployer := bearing(s.token(wire.NewToken{Name: "deployer", Scope: wire.ScopeHook}))
	other := bearing(s.token(wire.NewToken{Name: "other", Scope: wire.ScopeWrite}))
	body := withBody("application/x-www-form-urlencoded", "a=b")
	if got := s.ask("POST", "/v1/hooks/deploy", deployer, body); got.status != 200 || !strings.Contains(got.body, "agent:main:hook:1") {
		t.Errorf("its own: %d %s", got.status, got.body)
	}
	if asked := s.fake.was(); !slices.Equal(asked, []string{`Hook deploy "a=b" application/x-www-form-urlencoded ""`}) {
		t.Errorf("received %q", asked)
	}
	if got := s.owner("POST", "/v1/hooks/deploy"); got.status != 200 {
		t.Errorf("the owner: %d %s", got.status, got.body)
	}
	s.fake.was()
	for name, c := range map[string]struct {
		target string
		who    []change
		status int
	}{
		"no token":         {"/v1/hooks/deploy", nil, 401},
		"another's token":  {"/v1/hooks/deploy", []change{other}, 404},
		"no such hook":     {"/v1/hooks/nobody", []change{deployer}, 404},
		"too large a body": {"/v1/hooks/deploy", []change{deployer, withBody("text/plain", strings.Repeat("x", 101))}, 413},
		"something else":   {"/v1/sessions", []change{deployer}, 403},
		"maintenance":      {"/v1/maintenance", []change{other}, 403},
		"a job, by a hook": {"/v1/jobs/daily/run", []change{deployer}, 403},
	} {
		if got := s.ask("POST", c.target, c.who...); got.status != c.status {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	if asked := s.fake.was(); len(asked) > 0 {
		t.Errorf("received %q", asked)
	}
	worker := bearing(s.token(wire.NewToken{Scope: wire.ScopeWrite, Agents: []string{"work"}}))
	if got := s.ask("GET", "/v1/jobs", worker).body; strings.Contains(got, "daily") || !strings.Contains(got, "hourly") {
		t.Errorf("the jobs are %s", got)
	}
	for job, status := range map[string]int{"daily": 404, "hourly": 200} {
		if got := s.ask("POST", "/v1/jobs/"+job+"/run", worker); got.status != status {
			t.Errorf("run %s: %d %s", job, got.status, got.body)
		}
	}
}
