package api_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/door/api"
	"firn.dev/internal/door/token"
	"firn.dev/wire"
)

// TestManyBrowsers checks that logins do not fill the list of tokens.
func TestManyBrowsers(t *testing.T) {
	tokens, _ := token.Open(context.Background(), token.NewFile(faultfs.New(), "/tokens.json"), nil)
	s := browsing(t, api.Config{Tokens: tokens})
	s.token(wire.NewToken{Name: "kept", Scope: wire.ScopeRead})
	var last, out *http.Cookie
	for i := range 14 {
		admin := bearing(s.token(wire.NewToken{Name: fmt.Sprint("admin", i), Scope: wire.ScopeAdmin}))
		for range 8 {
			last = s.enter(wire.Login{Code: s.order(wire.LoginOrder{}, admin).Code})
		}
		if i == 6 {
			s.ask("POST", "/v1/logout", holding(last), page)
			out = last
		}
	}
	all, err := tokens.List(context.Background())
	if err != nil || len(all) != 115 || all[0].Name != "kept" {
		t.Errorf("%d tokens, %v", len(all), err)
	}
	for _, token := range all {
		if !token.Revoked.IsZero() {
			t.Errorf("%s is kept, and a good one was not", token.Name)
		}
	}
	if _, status := s.me(holding(last)); status != 200 {
		t.Errorf("the last one: %d", status)
	}
	if _, status := s.me(holding(out)); status != 401 {
		t.Errorf("one that is logged out: %d", status)
	}
}

// TestLoginsRevokeOnlyOwnBrowsers checks that frequent logins revoke only the caller's own
// browsers, even if made from those browsers.
func TestLoginsRevokeOnlyOwnBrowsers(t *testing.T) {
	tokens, _ := token.Open(context.Background(), token.NewFile(faultfs.New(), "/tokens.json"), nil)
	s := browsing(t, api.Config{Tokens: tokens})
	admin := s.enter(wire.Login{Code: s.order(wire.LoginOrder{}).Code})
	read := s.token(wire.NewToken{Name: "reader", Scope: wire.ScopeRead})
	var mine []*http.Cookie
	for i := range 110 {
		as := []change{bearing(read)}
		if i%3 > 0 { // from the latest browser
			as = []change{holding(mine[i-1]), page}
		}
		mine = append(mine, s.enter(wire.Login{Code: s.order(wire.LoginOrder{}, as...).Code}))
	}
	if me, status := s.me(holding(admin)); status != 200 || me.Scope != wire.ScopeAdmin {
		t.Errorf("the admin: %d %+v", status, me)
	}
	if _, status := s.me(holding(mine[109])); status != 200 {
		t.Errorf("the last of the reader: %d", status)
	}
	if _, status := s.me(holding(mine[0])); status != 401 {
		t.Errorf("the first of the reader: %d", status)
	}
	if all, err := tokens.List(context.Background()); err != nil || len(all) > 12 {
		t.Errorf("%d tokens are kept, %v", len(all), err)
	}
}

// TestCodeStaysValidIfLoginFails checks that a code is still valid if the login could not be
// saved.
func TestCodeStaysValidIfLoginFails(t *testing.T) {
	disk := faultfs.New()
	tokens, _ := token.Open(context.Background(), token.NewFile(disk, "/tokens.json"), nil)
	s := browsing(t, api.Config{Tokens: tokens})
	code := s.order(wire.LoginOrder{}).Code
	disk.FailNth(1, faultfs.Fault{Of: faultfs.Changing})
	if got := s.ask("POST", "/v1/login", sending(wire.Login{Code: code}), page); got.status < 500 || got.head.Get("Set-Cookie") != "" {
		t.Errorf("with a disk that fails: %d %s", got.status, got.body)
	}
	s.enter(wire.Login{Code: code})
	if got := s.ask("POST", "/v1/login", sending(wire.Login{Code: code}), page); got.status != 401 {
		t.Errorf("again: %d %s", got.status, got.body)
	}
}

// TestImagesAreRevalidated checks that cached images must be revalidated.
func TestImagesAreRevalidated(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	const target = "/v1/sessions/aaaa-1/entries/e1/images/1"
	first := s.owner("GET", target)
	mark := first.head.Get("Etag")
	if first.status != 200 || first.body != "\x89PNG" || mark == "" || first.head.Get("Cache-Control") != "private, no-cache" {
		t.Fatalf("%d %v", first.status, first.head)
	}
	again := s.owner("GET", target, with("If-None-Match", mark))
	if again.status != 304 || again.body != "" || again.head.Get("Etag") != mark || again.head.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("again: %d %q %v", again.status, again.body, again.head)
	}
	if other := s.owner("GET", target, with("If-None-Match", `"other"`)); other.status != 200 || other.body != first.body {
		t.Errorf("one that has changed: %d", other.status)
	}
	if got := s.ask("GET", target, with("If-None-Match", mark)); got.status != 401 {
		t.Errorf("an unauthenticated client: %d", got.status)
	}
}

// TestLateSession checks that events of a session are delivered once the session can be
// looked up.
func TestLateSession(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	secret := s.token(wire.NewToken{Scope: wire.ScopeRead, Agents: []string{"work"}})
	response := s.listen(t.Context(), "GET", "/v1/events", bearing(secret))
	s.fake.live <- wire.Event{Name: wire.TurnStarted, Session: "late-1"}
	s.fake.live <- wire.Event{Name: wire.TurnStarted, Session: "aaaa-2"}
	if all := readEvents(t, response.Body, 1); all[0].event.Session != "aaaa-2" {
		t.Fatalf("received %q", names(all))
	}
	s.fake.mu.Lock()
	s.fake.sessions = append(s.fake.sessions, wire.Session{ID: "late-1", Agent: "work"})
	s.fake.mu.Unlock()
	s.fake.live <- wire.Event{Name: wire.TurnCompleted, Session: "late-1"}
	s.fake.live <- wire.Event{Name: wire.Bye}
	all := readEvents(t, response.Body, -1)
	if len(all) != 2 || all[0].event.Session != "late-1" {
		t.Errorf("received %q", names(all))
	}
}
