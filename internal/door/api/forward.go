package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/gateway"
	"firn.dev/wire"
)

// Peers forwards requests to the other gateways that serve the same sessions. See
// [gateway.Peers] for the interface that the gateway itself uses.
type Peers interface {
	// Own makes this gateway the owner of the claim. If another gateway owns it, the tenure
	// is nil and the name of the owner is returned.
	Own(ctx context.Context, claim gateway.Claim) (*gateway.Tenure, string, error)
	// Forward forwards a request to its owner and copies the response to w. The error is
	// [ErrNotDelivered] if the owner never received the request, so that it can be retried.
	Forward(ctx context.Context, owner string, f Forwarded, w http.ResponseWriter) error
}

// ErrNotDelivered is returned if a request did not reach the gateway it was forwarded to.
var ErrNotDelivered = errors.New("the gateway that owns the session does not respond")

// Forwarded is a request on its way to the gateway that owns its session. The receiving
// gateway has already authenticated and authorized the caller.
type Forwarded struct {
	Method string      `json:"method"`
	URI    string      `json:"uri"`
	Header http.Header `json:"header"`
	Caller Principal   `json:"who"`
	// Body is transmitted separately.
	Body []byte `json:"-"`
}

// Principal is the caller of a request and its rights.
type Principal struct {
	Name   string     `json:"name"`
	Owner  bool       `json:"owner,omitempty"`
	Scope  wire.Scope `json:"scope"`
	Agents []string   `json:"agents,omitempty"`
	Keys   []string   `json:"keys,omitempty"`
	// Token is the ID of the caller's token. It is recorded with the caller's messages.
	Token string `json:"token,omitempty"`
	// Hook is the hook that a signed call may use.
	Hook string `json:"hook,omitempty"`
}

// forwardedMark is the context key of the caller of a forwarded request.
type forwardedMark struct{}

// forwardedBy returns the caller of a forwarded request.
func forwardedBy(ctx context.Context) (identity, bool) {
	who, ok := ctx.Value(forwardedMark{}).(identity)
	return who, ok
}

// elsewhereHeader marks the response to a request that was forwarded to a gateway that is
// not the owner.
const elsewhereHeader = "Firn-Elsewhere"

// IsMisrouted reports whether a response says that the request was forwarded to the wrong
// gateway, which did nothing.
func IsMisrouted(status int, head http.Header) bool {
	return status == http.StatusMisdirectedRequest && head.Get(elsewhereHeader) != ""
}

// ServeForwarded handles a request that another gateway has forwarded.
func (h *HTTP) ServeForwarded(ctx context.Context, w http.ResponseWriter, f Forwarded) {
	who := identity{name: f.Caller.Name, owner: f.Caller.Owner, scope: f.Caller.Scope, agents: f.Caller.Agents, keys: f.Caller.Keys, token: f.Caller.Token, hook: f.Caller.Hook}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, forwardedMark{}, who), f.Method, f.URI, bytes.NewReader(f.Body))
	if err != nil {
		http.Error(w, "invalid forwarded request", http.StatusBadRequest)
		return
	}
	if f.Header != nil {
		r.Header = f.Header
	}
	r.Host, r.RequestURI = "localhost", f.URI
	if len(f.Body) == 0 {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	h.ServeHTTP(w, r)
}

// forwarded returns the request in its forwarded form, without credentials.
func (c forwarding) forwarded(body []byte) Forwarded {
	head := c.r.Header.Clone()
	for _, name := range []string{"Authorization", apiKeyHeader, "Cookie", "Origin", "Sec-Fetch-Site", "Connection"} {
		head.Del(name)
	}
	head.Set("X-Request-Id", c.request)
	return Forwarded{
		Method: c.r.Method, URI: c.r.URL.RequestURI(), Header: head, Body: body,
		Caller: Principal{Name: c.who.name, Owner: c.who.owner, Scope: c.who.scope, Agents: c.who.agents, Keys: c.who.keys, Token: c.who.token, Hook: c.who.hook},
	}
}

// ownerPatience limits the wait for an owner that does not respond; ownerPause is the time
// between attempts. The owner's lease ends in the meantime, and another gateway can take
// it.
const (
	ownerPatience = 40 * time.Second
	ownerPause    = 200 * time.Millisecond
)

