package api_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/door/api"
	"firn.dev/internal/door/token"
	"firn.dev/internal/gateway/metrics"
	"firn.dev/wire"
)

// browsing returns a server with pages.
func browsing(t *testing.T, c api.Config) *fakeServer {
	t.Helper()
	c.Web = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "page "+r.URL.Path) })
	return newFakeServer(t, c)
}

// page marks a request as sent by firn's own page.
func page(r *http.Request) {
	r.Header.Set("X-Firn", "web")
	r.Header.Set("Origin", "http://"+r.Host)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
}

// order requests a login code as a given token, or a new one of that scope.
func (s *fakeServer) order(o wire.LoginOrder, as ...change) wire.LoginCode {
	s.t.Helper()
	if len(as) == 0 {
		as = []change{bearing(s.token(wire.NewToken{Name: rand.Text(), Scope: wire.ScopeAdmin}))}
	}
	got := s.ask("POST", "/v1/logins", append(as, sending(o))...)
	var code wire.LoginCode
	if err := json.Unmarshal([]byte(got.body), &code); err != nil || got.status != 200 {
		s.t.Fatalf("order a login: %d %s", got.status, got.body)
	}
	return code
}

// enter logs in and returns the cookie.
func (s *fakeServer) enter(l wire.Login) *http.Cookie {
	s.t.Helper()
	got := s.ask("POST", "/v1/login", sending(l), page)
	cookies := (&http.Response{Header: got.head}).Cookies()
	if got.status != 200 || len(cookies) != 1 {
		s.t.Fatalf("log in: %d %s %v", got.status, got.body, got.head)
	}
	return cookies[0]
}

// holding sends a cookie.
func holding(c *http.Cookie) change {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value}) }
}

// me returns the caller's identity.
func (s *fakeServer) me(changes ...change) (wire.Me, int) {
	s.t.Helper()
	got := s.ask("GET", "/v1/me", changes...)
	var me wire.Me
	json.Unmarshal([]byte(got.body), &me)
	return me, got.status
}

func TestLoginByCode(t *testing.T) {
	s := browsing(t, api.Config{Version: "1.2.3"})
	before := time.Now()
	code := s.order(wire.LoginOrder{})
	if len(code.Code) < 26 || code.URL != "http://localhost:7766/login#"+code.Code || code.Expires.Before(before.Add(119*time.Second)) || code.Expires.After(time.Now().Add(2*time.Minute)) {
		t.Errorf("the code is %+v", code)
	}
	cookie := s.enter(wire.Login{Code: code.Code})
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" || cookie.Domain != "" || cookie.Secure || cookie.Name != "firn-7766" || cookie.MaxAge < 30*24*3600-60 || cookie.MaxAge > 30*24*3600 {
		t.Errorf("the cookie is %+v", cookie)
	}
	me, status := s.me(holding(cookie), page)
	if status != 200 || me.Scope != wire.ScopeAdmin || !strings.HasPrefix(me.Name, "browser ") || me.Version != "1.2.3" || me.Expires.IsZero() {
		t.Errorf("%d %+v", status, me)
	}
	// The code works once.
	if got := s.ask("POST", "/v1/login", sending(wire.Login{Code: code.Code}), page); got.status != 401 || got.kind() != wire.NoToken || got.head.Get("Set-Cookie") != "" {
		t.Errorf("the second time: %d %s", got.status, got.body)
	}
	if got := s.ask("POST", "/v1/sessions", holding(cookie), page); got.status != 200 {
		t.Errorf("a write from firn's page: %d %s", got.status, got.body)
	}
}

