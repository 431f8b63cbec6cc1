package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"firn.dev/client"
	"firn.dev/internal/door/api"
	"firn.dev/wire"
)

// listening is a gateway reachable over TCP.
type listening struct {
	t   *testing.T
	url string
	// own is a client of the owner.
	own    *client.Client
	house  *Instance
	server *httptest.Server
}

func listen(t *testing.T, o Options) listening {
	t.Helper()
	o.Env = env()
	h, err := newHouse(o)
	if err != nil {
		t.Fatal(err)
	}
	return listenAs(t, h)
}

// listenAs is listen for an instance that is not complete yet.
func listenAs(t *testing.T, h *Instance) listening {
	t.Helper()
	h.serves = true
	if err := h.assemble(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(h.Handler)
	t.Cleanup(server.Close)
	own, err := client.New(client.Options{Transport: client.InProcess(h.Own())})
	if err != nil {
		t.Fatal(err)
	}
	return listening{t, server.URL, own, h, server}
}

// ask sends a request with a token and returns the response. The caller closes its body.
func (l listening) ask(method, path, secret string) *http.Response {
	l.t.Helper()
	r, err := http.NewRequestWithContext(l.t.Context(), method, l.url+path, http.NoBody)
	if err != nil {
		l.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+secret)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		l.t.Fatal(err)
	}
	return response
}

// status returns the status of /v1/me with a token.
func (l listening) status(secret string) int {
	response := l.ask("GET", "/v1/me", secret)
	response.Body.Close()
	return response.StatusCode
}

// TestTokenOfTwoGateways checks that a token created at one gateway, or without one, is
// immediately valid at all of them, and that streams at other gateways end when it is
// revoked.
func TestTokenOfTwoGateways(t *testing.T) {
	settings := alone(t)
	a, b := listen(t, Options{Settings: load(t, settings)}), listen(t, Options{Settings: load(t, settings)})
	made, err := a.own.Access.CreateToken(t.Context(), wire.NewToken{Name: "phone", Scope: wire.ScopeRead})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.status(made.Secret); got != http.StatusOK {
		t.Errorf("at the other: %d", got)
	}
	if got := b.status(made.Secret[:len(made.Secret)-1] + "_"); got != http.StatusUnauthorized {
		t.Errorf("one like it: %d", got)
	}
	if _, err := b.own.Access.CreateToken(t.Context(), wire.NewToken{Name: "phone", Scope: wire.ScopeRead}); wire.KindOf(err) != wire.Invalid {
		t.Errorf("the name once more, elsewhere: %v", err)
	}
	stream := b.ask("GET", "/v1/events", made.Secret)
	defer stream.Body.Close()
	if stream.StatusCode != http.StatusOK {
		t.Fatalf("listen: %d", stream.StatusCode)
	}
	if _, err := a.own.Access.RevokeToken(t.Context(), "phone"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, stream.Body); err != nil { // ends now
		t.Error(err)
	}
	for name, l := range map[string]listening{"here": a, "there": b} {
		if got := l.status(made.Secret); got != http.StatusUnauthorized {
			t.Errorf("after it was revoked, %s: %d", name, got)
		}
	}
	// A command on another home with the same servers.
	_, c := openInstance(t, Options{Settings: load(t, settings)})
	made, err = c.Access.CreateToken(t.Context(), wire.NewToken{Name: "command", Scope: wire.ScopeRead})
	if err != nil {
		t.Fatal(err)
	}
	if got := a.status(made.Secret); got != http.StatusOK {
		t.Errorf("made by a command: %d", got)
	}
	if all, err := a.own.Access.Tokens(t.Context()); err != nil || len(all) != 2 || all[0].Revoked.IsZero() || all[1].Name != "command" {
		t.Errorf("the list is %+v, %v", all, err)
	}
}

// order requests a login code.
func (l listening) order(secret string) string {
	l.t.Helper()
	response := l.ask("POST", "/v1/logins", secret)
	defer response.Body.Close()
	var code wire.LoginCode
	if err := json.NewDecoder(response.Body).Decode(&code); err != nil || response.StatusCode != http.StatusOK {
		l.t.Fatalf("order a code: %d, %v", response.StatusCode, err)
	}
	return code.Code
}

// TestCodeOfTwoGateways checks that of many concurrent logins with one code at both
// gateways exactly one succeeds.
func TestCodeOfTwoGateways(t *testing.T) {
	settings := alone(t)
	a, b := listen(t, Options{Settings: load(t, settings)}), listen(t, Options{Settings: load(t, settings)})
	admin, err := b.own.Access.CreateToken(t.Context(), wire.NewToken{Name: "admin", Scope: wire.ScopeAdmin})
	if err != nil {
		t.Fatal(err)
	}
	code := a.order(admin.Secret)
	var work sync.WaitGroup
	var in atomic.Int64
	for i := range 6 {
		to := &balancer{Server: &httptest.Server{URL: []listening{a, b}[i%2].url}}
		work.Go(func() {
			if status, _ := to.browse(t, http.DefaultClient, "POST", "/v1/login", wire.Login{Code: code}); status == http.StatusOK {
				in.Add(1)
			}
		})
	}
	work.Wait()
	if in.Load() != 1 {
		t.Errorf("one code logged in %d clients", in.Load())
	}
}

