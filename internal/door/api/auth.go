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

// identity is the authenticated caller of a request.
type identity struct {
	// name identifies the caller in the access log: the name of a token, or "owner". A
	// token may have any name, so only the field owner decides whether the caller is the
	// owner.
	name  string
	owner bool
	scope wire.Scope
	// agents and keys limit the sessions the caller may access. Empty means no limit.
	agents, keys []string
	// hook is the only hook the caller may call, set if the call was signed. It is empty
	// for callers with a token.
	hook string
	// token is the ID of the caller's token. expires is zero if the token does not expire.
	token   string
	expires time.Time
	// stale is set if the token could not be checked recently. The caller may then only
	// read.
	stale bool
}

// ownerName is the name of callers that use the socket or run in this process.
const ownerName = "owner"

// bounds returns the limits on the sessions that the caller may see and change.
func (i identity) bounds() route.Bounds { return route.BoundTo(i.agents, i.keys) }

// bound reports whether the caller is limited to some sessions.
func (i identity) bound() bool { return !i.bounds().Unbounded() }

// may reports whether the caller may access sessions of the given agent and key.
func (i identity) may(agent, key string) bool { return i.bounds().Admits(agent, key) }

// asker returns the caller as the gateway sees it, and the bounds on the turns it may
// start. A caller limited to hooks counts as an outside program.
func (i identity) asker() (gateway.Asker, route.Bounds) {
	who := gateway.Asker{Owner: i.owner, Token: i.token, Bound: i.bound()}
	if !i.scope.Includes(wire.ScopeRead) {
		who.Outside, who.Bound = true, true
		return who, route.Bounds{}
	}
	return who, i.bounds()
}

// ownerMark is the context key that marks a request as the owner's.
type ownerMark struct{}

// asOwner marks a context as that of the owner's connection.
func asOwner(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownerMark{}, true)
}

func isOwner(ctx context.Context) bool {
	marked, _ := ctx.Value(ownerMark{}).(bool)
	return marked
}

// Owner returns a handler that treats every request as the owner's, without any
// restriction. It is meant for clients in the same process.
func Owner(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(asOwner(r.Context())))
	})
}

// authenticate returns the caller of a request. Without a token, requests over the socket
// and from this process are the owner's. A token is always checked if present. The header
// takes precedence over the cookie.
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
		return identity{}, &wire.Problem{Kind: wire.NoToken, Message: "token required", Hint: "send Authorization: Bearer TOKEN; to create a token: firn token create"}
	}
	if h.config.Tokens == nil {
		return identity{}, &wire.Problem{Kind: wire.NoToken, Message: "this gateway has no tokens"}
	}
	pass, err := check(h.config.Tokens, r.Context(), secret)
	if err != nil {
		return identity{}, h.tokenCheckError(err)
	}
	who := identityOf(pass.Token)
	who.stale = pass.Stale
	return who, nil
}

// identityOf returns the identity of the holder of a token.
func identityOf(t wire.Token) identity {
	return identity{name: t.Name, scope: t.Scope, agents: t.Agents, keys: t.Keys, token: t.ID, expires: t.Expires}
}

// grant returns the rights that the caller may pass on to a new token.
func (i identity) grant() token.Grant {
	return token.Grant{Scope: i.scope, Agents: i.agents, Keys: i.keys, Parent: i.token, Expires: i.expires}
}

// authorizedContext returns a context that ends with the request, or earlier if the
// caller's token expires or is revoked.
func (c *call) authorizedContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(c.r.Context())
	if _, forwarded := forwardedBy(ctx); c.who.token == "" || c.h.config.Tokens == nil || forwarded {
		return ctx, cancel // the owner never expires; a forwarded request is ended by the gateway that received it
	}
	stop := c.h.config.Tokens.Watch(c.who.token, cancel)
	if c.who.expires.IsZero() {
		return ctx, func() { stop(); cancel() }
	}
	left := c.who.expires.Sub(c.h.config.Tokens.Now())
	ctx, end := context.WithTimeout(ctx, left)
	return ctx, func() { stop(); end(); cancel() }
}

// tokenCheckError returns the error to send if a token could not be checked. Internal
// causes are logged and not revealed.
func (h *HTTP) tokenCheckError(err error) error {
	var p *wire.Problem
	if !errors.As(err, &p) && !errors.Is(err, firn.ErrUnavailable) {
		h.log.Error("cannot check tokens", "error", err.Error())
		if errors.Is(err, firn.ErrNotSaved) {
			return &wire.Problem{Kind: wire.NotSaved, Message: "the token cannot be saved at the moment", Hint: "free some disk space and try again"}
		}
		err = &wire.Problem{Kind: wire.Internal, Message: "tokens cannot be checked at the moment"}
	}
	return err
}

// bearer returns the token in the Authorization header or that of Anthropic's clients. Tokens in the URL are not accepted:
// URLs end up in logs and browser histories.
func bearer(r *http.Request) (string, bool) {
	header := r.Header.Get("Authorization")
	if header == "" {
		key := r.Header.Get(apiKeyHeader)
		return key, key != ""
	}
	scheme, secret, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "bearer") {
		secret = "" // an unknown scheme counts as an invalid token
	}
	return strings.TrimSpace(secret), true
}

// apiKeyHeader is where clients of Anthropic's API send their key. Here it is a token.
const apiKeyHeader = "X-Api-Key"

// sessionHeader names a session in requests of other protocols.
const sessionHeader = "X-Firn-Session"

// onlyOnce lists the headers that decide the effect or the caller of a request. They must
// not be repeated: a proxy may use a different copy than this server.
var onlyOnce = []string{"Authorization", "Idempotency-Key", "If-Match", "Content-Type", "Last-Event-Id", sessionHeader, apiKeyHeader}

// guard rejects requests that another site's web page may have sent: requests with a Host
// that is not ours (DNS rebinding) and requests from another origin. The socket has no host
// name and no browser can reach it, so only the origin is checked there.
func (h *HTTP) guard(r *http.Request) (reason string, err error) {
	if !isOwner(r.Context()) && !h.ourName(r.Host) {
		return "host", &wire.Problem{Kind: wire.NotAllowed, Message: "the Host header is not a name of this gateway", Hint: "use localhost, or add the name to gateway.allowed_hosts"}
	}
	for _, name := range onlyOnce {
		if len(r.Header.Values(name)) > 1 {
			return "header", &wire.Problem{Kind: wire.Invalid, Message: "the header " + name + " is given twice"}
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		if !h.ourOrigin(origin, r.Host) {
			return "origin", &wire.Problem{Kind: wire.NotAllowed, Message: "requests from other origins are not allowed", Hint: "add the origin to gateway.allowed_origins"}
		}
	}
	// A browser that sends no Origin still sends Sec-Fetch-Site. Links to our own pages may
	// be followed.
	if site := r.Header.Get("Sec-Fetch-Site"); (site == "cross-site" || site == "same-site") && r.Header.Get("Origin") == "" && strings.HasPrefix(r.URL.Path, "/v1/") {
		return "origin", &wire.Problem{Kind: wire.NotAllowed, Message: "requests from other origins are not allowed", Hint: "add the origin to gateway.allowed_origins"}
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

// ourOrigin reports whether an Origin header is that of our own pages or is in the list of
// allowed origins. "null" is always rejected.
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

// unprintable reports whether a character is not allowed in a name.
func unprintable(c rune) bool { return c == unicode.ReplacementChar || !unicode.IsPrint(c) }
