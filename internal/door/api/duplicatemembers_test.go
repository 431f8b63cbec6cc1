package api_test

import (
	"net/http"
	"strings"
	"testing"

	"firn.dev/internal/door/api"
	"firn.dev/wire"
)

// TestDuplicateMembersAreRefused checks that every JSON operation rejects members that are
// repeated or in a different case.
func TestDuplicateMembersAreRefused(t *testing.T) {
	foreign := func(string, http.Handler) http.Handler {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another protocol was reached") })
	}
	s := newFakeServer(t, api.Config{OpenAI: foreign, Anthropic: foreign, AGUI: foreign, MCP: foreign})
	own := []struct{ method, target, member, value string }{
		{"POST", "/v1/sessions", "agent", `"main"`}, {"PATCH", "/v1/sessions/aaaa-1", "title", `"x"`},
		{"PATCH", "/v1/sessions/aaaa-1", "model", `null`},
		{"POST", "/v1/sessions/aaaa-1/entries", "user", `"x"`}, {"POST", "/v1/sessions/aaaa-1/turns", "text", `"x"`},
		{"POST", "/v1/sessions/aaaa-1/compactions", "hint", `"x"`}, {"POST", "/v1/sessions/aaaa-1/fork", "title", `"x"`},
		{"POST", "/v1/sessions/aaaa-1:rewind", "back", `1`}, {"POST", "/v1/sessions/aaaa-1:label", "entry", `"#1"`},
		{"POST", "/v1/sessions/aaaa-1:hide", "entry", `"#1"`}, {"POST", "/v1/sessions/aaaa-1:purge", "sure", `"aaaa-1"`},
		{"POST", "/v1/inbound", "text", `"x"`}, {"PUT", "/v1/keys/agent:main:x", "session", `"aaaa-1"`},
		{"POST", "/v1/maintenance", "enforce", `true`}, {"POST", "/v1/tokens", "scope", `"admin"`},
	}
	for _, c := range own {
		name := `"` + c.member + `":` + c.value
		loud := `"` + strings.ToUpper(c.member) + `":` + c.value
		for _, body := range []string{"{" + name + "," + name + "}", "{" + name + "," + loud + "}", "{" + loud + "}", `{` + name + `,"x":{"a":1,"a":2}}`} {
			s.fake.was()
			if got := s.owner(c.method, c.target, withBody("application/json", body)); got.status != 400 || got.kind() != wire.Invalid {
				t.Errorf("%s %s %s: %d %s", c.method, c.target, body, got.status, got.body)
			}
			if asked := s.fake.was(); len(asked) > 0 {
				t.Errorf("%s %s %s called %q", c.method, c.target, body, asked)
			}
		}
	}
	for _, target := range []string{"/v1/chat/completions", "/v1/responses", "/v1/conversations", "/v1/conversations/c/items", "/mcp"} {
		if got := s.owner("POST", target, withBody("application/json", `{"model":"x","x":[{"a":1,"a":2}]}`)); got.status != 400 {
			t.Errorf("%s: %d %s", target, got.status, got.body)
		}
	}
	all, err := s.tokens.List(t.Context())
	if err != nil || len(all) != 0 {
		t.Errorf("there are tokens %v, %v", all, err)
	}
}

// TestDuplicateHeadersAreRefused checks that repeated headers are rejected.
func TestDuplicateHeadersAreRefused(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	secret := s.token(wire.NewToken{Name: "w", Scope: wire.ScopeWrite})
	for _, name := range []string{"Authorization", "Idempotency-Key", "If-Match", "Content-Type"} {
		got := s.ask("POST", "/v1/sessions/aaaa-1/entries", sending(wire.NewEntries{User: "x"}), bearing(secret), func(r *http.Request) {
			if r.Header.Get(name) == "" {
				r.Header.Set(name, `"70"`)
			}
			r.Header.Add(name, r.Header.Get(name))
		})
		if got.status != 400 || !strings.Contains(got.body, name) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		if asked := s.fake.was(); len(asked) > 0 {
			t.Errorf("%s: the gateway received %q", name, asked)
		}
	}
}
