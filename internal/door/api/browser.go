package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/door/token"
	"firn.dev/internal/gateway"
	"firn.dev/wire"
)

// A browser logs in with a single-use code or with a token typed by the user. It then
// receives its own token, which it sends as a cookie. This token is listed and can be
// revoked like any other, and survives a restart of the gateway. See
// docs/decisions/0022-browser-login.md.

func browserRoutes() []operation {
	word := header(token.PageHeader, "Must be "+token.PageValue+". Other sites' pages cannot send this header.")
	login := action{in: reflect.TypeFor[wire.Login](), out: reflect.TypeFor[wire.Me](), run: on(browserCalls.login)}
	return []operation{
		{method: "POST", path: "/v1/logins", name: "orderLogin", scope: wire.ScopeRead, what: "Creates a single-use login code for a browser, with at most the caller's permissions, and the URL to open.", action: takeOptional(browserCalls.orderLogin)},
		{method: "POST", path: "/v1/login", name: "login", login: true, what: "Logs a browser in with a login code or a token. Sets a cookie.", query: []param{word}, action: login},
		{method: "POST", path: "/v1/logout", name: "logout", login: true, what: "Logs a browser out: ends its token and deletes its cookie. Accepted messages are still answered.", query: []param{word}, action: takeOptional(browserCalls.logout)},
		{method: "GET", path: "/v1/me", name: "me", scope: wire.ScopeHook, what: "Returns the caller's identity and permissions.", action: give(browserCalls.me)},
	}
}

// orderLogin creates a login code.
func (c browserCalls) orderLogin(o wire.LoginOrder) (wire.LoginCode, error) {
	tokens, err := c.browserTokens()
	if err != nil {
		return wire.LoginCode{}, err
	}
	base, err := c.pages()
	if err != nil {
		return wire.LoginCode{}, err
	}
	g, err := c.who.grant().Derive(o)
	if err != nil {
		return wire.LoginCode{}, err
	}
	code, until, err := tokens.Order(c.r.Context(), g)
	if err != nil {
		return wire.LoginCode{}, err
	}
	return wire.LoginCode{Code: code, Expires: until.UTC(), URL: base + "/login#" + code}, nil
}

// browserTokens returns the token book, or an error if the gateway serves no pages.
func (c browserCalls) browserTokens() (*token.Book, error) {
	if c.h.config.Web == nil {
		return nil, &wire.Problem{Kind: wire.Unsupported, Message: "the web UI is disabled", Hint: "set gateway.web = true, and serve without --no-web"}
	}
	return c.tokens()
}

// tcpMark is the context key of the TCP address that the server listens on.
type tcpMark struct{}

