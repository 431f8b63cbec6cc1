package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/internal/door/token"
	"firn.dev/internal/gateway"
	"firn.dev/wire"
)

// identity is who asks.
type identity struct {
	// name is what the access log calls them: the name of a token, or owner;
	// whether they are is said by owner alone, since a token can have any name.
	name  string
	owner bool
	scope wire.Scope
	// agents and keys bound what they may touch, if there are any.
	agents, keys []string
	// hook is the one that they may call, because they have signed the call; who has
	// a token has none here.
	hook string
	// token is the id of their token, and expires when it ends, if it does.
	token   string
	expires time.Time
	// old says that it could not be found out for a while whether the token is still
	// good: they may read.
	old bool
}

// ownerName is who comes through the socket, or is in this process.
const ownerName = "owner"

// bounds is which sessions they may see and change.
func (i identity) bounds() route.Bounds { return route.BoundTo(i.agents, i.keys) }

// bound reports whether they may touch only some sessions.
func (i identity) bound() bool { return !i.bounds().Unbounded() }

// may reports whether they may touch what belongs to an agent and a key.
func (i identity) may(agent, key string) bool { return i.bounds().Admits(agent, key) }

// asker is who they are to the gateway, whose turns they may begin. Who may call hooks
// alone speaks for a program outside.
func (i identity) asker() (gateway.Asker, route.Bounds) {
	who := gateway.Asker{Owner: i.owner, Token: i.token, Bound: i.bound()}
	if !i.scope.Includes(wire.ScopeRead) {
		who.Outside, who.Bound = true, true
		return who, route.Bounds{}
	}
	return who, i.bounds()
}

// ownerMark is where a context says that the request is the owner's own.
type ownerMark struct{}

// asOwner marks a context as that of the owner's connection.
func asOwner(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownerMark{}, true)
}

func isOwner(ctx context.Context) bool {
	marked, _ := ctx.Value(ownerMark{}).(bool)
	return marked
}

// Owner makes every request to a handler one of the owner, who may do
// everything: for a client in the same process.
func Owner(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(asOwner(r.Context())))
	})
}

// authenticate tells who asks. Over the socket, and in this process, that is
// the owner, if no token is sent. A token that is sent counts, also there; one
// in the header counts before one in a cookie.
func (h *HTTP) authenticate(r *http.Request) (identity, error) {
	if who, ok := forwardedBy(r.Context()); ok {
		return who, nil
	}
	secret, sent := bearer(r)
	check := (*token.Book).Check
	if !sent && h.config.Web != nil {
		if secret, sent = token.Cookie(r); sent {
			if err := token.FromOurPage(r, true); err != nil {
				return identity{}, err
			}
			check = (*token.Book).CheckBrowser
		}
	}
	if !sent {
		if isOwner(r.Context()) {
			return identity{name: ownerName, owner: true, scope: wire.ScopeAdmin}, nil
		}
		return identity{}, &wire.Problem{Kind: wire.NoToken, Message: "a token is needed here", Hint: "send Authorization: Bearer with a token that firn token create has made"}
	}
	if h.config.Tokens == nil {
		return identity{}, &wire.Problem{Kind: wire.NoToken, Message: "this gateway knows no tokens"}
	}
	pass, err := check(h.config.Tokens, r.Context(), secret)
	if err != nil {
		return identity{}, h.uncheckable(err)
	}
	who := known(pass.Token)
	who.old = pass.Old
	return who, nil
}

// known is who has a token.
func known(t wire.Token) identity {
	return identity{name: t.Name, scope: t.Scope, agents: t.Agents, keys: t.Keys, token: t.ID, expires: t.Expires}
}

// grant is what they may hand on.
func (i identity) grant() token.Grant {
	return token.Grant{Scope: i.scope, Agents: i.agents, Keys: i.keys, Parent: i.token, Expires: i.expires}
}

// whileLetIn is the context of a request for as long as who asks is let in.
func (c *call) whileLetIn() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(c.r.Context())
	if _, forwarded := forwardedBy(ctx); c.who.token == "" || c.h.config.Tokens == nil || forwarded {
		return ctx, cancel // the owner, always; what was forwarded ends where it came in
	}
	stop := c.h.config.Tokens.Watch(c.who.token, cancel)
	if c.who.expires.IsZero() {
		return ctx, func() { stop(); cancel() }
	}
	left := c.who.expires.Sub(c.h.config.Tokens.Now())
	ctx, end := context.WithTimeout(ctx, left)
	return ctx, func() { stop(); end(); cancel() }
}

