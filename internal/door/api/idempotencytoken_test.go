package api_test

import (
	"testing"

	"firn.dev/internal/door/api"
	"firn.dev/wire"
)

// TestCachedResponsesAreNotShared checks that a token with the name of the owner, or of a
// revoked token, does not receive their cached responses, which it may not be allowed to see.
func TestCachedResponsesAreNotShared(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	bound := s.token(wire.NewToken{Name: "owner", Scope: wire.ScopeWrite, Agents: []string{"ops"}})
	made := []change{sending(wire.NewSession{Title: "private"}), with("Idempotency-Key", "one")}
	if got := s.owner("POST", "/v1/sessions", made...); got.status != 200 {
		t.Fatalf("the owner was answered %d %s", got.status, got.body)
	}
	got := s.ask("POST", "/v1/sessions", append(made, bearing(bound))...)
	if got.head.Get("Idempotent-Replayed") != "" {
		t.Errorf("a token received the owner's response: %d %s", got.status, got.body)
	}
	if again := s.owner("POST", "/v1/sessions", made...); again.head.Get("Idempotent-Replayed") == "" {
		t.Errorf("the owner received a new response: %d %s", again.status, again.body)
	}
}