// forwarding handles a request, or forwards it to the gateway that owns its session.
type forwarding struct {
	*call
	gateway claimAPI
}

func newForwarding(c *call) forwarding { return forwarding{c, c.h.services.Claims} }

// ensureOwned makes this gateway the owner of the session a request changes until leave is
// called, or forwards the request to the owner. done reports whether the request was
// forwarded.
func (c forwarding) ensureOwned() (leave func(), done bool, err error) {
	none := func() {}
	if c.h.config.Peers == nil || c.op.foreign || !c.op.changes() && c.op.name != hookName {
		return none, false, nil
	}
	claim, ok := c.claimOf()
	if !ok {
		return none, false, nil // the handler reports the error
	}
	deadline := time.Now().Add(ownerPatience)
	for {
		tenure, owner, err := c.h.config.Peers.Own(c.r.Context(), claim)
		if err != nil {
			return none, false, err
		}
		if tenure != nil {
			return tenure.Leave, false, nil
		}
		if _, ok := forwardedBy(c.r.Context()); ok {
			c.w.Header().Set(elsewhereHeader, "1")
			return none, true, &withStatus{&wire.Problem{Kind: wire.Closing, Message: "another gateway owns the session"}, http.StatusMisdirectedRequest}
		}
		if err = c.forward(owner); !errors.Is(err, ErrNotDelivered) {
			return none, true, err
		}
		if time.Now().After(deadline) {
			return none, true, &wire.Problem{Kind: wire.Unavailable, Message: "the gateway that owns the session does not respond", Hint: "try again in a moment"}
		}
		select {
		case <-time.After(ownerPause):
		case <-c.r.Context().Done():
			return none, true, c.r.Context().Err()
		}
		if claim, ok = c.claimOf(); !ok {
			return none, false, nil
		}
	}
}

// forward forwards the request to its owner.
func (c forwarding) forward(owner string) error {
	body, err := c.peekBody()
	if err != nil {
		return err
	}
	c.streaming = c.op.long
	ctx, cancel := c.authorizedContext()
	defer cancel()
	c.deadline()
	return c.h.config.Peers.Forward(ctx, owner, c.forwarded(body), c.w)
}

// peekBody reads the body and leaves it readable.
func (c *call) peekBody() ([]byte, error) {
	body, err := c.readBody()
	if err != nil {
		return nil, err
	}
	c.putBack(body)
	return body, nil
}

// Operations whose session is named in the body or in the settings.
const (
	inboundName    = "inbound"
	newSessionName = "newSession"
	hookName       = "callHook"
)

// claimOf returns the session or key that a request changes. It returns false if there is
// none or it cannot be determined.
func (c forwarding) claimOf() (gateway.Claim, bool) {
	key := ""
	if c.gateway == nil {
		return gateway.Claim{}, false
	}
	switch {
	case strings.HasPrefix(c.op.path, "/v1/sessions/{id}"):
		id, err := c.sessionOrBinned()
		return gateway.Claim{Session: id}, err == nil
	case strings.Contains(c.op.path, "{key}"):
		var err error
		if key, err = c.key(); err != nil {
			return gateway.Claim{}, false
		}
	case c.op.name == hookName:
		if key = c.gateway.HookKey(c.r.PathValue("hook")); key == "" {
			return gateway.Claim{}, false
		}
	default:
		key = c.keyInBody()
	}
	key, err := c.gateway.CanonicalKey(key)
	if err != nil || key == "" {
		return gateway.Claim{}, false
	}
	claim, err := c.gateway.ClaimOf(c.r.Context(), key)
	return claim, err == nil
}

// keyInBody returns the key named in the body of a request.
func (c forwarding) keyInBody() string {
	if c.op.name != inboundName && c.op.name != newSessionName {
		return ""
	}
	body, err := c.peekBody()
	if err != nil {
		return ""
	}
	if c.op.name == newSessionName {
		var n wire.NewSession
		if rawjson.Unmarshal(body, &n, false) != nil {
			return ""
		}
		return n.Key
	}
	var in wire.Inbound
	if rawjson.Unmarshal(body, &in, false) != nil {
		return ""
	}
	key, err := c.gateway.KeyOf(in)
	if err != nil {
		return ""
	}
	return key
}
