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

// Peers are the other gateways that serve the same sessions, as requests are passed
// on to them. See [gateway.Peers] for what the gateway itself asks of them.
type Peers interface {
	// Own makes this gateway the owner of what is claimed, unless another one is:
	// then the tenure is nil, and the other's name is returned.
	Own(ctx context.Context, claim gateway.Claim) (*gateway.Tenure, string, error)
	// Forward passes a request on to its owner, and the answer to w. The error is
	// [ErrNotDelivered] if the owner knows nothing of the request, and it can be
	// tried again.
	Forward(ctx context.Context, owner string, f Forwarded, w http.ResponseWriter) error
}

// ErrNotDelivered says that a request did not get to the gateway it was for.
var ErrNotDelivered = errors.New("the gateway that has the session does not answer")

// Forwarded is a request on its way to the gateway that owns what it is about.
// Who asks, and whether they may, was found out by the one that it came to.
type Forwarded struct {
	Method string      `json:"method"`
	URI    string      `json:"uri"`
	Header http.Header `json:"header"`
	Who    Principal   `json:"who"`
	// Body travels by itself.
	Body []byte `json:"-"`
}

// Principal is who asks, and what they may touch.
type Principal struct {
	Name   string     `json:"name"`
	Owner  bool       `json:"owner,omitempty"`
	Scope  wire.Scope `json:"scope"`
	Agents []string   `json:"agents,omitempty"`
	Keys   []string   `json:"keys,omitempty"`
	// Token is the id of their token: what they say is kept as said with it.
	Token string `json:"token,omitempty"`
	// Hook is the one they may call since they signed the call.
	Hook string `json:"hook,omitempty"`
}

// forwardedMark is where a context says who sent a request that was forwarded.
type forwardedMark struct{}

// forwardedBy is who sent a request that was forwarded.
func forwardedBy(ctx context.Context) (identity, bool) {
	who, ok := ctx.Value(forwardedMark{}).(identity)
	return who, ok
}

// elsewhereHeader marks the answer to a request that was forwarded to a gateway
// that does not own what it is about.
const elsewhereHeader = "Firn-Elsewhere"

// Elsewhere reports whether an answer says that the request was forwarded to the
// wrong gateway, which did nothing.
func Elsewhere(status int, head http.Header) bool {
	return status == http.StatusMisdirectedRequest && head.Get(elsewhereHeader) != ""
}

// ServeForwarded answers a request that another gateway has forwarded.
func (h *HTTP) ServeForwarded(ctx context.Context, w http.ResponseWriter, f Forwarded) {
	who := identity{name: f.Who.Name, owner: f.Who.Owner, scope: f.Who.Scope, agents: f.Who.Agents, keys: f.Who.Keys, token: f.Who.Token, hook: f.Who.Hook}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, forwardedMark{}, who), f.Method, f.URI, bytes.NewReader(f.Body))
	if err != nil {
		http.Error(w, "the request that was forwarded makes no sense", http.StatusBadRequest)
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

// forwarded is the request as it is forwarded. What proves who asks stays here.
func (c *call) forwarded(body []byte) Forwarded {
	head := c.r.Header.Clone()
	for _, name := range []string{"Authorization", "Cookie", "Origin", "Sec-Fetch-Site", "Connection"} {
		head.Del(name)
	}
	head.Set("X-Request-Id", c.request)
	return Forwarded{
		Method: c.r.Method, URI: c.r.URL.RequestURI(), Header: head, Body: body,
		Who: Principal{Name: c.who.name, Owner: c.who.owner, Scope: c.who.scope, Agents: c.who.agents, Keys: c.who.keys, Token: c.who.token, Hook: c.who.hook},
	}
}

// How long an owner that does not answer is waited for, and how long it is left
// in peace between: its lease ends meanwhile, and another gets it.
const (
	ownerPatience = 40 * time.Second
	ownerPause    = 200 * time.Millisecond
)

// keep sees that what a request is about to change is ours until leave is
// called, or passes it on to whose it is: then done is true.
func (c *call) keep() (leave func(), done bool, err error) {
	none := func() {}
	if c.h.config.Peers == nil || c.op.foreign || !c.op.changes() && c.op.name != hookName {
		return none, false, nil
	}
	claim, ok := c.claim()
	if !ok {
		return none, false, nil // what is wrong is told by who answers
	}
	late := time.Now().Add(ownerPatience)
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
			return none, true, &withStatus{&wire.Problem{Kind: wire.Closing, Message: "another gateway has the session"}, http.StatusMisdirectedRequest}
		}
		if err = c.pass(owner); !errors.Is(err, ErrNotDelivered) {
			return none, true, err
		}
		if time.Now().After(late) {
			return none, true, &wire.Problem{Kind: wire.Unavailable, Message: "the gateway that has the session does not answer", Hint: "try again in a moment"}
		}
		select {
		case <-time.After(ownerPause):
		case <-c.r.Context().Done():
			return none, true, c.r.Context().Err()
		}
		if claim, ok = c.claim(); !ok {
			return none, false, nil
		}
	}
}

// pass passes the request on.
func (c *call) pass(owner string) error {
	body, err := c.kept()
	if err != nil {
		return err
	}
	c.streaming = c.op.long
	ctx, cancel := c.whileLetIn()
	defer cancel()
	c.deadline()
	return c.h.config.Peers.Forward(ctx, owner, c.forwarded(body), c.w)
}

// kept reads the body and puts it back.
func (c *call) kept() ([]byte, error) {
	body, err := c.whole()
	if err != nil {
		return nil, err
	}
	c.putBack(body)
	return body, nil
}

// The operations that tell only in their bodies, or settings, what they change.
const (
	inboundName    = "inbound"
	newSessionName = "newSession"
	hookName       = "callHook"
)

// claim is what a request is about to change; false if that belongs to nobody, or
// cannot be told.
func (c *call) claim() (gateway.Claim, bool) {
	key := ""
	g, ok := c.h.gateway.(peerAPI)
	if !ok {
		return gateway.Claim{}, false
	}
	switch {
	case strings.HasPrefix(c.op.path, "/v1/sessions/{id}"):
		id, err := c.removed()
		return gateway.Claim{Session: id}, err == nil
	case strings.Contains(c.op.path, "{key}"):
		var err error
		if key, err = c.key(); err != nil {
			return gateway.Claim{}, false
		}
	case c.op.name == hookName:
		if key = g.HookKey(c.r.PathValue("hook")); key == "" {
			return gateway.Claim{}, false
		}
	default:
		key = c.keyInBody()
	}
	key, err := c.h.gateway.CanonicalKey(key)
	if err != nil || key == "" {
		return gateway.Claim{}, false
	}
	claim, err := g.ClaimOf(c.r.Context(), key)
	return claim, err == nil
}

// keyInBody is the key that the body of a request names.
func (c *call) keyInBody() string {
	if c.op.name != inboundName && c.op.name != newSessionName {
		return ""
	}
	body, err := c.kept()
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
	key, err := c.h.gateway.KeyOf(in)
	if err != nil {
		return ""
	}
	return key
}

// peerAPI is what must be known of a session to find its owner.
type peerAPI interface {
	ClaimOf(ctx context.Context, key string) (gateway.Claim, error)
	HookKey(name string) string
}