// balancer is a proxy in front of two gateways that forwards to one of them.
type balancer struct {
	*httptest.Server
	to     [2]*httputil.ReverseProxy
	second atomic.Bool
}

func balance(t *testing.T, a, b listening) *balancer {
	t.Helper()
	l := &balancer{}
	for i, one := range []listening{a, b} {
		target, err := url.Parse(one.url)
		if err != nil {
			t.Fatal(err)
		}
		l.to[i] = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
		}}
	}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := l.to[0]
		if l.second.Load() {
			to = l.to[1]
		}
		to.ServeHTTP(w, r)
	}))
	t.Cleanup(l.Close)
	return l
}

// browse sends a request as a page in a browser does.
func (l *balancer) browse(t *testing.T, browser *http.Client, method, path string, body any) (int, string) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if body == nil {
		data = nil
	}
	r, err := http.NewRequestWithContext(t.Context(), method, l.URL+path, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Firn", "web")
	r.Header.Set("Origin", l.URL)
	r.Header.Set("Content-Type", "application/json")
	response, err := browser.Do(r)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

// TestBrowserOfTwoGateways checks that a browser behind one address is logged in at all
// gateways with a code that works once, and is logged out of all.
func TestBrowserOfTwoGateways(t *testing.T) {
	settings := alone(t)
	a, b := listen(t, Options{Settings: load(t, settings)}), listen(t, Options{Settings: load(t, settings)})
	front := balance(t, a, b)
	admin, err := b.own.Access.CreateToken(t.Context(), wire.NewToken{Name: "admin", Scope: wire.ScopeAdmin})
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser, code := &http.Client{Jar: jar}, a.order(admin.Secret)
	front.second.Store(true) // not where it was requested
	if status, text := front.browse(t, browser, "POST", "/v1/login", wire.Login{Code: code}); status != http.StatusOK {
		t.Fatalf("log in: %d %s", status, text)
	}
	for _, second := range []bool{true, false} {
		front.second.Store(second)
		if status, text := front.browse(t, browser, "GET", "/v1/me", nil); status != http.StatusOK || !strings.Contains(text, `"scope":"admin"`) {
			t.Errorf("the identity at the second %v: %d %s", second, status, text)
		}
		if status, _ := front.browse(t, http.DefaultClient, "POST", "/v1/login", wire.Login{Code: code}); status != http.StatusUnauthorized {
			t.Errorf("the code once more, at the second %v: %d", second, status)
		}
	}
	// A logout at one gateway applies to the other.
	r, err := http.NewRequestWithContext(t.Context(), "GET", front.URL+"/v1/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	front.second.Store(false)
	stream, err := browser.Do(r)
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatalf("listen: %v, %v", stream, err)
	}
	defer stream.Body.Close()
	front.second.Store(true)
	cookies := jar.Cookies(r.URL)
	if status, text := front.browse(t, browser, "POST", "/v1/logout", nil); status != http.StatusOK || !strings.Contains(text, "true") {
		t.Errorf("log out: %d %s", status, text)
	}
	if _, err := io.Copy(io.Discard, stream.Body); err != nil { // ends now
		t.Error(err)
	}
	front.second.Store(false)
	jar.SetCookies(r.URL, cookies)
	if status, _ := front.browse(t, browser, "GET", "/v1/me", nil); status != http.StatusUnauthorized {
		t.Errorf("the old cookie at the other: %d", status)
	}
}

// TestTokensOfHomeThatJoinsACluster checks that the tokens in a home's file are valid at all
// gateways after the home joins a cluster, and do not return with the file.
func TestTokensOfHomeThatJoinsACluster(t *testing.T) {
	files := load(t, "")
	before, err := Open(Options{Settings: files, Env: env()})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := before.tokens.Create(t.Context(), wire.NewToken{Name: "kept", Scope: wire.ScopeRead})
	if err == nil {
		_, err = before.tokens.Create(t.Context(), wire.NewToken{Name: "gone", Scope: wire.ScopeRead})
	}
	if err == nil {
		_, err = before.tokens.Revoke(t.Context(), "gone")
	}
	if err := errors.Join(err, before.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	settings := alone(t)
	other := listen(t, Options{Settings: load(t, settings)})
	same, err := other.own.Access.CreateToken(t.Context(), wire.NewToken{Name: "kept", Scope: wire.ScopeRead})
	if err != nil {
		t.Fatal(err)
	}
	moved := load(t, settings)
	moved.Home = files.Home
	listen(t, Options{Settings: moved})
	if got := other.status(kept.Secret); got != http.StatusOK {
		t.Errorf("at the other: %d", got)
	}
	all, err := other.own.Access.Tokens(t.Context())
	if err != nil || len(all) != 3 || all[2].Revoked.IsZero() {
		t.Errorf("the list is %+v, %v", all, err)
	}
	if _, err := other.own.Access.RevokeToken(t.Context(), "kept"); wire.KindOf(err) != wire.Invalid {
		t.Errorf("one of two that are called so: %v", err)
	}
	if _, err := other.own.Access.RevokeToken(t.Context(), same.ID); err != nil {
		t.Error(err)
	}
	path := api.TokensPath(files.Home)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	if data, err := os.ReadFile(path + ".carried"); err != nil || !strings.Contains(string(data), kept.ID) {
		t.Errorf("the saved one: %s, %v", data, err)
	}
}