func TestLoginByToken(t *testing.T) {
	s := browsing(t, api.Config{})
	ends := time.Now().Add(time.Hour).Truncate(time.Second)
	secret := s.token(wire.NewToken{Name: "phone", Scope: wire.ScopeWrite, Agents: []string{"work"}, Expires: ends})
	cookie := s.enter(wire.Login{Token: " " + secret + "\n"})
	if cookie.Value == secret || cookie.MaxAge > 3600 {
		t.Errorf("the cookie is %+v", cookie)
	}
	me, _ := s.me(holding(cookie))
	if me.Scope != wire.ScopeWrite || len(me.Agents) != 1 || me.Agents[0] != "work" || !me.Expires.Equal(ends) {
		t.Errorf("%+v", me)
	}
	if got := s.ask("GET", "/v1/sessions/aaaa-1", holding(cookie)); got.status == 200 {
		t.Error("a browser has more rights than its token")
	}
	// A browser that logged in with a token is revoked with it.
	if got := s.owner("DELETE", "/v1/tokens/phone"); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if _, status := s.me(holding(cookie)); status != 401 {
		t.Errorf("after its token was revoked: %d", status)
	}
	hook := s.token(wire.NewToken{Scope: wire.ScopeHook})
	for name, l := range map[string]wire.Login{
		"revoked": {Token: secret}, "unknown": {Token: "firn_" + strings.Repeat("A", 43)}, "both": {Token: secret, Code: "x"}, "neither": {}, "of a hook": {Token: hook},
	} {
		if got := s.ask("POST", "/v1/login", sending(l), page); got.status == 200 || got.head.Get("Set-Cookie") != "" || strings.Contains(got.body, secret) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

// TestProgramTokenIsNoCookie checks that a program's token is rejected as a cookie.
func TestProgramTokenIsNoCookie(t *testing.T) {
	s := browsing(t, api.Config{})
	secret := s.token(wire.NewToken{Scope: wire.ScopeAdmin})
	if _, status := s.me(holding(&http.Cookie{Name: "firn-7766", Value: secret})); status != 401 {
		t.Errorf("a token as a cookie: %d", status)
	}
	cookie := s.enter(wire.Login{Token: secret})
	for name, c := range map[string]*http.Cookie{
		"of another port": {Name: "firn-3000", Value: cookie.Value}, "without a port": {Name: "firn", Value: cookie.Value}, "cut off": {Name: cookie.Name, Value: cookie.Value[:20]}, "empty": {Name: cookie.Name},
	} {
		if _, status := s.me(holding(c)); status != 401 {
			t.Errorf("%s: %d", name, status)
		}
	}
	// A token in the header takes precedence over the cookie.
	read := s.token(wire.NewToken{Scope: wire.ScopeRead})
	if me, status := s.me(holding(cookie), bearing(read)); status != 200 || me.Scope != wire.ScopeRead {
		t.Errorf("both: %d %+v", status, me)
	}
}

func TestCodesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens, err := token.Open(context.Background(), token.NewFile(faultfs.New(), "/tokens.json"), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		s := browsing(t, api.Config{Tokens: tokens})
		first, second := s.order(wire.LoginOrder{}), s.order(wire.LoginOrder{})
		time.Sleep(2*time.Minute - time.Nanosecond)
		cookie := s.enter(wire.Login{Code: first.Code})
		time.Sleep(time.Nanosecond)
		if got := s.ask("POST", "/v1/login", sending(wire.Login{Code: second.Code}), page); got.status != 401 {
			t.Errorf("after two minutes: %d %s", got.status, got.body)
		}
		time.Sleep(30*24*time.Hour - time.Second)
		if _, status := s.me(holding(cookie)); status != 401 {
			t.Errorf("after 30 days: %d", status)
		}
	})
}

func TestOldestCodeIsRevoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens, _ := token.Open(context.Background(), token.NewFile(faultfs.New(), "/tokens.json"), time.Now)
		s := browsing(t, api.Config{Tokens: tokens})
		one, other := bearing(s.token(wire.NewToken{Name: "one", Scope: wire.ScopeRead})), bearing(s.token(wire.NewToken{Name: "other", Scope: wire.ScopeRead}))
		kept := s.order(wire.LoginOrder{}, other)
		var codes []wire.LoginCode
		for range 9 {
			codes = append(codes, s.order(wire.LoginOrder{}, one))
			time.Sleep(time.Second)
		}
		if got := s.ask("POST", "/v1/login", sending(wire.Login{Code: codes[0].Code}), page); got.status != 401 {
			t.Errorf("the oldest of too many: %d", got.status)
		}
		s.enter(wire.Login{Code: codes[1].Code})
		s.enter(wire.Login{Code: kept.Code}) // the requests of one caller do not affect others
	})
}

