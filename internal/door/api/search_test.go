package api_test

import (
	"strings"
	"testing"

	"firn.dev/internal/door/api"
	"firn.dev/wire"
)

// TestSearchIsBoundToTheToken checks that searches are limited to the bounds of the token.
func TestSearchIsBoundToTheToken(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	secret := bearing(s.token(wire.NewToken{Scope: wire.ScopeRead, Agents: []string{"work"}}))
	if got := s.ask("GET", "/v1/search?q=lock", secret); got.status != 200 || !strings.Contains(strings.Join(s.fake.was(), " "), "Search lock [work]") {
		t.Errorf("%d %s %v", got.status, got.body, s.fake.was())
	}
	if theirs, all := s.ask("GET", "/v1/index", secret).body, s.owner("GET", "/v1/index").body; strings.Contains(theirs, "2") || !strings.Contains(all, "2") {
		t.Errorf("of how many sessions there are a bound token receives %s, the owner %s", theirs, all)
	}
	for _, path := range []string{"/v1/index/rebuild", "/v1/index/check"} {
		if got := s.ask("POST", path, secret); got.status != 403 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		if got := s.owner("POST", path); got.status != 200 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	for query, status := range map[string]int{"q=x&limit=-1": 400, "q=x&before=many": 400, "q=x&before=0&after=3": 200} {
		if got := s.owner("GET", "/v1/search?"+query); got.status != status {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
}
