package webtest

import (
	"strings"
	"testing"

	"firn.dev/wire"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// TestLogin logs in with a code, stays logged in, and logs out.
func TestLogin(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	b := newTab(t, s.url)
	b.open("/sessions?agent=main")
	b.see("firn open")
	b.wait(`!webtest.find("nav")`)

	address := s.loginURL(t)
	_, code, _ := strings.Cut(address, "#")
	b.open(address)
	b.wait(`location.pathname === "/sessions" && webtest.find("nav")`)
	if at := get[string](b, "location.href"); strings.Contains(at, code) {
		t.Errorf("the code is still in the address: %s", at)
	}
	b.cookieIsSafe(code)

	b.reload()
	b.wait(a("link", "/^Sessions/"))
	next := b.beside(t)
	next.open("/live")
	next.wait(a("link", "/^Sessions/"))

	// Drafts are removed from all tabs at logout.
	for _, tab := range []*tab{b, next} {
		tab.wait(`(sessionStorage.setItem("firn.draft.x", "a plan"), sessionStorage.setItem("else", "y"), true)`)
	}
	// Sessions of other tests change meanwhile, and the pages may ask for them at that moment.
	b.allow("401 (Unauthorized)")
	next.allow("401 (Unauthorized)")
	b.click("button", "/^browser /")
	b.click("menuitem", "Log out")
	b.see("firn open")
	for _, tab := range []*tab{b, next} {
		tab.wait(`!sessionStorage.getItem("firn.draft.x") && sessionStorage.getItem("else") === "y"`)
	}
	next.open("/live")
	next.see("firn open")
}

// cookieIsSafe checks the attributes of the cookie and that scripts can access no secret.
func (b *tab) cookieIsSafe(code string) {
	b.t.Helper()
	kept, err := chromedp.Call(b.ctx, network.GetCookies, network.GetCookiesParams{URLs: []string{b.base}})
	if err != nil {
		b.t.Fatal(err)
	}
	if len(kept.Cookies) != 1 {
		b.t.Fatalf("there are %d cookies, want 1", len(kept.Cookies))
	}
	c := kept.Cookies[0]
	if !c.HTTPOnly || c.SameSite != network.CookieSameSiteStrict || c.Path != "/" {
		b.t.Errorf("the cookie is not safe: %+v", c)
	}
	stored := get[string](b, "JSON.stringify([document.cookie, Object.entries(localStorage), Object.entries(sessionStorage), history.state])")
	if strings.Contains(stored, c.Value) || strings.Contains(stored, code) {
		b.t.Errorf("a script can read the secret: %s", stored)
	}
	for _, r := range b.watch.all() {
		if strings.Contains(r.url, c.Value) || strings.Contains(r.url, "/v1") && strings.Contains(r.url, code) {
			b.t.Errorf("a secret is in an address: %s", r.url)
		}
	}
}

// TestLoginCodeIsValidOnce tries a used code and an invalid one.
func TestLoginCodeIsValidOnce(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	address := s.loginURL(t)
	b := newTab(t, s.url)
	b.open(address)
	b.wait(`webtest.find("nav")`)
	for _, bad := range []string{address, s.url + "/login#not-a-code"} {
		other := newTab(t, s.url)
		other.allow("/v1/login")
		other.open(bad)
		other.wait(`webtest.find("[role=alert]")`)
		other.wait(a("textbox", "/code/"))
	}
}

// TestLoginByToken logs in with a pasted token.
func TestLoginByToken(t *testing.T) {
	t.Parallel()
	s := plainServer(t)
	made, err := s.client.Access.CreateToken(t.Context(), wire.NewToken{Name: "pasted", Scope: wire.ScopeRead})
	if err != nil {
		t.Fatal(err)
	}
	s.loginByToken(t, made.Secret).see("read-only")
}

// loginByToken opens a tab and logs in with a token.
func (s *server) loginByToken(t *testing.T, secret string) *tab {
	t.Helper()
	b := newTab(t, s.url)
	b.open("/login")
	b.fill("textbox", "/token/", secret)
	b.key("\r")
	b.wait(`location.pathname === "/sessions" && webtest.find("nav")`)
	return b
}

// TestLoginRevokedWhilePageIsOpen revokes the browser's token while a page is open.
func TestLoginRevokedWhilePageIsOpen(t *testing.T) {
	s := plainServer(t)
	b := s.login(t)
	b.open("/sessions")
	tokens, err := s.client.Access.Tokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.allow("401")
	for _, token := range tokens {
		if strings.HasPrefix(token.Name, "browser") {
			if _, err := s.client.Access.RevokeToken(t.Context(), token.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.see("firn open") // without a reload, because the stream ended
}
