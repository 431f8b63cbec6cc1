package api_test

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"firn.dev/internal/door/api"
	"firn.dev/internal/door/token"
	"firn.dev/wire"
)

func unpack(t *testing.T, packed string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

// TestCookieRequestsMustBeSameSite checks that requests with a cookie must be sent by firn's
// own pages, as confirmed by the browser's headers.
func TestCookieRequestsMustBeSameSite(t *testing.T) {
	s := browsing(t, api.Config{Origins: []string{"https://app.example"}})
	cookie := holding(s.enter(wire.Login{Code: s.order(wire.LoginOrder{}).Code}))
	token := bearing(s.token(wire.NewToken{Scope: wire.ScopeAdmin}))
	const ours, neighbor, allowed = "http://localhost:7766", "http://localhost:3000", "https://app.example"
	cases := []struct {
		name, word, origin, site string
		// read, write and login are the statuses of a GET and a POST with the cookie, and
		// of a login; bearer is that of a POST with a token.
		read, write, login, bearer int
	}{
		{"a page of ours", "web", ours, "same-origin", 200, 200, 401, 200},
		{"an older browser", "web", ours, "", 200, 200, 401, 200},
		{"only the site", "web", "", "same-origin", 200, 200, 401, 200},
		{"without the header", "", ours, "same-origin", 200, 403, 403, 200},
		{"another word", "yes", ours, "same-origin", 200, 403, 403, 200},
		{"without a sign", "web", "", "", 200, 403, 401, 200},
		{"nothing at all", "", "", "", 200, 403, 403, 200},
		{"typed in", "", "", "none", 200, 403, 403, 200},
		{"typed in, with the header", "web", "", "none", 200, 403, 403, 200},
		{"a neighbor", "web", neighbor, "same-site", 403, 403, 403, 403},
		{"a neighbor without an origin", "web", "", "same-site", 403, 403, 403, 403},
		{"a neighbor with a forged origin", "web", ours, "same-site", 403, 403, 403, 200},
		{"a foreigner", "web", "https://evil.example", "cross-site", 403, 403, 403, 403},
		{"a foreigner without an origin", "web", "", "cross-site", 403, 403, 403, 403},
		{"null origin", "web", "null", "cross-site", 403, 403, 403, 403},
		{"null origin, same-origin", "web", "null", "same-origin", 403, 403, 403, 403},
		{"an allowed foreigner", "web", allowed, "cross-site", 403, 403, 403, 200},
		{"an allowed foreigner in an older browser", "web", allowed, "", 403, 403, 403, 200},
		{"an unknown value of Sec-Fetch-Site", "web", ours, "other", 403, 403, 403, 200},
		{"an origin with a suffix", "web", ours + "/x", "same-origin", 403, 403, 403, 200},
		{"TLS in front", "web", "https://localhost:7766", "same-origin", 200, 200, 401, 200},
	}
	for _, c := range cases {
		from := func(r *http.Request) {
			for name, value := range map[string]string{"X-Firn": c.word, "Origin": c.origin, "Sec-Fetch-Site": c.site} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
		}
		for what, got := range map[string][2]int{
			"read":   {s.ask("GET", "/v1/models", cookie, from).status, c.read},
			"head":   {s.ask("HEAD", "/v1/models", cookie, from).status, c.read},
			"write":  {s.ask("POST", "/v1/sessions", cookie, from).status, c.write},
			"remove": {s.ask("DELETE", "/v1/sessions/aaaa-1", cookie, from).status, c.write},
			"token":  {s.ask("POST", "/v1/sessions", token, from).status, c.bearer},
			"both":   {s.ask("POST", "/v1/sessions", token, cookie, from).status, c.bearer},
			"logout": {s.ask("POST", "/v1/logout", holding(&http.Cookie{Name: "firn-7766", Value: "old"}), from).status, c.write},
			"login":  {s.ask("POST", "/v1/login", from, sending(wire.Login{Code: "x"}), freshAddress()).status, c.login},
		} {
			if got[0] != got[1] {
				t.Errorf("%s, %s: %d, want %d", c.name, what, got[0], got[1])
			}
		}
	}
}

// freshAddress returns a change to a remote address without failed logins.
var freshAddress = func() func() change {
	n := 0
	return func() change {
		n++
		return func(r *http.Request) { r.RemoteAddr = "10.3.0." + string(rune('0'+n%10)) + ":1" }
	}
}()

// TestTwoHeaders checks that one header of a foreign page is enough to reject a request.
func TestTwoHeaders(t *testing.T) {
	s := browsing(t, api.Config{Origins: []string{"https://app.example"}})
	cookie := holding(s.enter(wire.Login{Code: s.order(wire.LoginOrder{}).Code}))
	for name, values := range map[string][]string{
		"Origin": {"https://app.example"}, "Sec-Fetch-Site": {"cross-site"}, "X-Firn": {"web"},
	} {
		more := func(r *http.Request) {
			for _, v := range values {
				r.Header.Add(name, v)
			}
		}
		if got := s.ask("POST", "/v1/sessions", cookie, page, more); got.status != 403 {
			t.Errorf("%s twice: %d", name, got.status)
		}
	}
}

// TestReadRole checks that a browser with read scope cannot change anything.
func TestReadRole(t *testing.T) {
	s := browsing(t, api.Config{})
	cookie := holding(s.enter(wire.Login{Code: s.order(wire.LoginOrder{Scope: wire.ScopeRead}).Code}))
	for _, c := range []struct {
		method, target string
		change         change
	}{
		{"POST", "/v1/sessions", sending(wire.NewSession{})}, {"PATCH", "/v1/sessions/aaaa-1", sending(wire.Patch{})}, {"DELETE", "/v1/sessions/aaaa-1", page},
		{"POST", "/v1/sessions/aaaa-1/turns", sending(wire.Turn{Text: "x"})}, {"POST", "/v1/sessions/aaaa-1:fork", page}, {"POST", "/v1/maintenance", page},
		{"POST", "/v1/tokens", sending(wire.NewToken{Name: "x", Scope: wire.ScopeRead})}, {"GET", "/v1/tokens", page},
		{"POST", "/v1/logins", sending(wire.LoginOrder{Scope: wire.ScopeWrite})},
	} {
		if got := s.ask(c.method, c.target, cookie, page, c.change); got.status != 403 || got.kind() != wire.NotAllowed {
			t.Errorf("%s %s: %d %s", c.method, c.target, got.status, got.body)
		}
	}
	if asked := s.fake.was(); len(asked) != 0 {
		t.Errorf("the gateway received %q", asked)
	}
	if got := s.ask("GET", "/v1/sessions", cookie, page); got.status != 200 {
		t.Errorf("looking: %d", got.status)
	}
}

// FuzzLogin sends arbitrary data to the login. It must never return a cookie or repeat the
// input.
func FuzzLogin(f *testing.F) {
	f.Add([]byte(`{"code":"ABCDEFGHIJKLMNOPQRSTUVWXYZ"}`), "web", "http://localhost:7766", "application/json", "firn-7766=firn_x")
	f.Add([]byte(`{"token":"firn_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`), "web", "", "application/json", "")
	f.Add([]byte(`{"code":"x","token":"y"}{}`), "", "null", "text/plain", "__Host-firn-7766=;firn-7766=\"\"")
	f.Add([]byte(`{"code":{"a":[1,2,{}]},"Code":"z"}`), "web", "https://localhost:7766", "application/json; charset=utf-8", "firn=x; firn=y")
	f.Add([]byte("\xff\xfe[[[[[[[["), "web", "%%%", "application/json", "\x00")
	f.Add([]byte(`{"code":"`+strings.Repeat("A", 5000)+`"}`), "web", "", "application/json", "")
	var minutes atomic.Int64 // each attempt is in another minute, since rate limits are tested elsewhere
	tokens, err := token.Open(context.Background(), token.NewFile(noFiles(f), "/tokens.json"), func() time.Time { return time.Unix(60*minutes.Add(1), 0) })
	if err != nil {
		f.Fatal(err)
	}
	s := browsing(&testing.T{}, api.Config{Tokens: tokens})
	f.Fuzz(func(t *testing.T, body []byte, word, origin, kind, cookie string) {
		for _, target := range []string{"/v1/login", "/v1/logout", "/v1/me"} {
			method := "POST"
			if target == "/v1/me" {
				method = "GET"
			}
			got := s.ask(method, target, withBody(kind, string(body)), func(r *http.Request) {
				for name, value := range map[string]string{"X-Firn": word, "Origin": origin, "Cookie": cookie} {
					if value != "" {
						r.Header.Set(name, value)
					}
				}
			})
			if got.status >= 500 || got.status == 429 || got.status == 200 && target != "/v1/logout" {
				t.Errorf("%s: %d %s", target, got.status, got.body)
			}
			if set := got.head.Get("Set-Cookie"); set != "" && !strings.Contains(set, "=; ") {
				t.Errorf("%s: a cookie is set: %s", target, set)
			}
			if len(body) > 12 && strings.Contains(got.body, string(body)) {
				t.Errorf("%s: the response repeats the request: %s", target, got.body)
			}
		}
	})
}