// TestLoginCodeCannotGrantMoreRights checks that a login code cannot grant more rights than
// its creator has.
func TestLoginCodeCannotGrantMoreRights(t *testing.T) {
	s := browsing(t, api.Config{})
	write := bearing(s.token(wire.NewToken{Name: "w", Scope: wire.ScopeWrite, Agents: []string{"main", "work"}, Keys: []string{"agent:main:telegram"}}))
	hook := bearing(s.token(wire.NewToken{Name: "h", Scope: wire.ScopeHook}))
	admin := bearing(s.token(wire.NewToken{Name: "a", Scope: wire.ScopeAdmin}))
	for _, c := range []struct {
		name   string
		as     change
		order  wire.LoginOrder
		status int
	}{
		{"as much", write, wire.LoginOrder{}, 200},
		{"less", write, wire.LoginOrder{Scope: wire.ScopeRead, Agents: []string{"main"}, Keys: []string{"agent:main:telegram:1"}}, 200},
		{"a larger scope", write, wire.LoginOrder{Scope: wire.ScopeAdmin}, 403},
		{"another agent", write, wire.LoginOrder{Agents: []string{"main", "home"}}, 403},
		{"another key", write, wire.LoginOrder{Keys: []string{"agent:main:telegram2"}}, 403},
		{"a wider key", write, wire.LoginOrder{Keys: []string{"agent:main"}}, 403},
		{"an unknown scope", write, wire.LoginOrder{Scope: "god"}, 400},
		{"the scope of hooks", admin, wire.LoginOrder{Scope: wire.ScopeHook}, 400},
		{"a bound admin", admin, wire.LoginOrder{Agents: []string{"main"}}, 400},
		{"a hook", hook, wire.LoginOrder{}, 403},
	} {
		got := s.ask("POST", "/v1/logins", c.as, sending(c.order))
		if got.status != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, got.status, got.body, c.status)
		}
	}
	me, _ := s.me(holding(s.enter(wire.Login{Code: s.order(wire.LoginOrder{}, write).Code})))
	if me.Scope != wire.ScopeWrite || fmt.Sprint(me.Agents, me.Keys) != "[main work] [agent:main:telegram]" {
		t.Errorf("%+v", me)
	}
}

// TestGuessingHidesTheCause checks that after some wrong attempts the cause is hidden for a
// while, but valid logins are accepted.
func TestGuessingHidesTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens, _ := token.Open(context.Background(), token.NewFile(faultfs.New(), "/tokens.json"), time.Now)
		set := metrics.New(time.Now())
		s := browsing(t, api.Config{Tokens: tokens, Metrics: set})
		try := func(code, from string) reply {
			return s.ask("POST", "/v1/login", sending(wire.Login{Code: code}), page, func(r *http.Request) { r.RemoteAddr = from })
		}
		good := s.order(wire.LoginOrder{}).Code
		for range 12 { // valid logins are not counted
			if got := try(s.order(wire.LoginOrder{}).Code, "10.0.0.1:1"); got.status != 200 {
				t.Fatalf("%d %s", got.status, got.body)
			}
		}
		for i := range 10 {
			if got := try(fmt.Sprint("wrong", i), fmt.Sprintf("10.0.0.1:%d", i+1)); got.status != 401 {
				t.Fatalf("guess %d: %d", i, got.status)
			}
		}
		if got := try("wrong", "10.0.0.1:99"); got.status != 429 || got.head.Get("Retry-After") != "60" {
			t.Errorf("after ten: %d %v", got.status, got.head)
		}
		if got := try(good, "10.0.0.1:99"); got.status != 200 {
			t.Errorf("a valid login after ten wrong ones: %d %s", got.status, got.body)
		}
		if got := try("wrong", "10.0.0.2:1"); got.status != 401 {
			t.Errorf("from elsewhere: %d", got.status)
		}
		for i := range 10 { // one network has many IPv6 addresses
			try("wrong", fmt.Sprintf("[2001:db8::%x]:1", i))
		}
		if got := try("wrong", "[2001:db8::ffff]:1"); got.status != 429 {
			t.Errorf("from the same network: %d", got.status)
		}
		time.Sleep(time.Minute)
		if got := try("wrong", "10.0.0.1:99"); got.status != 401 {
			t.Errorf("a minute later: %d %s", got.status, got.body)
		}
		for i := range 600 {
			try("wrong", fmt.Sprintf("10.1.%d.%d:1", i/250, i%250))
		}
		if got := try("wrong", "10.9.9.9:1"); got.status != 429 {
			t.Errorf("after very many attempts from everywhere: %d", got.status)
		}
		if !strings.Contains(string(set.Append(nil)), `firn_http_refused_total{reason="login"}`) {
			t.Error("it is not counted")
		}
	})
}

