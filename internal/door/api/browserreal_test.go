package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"

	"firn.dev/internal/door/api"
	"firn.dev/wire"
)

// browser simulates a browser: it stores cookies and sends the origin headers.
type browser struct {
	t    *testing.T
	base string
	http *http.Client
}

func newBrowser(t *testing.T, base string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{t, base, &http.Client{Jar: jar, Transport: &http.Transport{}}}
	t.Cleanup(b.http.CloseIdleConnections)
	return b
}

// ask sends a request from a page of the gateway.
func (b *browser) ask(ctx context.Context, method, path string, body any) *http.Response {
	b.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, method, b.base+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method != http.MethodGet {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(data))), int64(len(data))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", b.base)
		r.Header.Set("X-Firn", "web")
	}
	answer, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { answer.Body.Close() })
	return answer
}

// into sends a request and decodes the response.
func (b *browser) into(method, path string, body, out any) int {
	b.t.Helper()
	answer := b.ask(b.t.Context(), method, path, body)
	if err := json.NewDecoder(answer.Body).Decode(out); err != nil {
		b.t.Fatal(err)
	}
	return answer.StatusCode
}

func withPages(c *api.Config, _ *api.ServeOptions) {
	c.Web = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "a page") })
}

// TestRealBrowser runs the complete login: the owner requests a code over the socket, a
// browser logs in over TCP, sends messages, listens, and is revoked.
func TestRealBrowser(t *testing.T) {
	home := shortDir(t)
	h := openRealServerWith(t, home, withPages)
	code, err := h.owner.Access.OrderLogin(t.Context(), wire.LoginOrder{})
	if err != nil || code.URL != "http://"+h.Address.TCP+"/login#"+code.Code {
		t.Fatalf("%+v %v", code, err)
	}
	b := newBrowser(t, "http://"+h.Address.TCP)
	var failed wire.Failure
	if status := b.into("GET", "/v1/me", nil, &failed); status != 401 {
		t.Errorf("before: %d", status)
	}
	var me wire.Me
	if status := b.into("POST", "/v1/login", wire.Login{Code: code.Code}, &me); status != 200 || me.Scope != wire.ScopeAdmin {
		t.Fatalf("%d %+v", status, me)
	}
	var session wire.Session
	if status := b.into("POST", "/v1/sessions", wire.NewSession{Title: "from a browser"}, &session); status != 200 {
		t.Fatalf("a session: %d", status)
	}
	var answer wire.Answer
	if status := b.into("POST", "/v1/sessions/"+string(session.ID)+"/turns", wire.Turn{Text: "hello"}, &answer); status != 200 || answer.Text != "re: hello" {
		t.Errorf("%d %+v", status, answer)
	}
	events := b.ask(t.Context(), "GET", "/v1/sessions/"+string(session.ID)+"/events", nil)
	lines := bufio.NewReader(events.Body)
	for line := ""; !strings.HasPrefix(line, "event: entry.appended"); {
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	// Its token is listed. Once it is revoked, the stream ends.
	tokens, err := h.owner.Access.Tokens(t.Context())
	if err != nil || len(tokens) != 1 || tokens[0].Name != me.Name {
		t.Fatalf("%+v %v", tokens, err)
	}
	if _, err := h.owner.Access.RevokeToken(t.Context(), tokens[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Errorf("the stream ends with %v", err)
	}
	if status := b.into("GET", "/v1/me", nil, &failed); status != 401 || failed.Error.Kind != wire.NoToken {
		t.Errorf("revoked: %d %+v", status, failed)
	}
	if page := b.ask(t.Context(), "GET", "/sessions", nil); page.StatusCode != 200 {
		t.Errorf("a page needs no login: %d", page.StatusCode)
	}
	// The socket is not affected.
	owner, err := h.owner.Access.Me(t.Context())
	if err != nil || owner.Name != "owner" || owner.Scope != wire.ScopeAdmin || !owner.Expires.IsZero() {
		t.Errorf("%+v %v", owner, err)
	}
}

// TestNoLoginCodesWithoutTCP checks that a gateway without TCP creates no login codes and
// returns a hint.
func TestNoLoginCodesWithoutTCP(t *testing.T) {
	h := openRealServerWith(t, shortDir(t), func(c *api.Config, o *api.ServeOptions) {
		withPages(c, o)
		o.TCP = ""
	})
	_, err := h.owner.Access.OrderLogin(t.Context(), wire.LoginOrder{})
	if wire.KindOf(err) != wire.Unsupported || !strings.Contains(err.Error(), "TCP") {
		t.Errorf("the error is %v", err)
	}
}

// TestOtherProtocolsAcceptCookie checks that other protocols accept a browser's cookie.
func TestOtherProtocolsAcceptCookie(t *testing.T) {
	asked := 0
	var inner http.Handler
	s := browsing(t, api.Config{MCP: func(_ string, gate http.Handler) http.Handler {
		inner = gate
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			r = r.Clone(r.Context())
			r.Method, r.URL.Path, r.RequestURI, r.Body, r.ContentLength = "GET", "/v1/me", "", http.NoBody, 0
			r.Header = http.Header{"Cookie": {"firn-7766=another"}}
			inner.ServeHTTP(w, r)
		})
	}})
	cookie := s.enter(wire.Login{Code: s.order(wire.LoginOrder{Scope: wire.ScopeRead}).Code})
	got := s.ask("POST", "/mcp", holding(cookie), page, withBody("application/json", "{}"))
	if got.status != 200 || asked != 1 || !strings.Contains(got.body, `"scope":"read"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.ask("POST", "/mcp", holding(cookie), withBody("application/json", "{}")); got.status != 403 || asked != 1 {
		t.Errorf("from a foreign page: %d %s", got.status, got.body)
	}
}