// pages returns the base URL of the web pages. It is the URL of the request, unless the
// request came over the socket.
func (c browserCalls) pages() (string, error) {
	scheme := "http://"
	if token.OverTLS(c.r) {
		scheme = "https://"
	}
	if !isOwner(c.r.Context()) {
		return scheme + c.r.Host, nil
	}
	host, port, err := net.SplitHostPort(tcpOf(c.r.Context()))
	if err != nil {
		return "", &wire.Problem{Kind: wire.Unsupported, Message: "browsers cannot reach this gateway: it does not listen on TCP", Hint: "run firn serve --listen 127.0.0.1:7766, or set gateway.listen"}
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.To4() == nil {
			host = "::1"
		}
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

// login logs a browser in and sets its cookie.
func (c browserCalls) login() error {
	tokens, err := c.browserTokens()
	if err != nil {
		return err
	}
	if err := token.FromOurPage(c.r, false); err != nil {
		c.h.config.Metrics.Refused("origin")
		return err
	}
	in, err := c.readLogin()
	if err != nil {
		return err
	}
	made, err := c.redeemLogin(tokens, in)
	switch {
	case err == nil:
	case wire.KindOf(err) == wire.NoToken || wire.KindOf(err) == wire.NotAllowed:
		return c.countWrongLogin(err)
	default:
		return err
	}
	c.who = identityOf(made.Token)
	token.SetCookie(c.w, c.r, made.Secret, made.Expires.Sub(tokens.Now()))
	me, err := c.me()
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, me)
}

// countWrongLogin counts a failed login and returns the error to send. After too many
// failures from one address, the cause is no longer revealed. Valid logins are still
// accepted: codes and tokens cannot be guessed, and a lockout would allow an attacker to
// keep others out.
func (c browserCalls) countWrongLogin(err error) error {
	c.h.config.Metrics.Refused("login")
	if c.h.guesses.Wrong(c.r.RemoteAddr) {
		return err
	}
	c.w.Header().Set("Retry-After", "60")
	return &wire.Problem{Kind: wire.Busy, Message: "too many wrong codes and tokens", Hint: "wait a minute, then run firn open for a new code"}
}

// maxLogin is the maximum size of a login body in bytes. Anyone can send one.
const maxLogin = 4 << 10

// readLogin reads the body of a login. Its errors never quote the body.
func (c browserCalls) readLogin() (in wire.Login, err error) {
	body, err := c.body("application/json", false)
	if err != nil {
		return in, err
	}
	data, err := io.ReadAll(io.LimitReader(body, maxLogin+1))
	if err != nil {
		return in, c.bodyError(err)
	}
	c.bodyArrived()
	if len(data) > maxLogin {
		c.w.Header().Set("Connection", "close")
		return in, fmt.Errorf("log in: request exceeds %d bytes: %w", maxLogin, firn.ErrTooLarge)
	}
	if rawjson.Unmarshal(data, &in, false) != nil || (in.Code == "") == (in.Token == "") {
		return in, gateway.Invalid("expected a JSON object with either a code or a token")
	}
	return in, nil
}

// redeemLogin creates the browser's token from a login code or a token.
func (c browserCalls) redeemLogin(tokens *token.Book, in wire.Login) (wire.Created, error) {
	ctx, who := c.r.Context(), token.Browser{Kind: browserKind(c.r.UserAgent())}
	who.PreviousSecret, _ = token.Cookie(c.r)
	if in.Code != "" {
		return tokens.Redeem(ctx, in.Code, who)
	}
	pass, err := tokens.Check(ctx, strings.TrimSpace(in.Token))
	if err != nil {
		return wire.Created{}, c.h.tokenCheckError(err)
	}
	g, err := token.GrantOf(pass.Token).Derive(wire.LoginOrder{})
	if err != nil {
		return wire.Created{}, err
	}
	return tokens.Admit(ctx, g, who)
}

// logout revokes the token of the calling browser and removes its cookie. A browser whose
// token is no longer valid may call it too.
func (c browserCalls) logout(none) (wire.LoggedOut, error) {
	secret, ok := token.Cookie(c.r)
	if !ok {
		return wire.LoggedOut{}, nil
	}
	if err := token.FromOurPage(c.r, true); err != nil {
		c.h.config.Metrics.Refused("origin")
		return wire.LoggedOut{}, err
	}
	tokens, err := c.tokens()
	if err != nil {
		return wire.LoggedOut{}, err
	}
	pass, err := tokens.CheckBrowser(c.r.Context(), secret)
	if err == nil {
		c.who = identityOf(pass.Token)
		_, err = tokens.Logout(c.r.Context(), pass.ID)
	}
	var p *wire.Problem
	if err != nil && (!errors.As(err, &p) || p.Kind == wire.Unavailable) {
		return wire.LoggedOut{}, c.h.tokenCheckError(err)
	}
	token.SetCookie(c.w, c.r, "", -time.Second)
	c.w.Header().Set("Clear-Site-Data", `"cache"`) // cached images
	return wire.LoggedOut{LoggedOut: err == nil}, nil
}

// me returns the identity and the rights of the caller.
func (c browserCalls) me() (wire.Me, error) {
	return wire.Me{Name: c.who.name, Scope: c.who.scope, Agents: c.who.agents, Keys: c.who.keys, Expires: c.who.expires, Version: c.h.config.Version}, nil
}

// browserKind derives a name such as "Firefox Linux" from a User-Agent, for the list of
// tokens. It never copies text from the header.
func browserKind(agent string) string {
	kind := ""
	for _, list := range [][][2]string{
		{{"Firefox/", "Firefox"}, {"Edg/", "Edge"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}},
		{{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"}, {"Macintosh", "Mac"}, {"Linux", "Linux"}},
	} {
		for _, word := range list {
			if strings.Contains(agent, word[0]) {
				kind += word[1] + " "
				break
			}
		}
	}
	return kind
}

// onTCP stores the address that a server listens on in its context.
func onTCP(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, tcpMark{}, address)
}

// tcpOf returns the TCP address that the server of a request listens on, or "" if there is
// none.
func tcpOf(ctx context.Context) string {
	address, _ := ctx.Value(tcpMark{}).(string)
	return address
}

// page serves a web page and reports whether it did. Paths of the API are never pages.
func (c *call) page() bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(c.r.URL.Path, "/"), "/")
	if c.h.config.Web == nil || slices.Contains([]string{"v1", "mcp", "healthz", "readyz", "metrics", "openapi.json"}, first) {
		return false
	}
	c.op = &operation{path: "/"}
	c.deadline()
	c.h.config.Web.ServeHTTP(c.w, c.r)
	return true
}