// TestRestart checks that a browser stays logged in over a restart, and that an unused code
// still works, once.
func TestRestart(t *testing.T) {
	path := t.TempDir() + "/tokens.json"
	open := func() *fakeServer {
		tokens, err := token.Open(context.Background(), token.NewFile(vfs.OS{}, path), nil)
		if err != nil {
			t.Fatal(err)
		}
		return browsing(t, api.Config{Tokens: tokens})
	}
	s := open()
	code := s.order(wire.LoginOrder{Scope: wire.ScopeRead})
	cookie := s.enter(wire.Login{Code: s.order(wire.LoginOrder{Scope: wire.ScopeRead}).Code})
	s = open()
	if me, status := s.me(holding(cookie)); status != 200 || me.Scope != wire.ScopeRead {
		t.Errorf("%d %+v", status, me)
	}
	s.enter(wire.Login{Code: code.Code})
	s = open()
	if got := s.ask("POST", "/v1/login", sending(wire.Login{Code: code.Code}), page); got.status != 401 {
		t.Errorf("an earlier code that was used: %d", got.status)
	}
}

func TestLogout(t *testing.T) {
	s := browsing(t, api.Config{})
	cookie := s.enter(wire.Login{Code: s.order(wire.LoginOrder{Scope: wire.ScopeRead}).Code})
	out := s.ask("POST", "/v1/logout", holding(cookie), page)
	gone := (&http.Response{Header: out.head}).Cookies()
	if out.status != 200 || !strings.Contains(out.body, `"loggedOut":true`) || len(gone) != 1 || gone[0].MaxAge >= 0 || gone[0].Value != "" || gone[0].Name != cookie.Name || out.head.Get("Clear-Site-Data") != `"cache"` {
		t.Errorf("%d %s %v", out.status, out.body, out.head)
	}
	if _, status := s.me(holding(cookie)); status != 401 {
		t.Errorf("afterwards: %d", status)
	}
	// The cookie is removed even if the browser is no longer logged in.
	if out := s.ask("POST", "/v1/logout", holding(cookie), page); out.status != 200 || !strings.Contains(out.body, "false") || out.head.Get("Set-Cookie") == "" {
		t.Errorf("again: %d %s", out.status, out.body)
	}
	if out := s.ask("POST", "/v1/logout", page); out.status != 200 || out.head.Get("Set-Cookie") != "" {
		t.Errorf("without a cookie: %d %s", out.status, out.body)
	}
	// A program's token is not revoked.
	secret := bearing(s.token(wire.NewToken{Scope: wire.ScopeRead}))
	s.ask("POST", "/v1/logout", secret, page)
	if _, status := s.me(secret); status != 200 {
		t.Errorf("the token of a program: %d", status)
	}
	list := s.owner("GET", "/v1/tokens")
	if !strings.Contains(list.body, `"browser `) || !strings.Contains(list.body, `"revoked"`) {
		t.Errorf("the list is %s", list.body)
	}
}