// uncheckable is what somebody whose token could not be checked is told: who is
// not let in need not know why.
func (h *HTTP) uncheckable(err error) error {
	var p *wire.Problem
	if !errors.As(err, &p) && !errors.Is(err, firn.ErrUnavailable) {
		h.log.Error("tokens cannot be checked", "error", err.Error())
		if errors.Is(err, firn.ErrNotSaved) {
			return &wire.Problem{Kind: wire.NotSaved, Message: "what became of a token cannot be kept at the moment", Hint: "try again when the disk has room"}
		}
		err = &wire.Problem{Kind: wire.Internal, Message: "tokens cannot be checked at the moment"}
	}
	return err
}

// bearer is the token that a request brings. It is taken from the header only:
// addresses end up in logs and histories.
func bearer(r *http.Request) (string, bool) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return "", false
	}
	scheme, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "bearer") {
		secret = "" // some other scheme: sent, and no good
	}
	return strings.TrimSpace(secret), true
}

// onlyOnce are headers that decide what a request does and who makes it: of two,
// which are possibly different, another program may obey the other.
var onlyOnce = []string{"Authorization", "Idempotency-Key", "If-Match", "Content-Type", "Last-Event-Id", "X-Firn-Session"}

// guard refuses what a web page of somebody else may have sent: requests that
// reached us under a name that is not ours (DNS rebinding), and requests from
// another origin. A socket has no name and no browser gets there, so there only
// the origin counts.
func (h *HTTP) guard(r *http.Request) (reason string, err error) {
	if !isOwner(r.Context()) && !h.ourName(r.Host) {
		return "host", &wire.Problem{Kind: wire.NotAllowed, Message: "the gateway does not go by that name", Hint: "use localhost, or add the name to allowed_hosts"}
	}
	for _, name := range onlyOnce {
		if len(r.Header.Values(name)) > 1 {
			return "header", &wire.Problem{Kind: wire.Invalid, Message: "the header " + name + " is given twice"}
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		if !h.ourOrigin(origin, r.Host) {
			return "origin", &wire.Problem{Kind: wire.NotAllowed, Message: "pages of another origin may not talk to the gateway", Hint: "add the origin to allowed_origins"}
		}
	}
	// A browser that sends no origin still says whether the page is foreign. To
	// follow a link to one of our own pages is allowed.
	if site := r.Header.Get("Sec-Fetch-Site"); (site == "cross-site" || site == "same-site") && r.Header.Get("Origin") == "" && strings.HasPrefix(r.URL.Path, "/v1/") {
		return "origin", &wire.Problem{Kind: wire.NotAllowed, Message: "pages of another origin may not talk to the gateway", Hint: "add the origin to allowed_origins"}
	}
	return "", nil
}

// ourName reports whether a Host header names this gateway.
func (h *HTTP) ourName(host string) bool {
	name := host
	if n, port, err := net.SplitHostPort(host); err == nil {
		if strings.ContainsFunc(port, func(c rune) bool { return c < '0' || c > '9' }) {
			return false
		}
		name = n
	} else {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if name == "localhost" || name == "127.0.0.1" || name == "::1" {
		return true
	}
	return slices.ContainsFunc(h.config.Hosts, func(allowed string) bool {
		return strings.EqualFold(allowed, host) || strings.EqualFold(strings.Trim(allowed, "[]"), name)
	})
}

// ourOrigin reports whether an Origin header is of our own pages, or one that
// is allowed. "null" never is.
func (h *HTTP) ourOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return false
	}
	if strings.EqualFold(u.Host, host) && h.ourName(host) {
		return true
	}
	return slices.ContainsFunc(h.config.Origins, func(allowed string) bool { return strings.EqualFold(allowed, origin) })
}

// unprintable reports whether a character has no place in a name.
func unprintable(c rune) bool { return c == unicode.ReplacementChar || !unicode.IsPrint(c) }