// TestSecondLogin checks that a second login revokes the first token, unless the new login
// was created from it.
func TestSecondLogin(t *testing.T) {
	s := browsing(t, api.Config{})
	first := s.enter(wire.Login{Code: s.order(wire.LoginOrder{}).Code})
	again := func(code string, c *http.Cookie) *http.Cookie {
		t.Helper()
		got := s.ask("POST", "/v1/login", sending(wire.Login{Code: code}), page, holding(c))
		if got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		return (&http.Response{Header: got.head}).Cookies()[0]
	}
	second := again(s.order(wire.LoginOrder{}).Code, first)
	if _, status := s.me(holding(first)); status != 401 {
		t.Errorf("the one before: %d", status)
	}
	third := again(s.order(wire.LoginOrder{Scope: wire.ScopeRead}, holding(second), page).Code, second)
	if me, status := s.me(holding(third)); status != 200 || me.Scope != wire.ScopeRead {
		t.Errorf("a request from the other page: %d %+v", status, me)
	}
	if out := s.ask("POST", "/v1/logout", holding(second), page); out.status != 200 {
		t.Fatal(out.body)
	}
	if _, status := s.me(holding(third)); status != 401 {
		t.Errorf("after that is removed: %d", status)
	}
}

// TestNoPages checks that browsers cannot log in without pages.
func TestNoPages(t *testing.T) {
	s := browsing(t, api.Config{})
	cookie := s.enter(wire.Login{Code: s.order(wire.LoginOrder{}).Code})
	off := newFakeServer(t, api.Config{Tokens: s.tokens})
	admin := bearing(off.token(wire.NewToken{Scope: wire.ScopeAdmin}))
	if got := off.ask("POST", "/v1/logins", admin, sending(wire.LoginOrder{})); got.kind() != wire.Unsupported {
		t.Errorf("a code: %d %s", got.status, got.body)
	}
	if got := off.ask("POST", "/v1/login", page, sending(wire.Login{Code: "x"})); got.kind() != wire.Unsupported {
		t.Errorf("a login: %d %s", got.status, got.body)
	}
	if _, status := off.me(holding(cookie)); status != 401 {
		t.Errorf("a cookie: %d", status)
	}
	if got := off.ask("GET", "/"); got.status != 404 {
		t.Errorf("a page: %d", got.status)
	}
}

// TestPagesAndAPI checks that API paths are never served as pages.
func TestPagesAndAPI(t *testing.T) {
	s := browsing(t, api.Config{})
	for target, isPage := range map[string]bool{
		"/": true, "/login": true, "/sessions/a.b": true, "/assets/app.js": true, "/v1x": true, "/sessions/v1": true,
		"/v1": false, "/v1/nothing": false, "/mcp/x": false, "/healthz": false, "/healthz/x": false, "/metrics/x": false, "/openapi.json": false, "/v1/../x": false, "//x": false,
	} {
		got := s.ask("GET", target)
		if strings.HasPrefix(got.body, "page ") != isPage {
			t.Errorf("%s: %d %s", target, got.status, got.body)
		}
	}
	if got := s.ask("GET", "/", calling("evil.example")); got.status != 403 {
		t.Errorf("a page under a foreign name: %d", got.status)
	}
	if got := s.ask("GET", "/sessions", with("Sec-Fetch-Site", "cross-site")); got.status != 200 {
		t.Errorf("a link to a page: %d", got.status)
	}
}

// TestTLS checks that over TLS the cookie is restricted to TLS, and takes precedence over
// one set over plain HTTP.
func TestTLS(t *testing.T) {
	s := browsing(t, api.Config{Hosts: []string{"firn.example"}})
	there := func(r *http.Request) {
		r.Host = "firn.example"
		r.Header.Set("X-Forwarded-Proto", "https")
	}
	admin := bearing(s.token(wire.NewToken{Scope: wire.ScopeAdmin}))
	code := s.order(wire.LoginOrder{}, admin, there)
	if code.URL != "https://firn.example/login#"+code.Code {
		t.Errorf("the address is %s", code.URL)
	}
	got := s.ask("POST", "/v1/login", there, sending(wire.Login{Code: code.Code}), with("X-Firn", "web"), with("Origin", "https://firn.example"))
	cookie := (&http.Response{Header: got.head}).Cookies()[0]
	if cookie.Name != "__Host-firn" || !cookie.Secure || cookie.Path != "/" || cookie.Domain != "" {
		t.Errorf("the cookie is %+v", cookie)
	}
	planted := s.enter(wire.Login{Code: s.order(wire.LoginOrder{Scope: wire.ScopeRead}).Code})
	planted.Name = "firn"
	if me, status := s.me(there, holding(planted), holding(cookie)); status != 200 || me.Scope != wire.ScopeAdmin {
		t.Errorf("with a planted cookie: %d %+v", status, me)
	}
}

// TestNoSecretIsLogged checks that logs and errors never contain codes, cookies or tokens.
func TestNoSecretIsLogged(t *testing.T) {
	var log bytes.Buffer
	s := browsing(t, api.Config{Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	code := s.order(wire.LoginOrder{}).Code
	secret := s.token(wire.NewToken{Scope: wire.ScopeAdmin})
	var reported strings.Builder
	for _, r := range []reply{
		s.ask("POST", "/v1/login", page, withBody("application/json", `{"code":"`+code+`",`)),
		s.ask("POST", "/v1/login", page, withBody("application/json", `{"`+code+`":1}`)),
		s.ask("POST", "/v1/login", page, withBody("application/json", `{"token":"`+secret+`","code":"`+code+`"}`)),
		s.ask("POST", "/v1/login", page, withBody("text/plain", code)),
		s.ask("POST", "/v1/login", page, withBody("application/json", `"`+secret+strings.Repeat("x", 5000)+`"`)),
		s.ask("POST", "/v1/login", sending(wire.Login{Code: code})),
		s.ask("POST", "/v1/login?code="+code, page, sending(wire.Login{Code: code})),
		s.ask("GET", "/v1/login", holding(&http.Cookie{Name: "firn-7766", Value: secret})),
	} {
		if r.status < 400 {
			t.Errorf("%d %s", r.status, r.body)
		}
		reported.WriteString(r.body)
	}
	cookie := s.enter(wire.Login{Code: code}) // the code is still unused
	s.ask("POST", "/v1/sessions", holding(cookie))
	s.ask("GET", "/v1/nothing", holding(cookie))
	reported.WriteString(log.String() + s.owner("GET", "/v1/tokens").body)
	for name, word := range map[string]string{"the code": code, "the token": secret, "the cookie": cookie.Value} {
		if strings.Contains(reported.String(), word) {
			t.Errorf("the response to %s is %s", name, reported.String())
		}
	}
}

// TestCompression checks that a large response is compressed once for clients that accept it,
// and never over the socket.
func TestCompression(t *testing.T) {
	s := browsing(t, api.Config{})
	for i := range 100 {
		s.fake.sessions = append(s.fake.sessions, wire.Session{ID: firn.ID(fmt.Sprint("bbbb-", i)), Title: fmt.Sprint("a session like others ", i)})
	}
	secret := bearing(s.token(wire.NewToken{Scope: wire.ScopeRead}))
	target := "/v1/sessions?limit=1000"
	plain := s.ask("GET", target, secret)
	if plain.head.Get("Content-Encoding") != "" || plain.head.Get("Vary") != "Accept-Encoding" {
		t.Errorf("unasked: %v", plain.head)
	}
	packed := s.ask("GET", target, secret, with("Accept-Encoding", "br, gzip;q=0.5"))
	if packed.head.Get("Content-Encoding") != "gzip" || packed.head.Get("Content-Length") != fmt.Sprint(len(packed.body)) || len(packed.body) > len(plain.body)/3 || unpack(t, packed.body) != plain.body {
		t.Errorf("%v, %d bytes of %d", packed.head, len(packed.body), len(plain.body))
	}
	for _, refused := range []string{"gzip;q=0", "gzip; q=0.000", "br", "identity"} {
		if got := s.ask("GET", target, secret, with("Accept-Encoding", refused)); got.head.Get("Content-Encoding") != "" {
			t.Errorf("%s: packed", refused)
		}
	}
	if got := s.ask("GET", "/v1/me", secret, with("Accept-Encoding", "gzip")); got.head.Get("Content-Encoding") != "" {
		t.Error("a small response is compressed")
	}
	if got := s.owner("GET", target, with("Accept-Encoding", "gzip")); got.head.Get("Content-Encoding") != "" || got.body != plain.body {
		t.Error("over the socket")
	}
}
