package api

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/textproto"
	"time"

	"firn.dev/internal/gateway"
	"firn.dev/wire"
)

// signedPatience limits the time to receive the body of a signed call, before the signature
// is verified. Services that sign their calls have similar timeouts.
const signedPatience = 10 * time.Second

// authenticateSignature authenticates a call of a hook by its signature. A rejected caller
// receives the same error in all cases, even if the hook does not exist. The cause is
// logged.
//
// The body is read before authentication, so it has tighter limits, and only a few such
// bodies are read at a time.
//
// If the time of the call is signed, its ID is too: it replaces the header of the caller, so
// that a recorded call is accepted once.
func (c *call) authenticateSignature(refused error) (identity, error) {
	if c.r.Header.Get("Authorization") != "" || c.r.Header.Get(apiKeyHeader) != "" || wire.KindOf(refused) != wire.NoToken {
		return identity{}, refused // a token, if sent, must be valid
	}
	name := c.r.PathValue("hook")
	signature := c.h.services.Signatures.HookSignature(name)
	if signature == nil {
		return identity{}, unsigned()
	}
	sent, err := signature.Sent(textproto.MIMEHeader(c.r.Header), c.h.clock())
	if err != nil {
		return identity{}, c.rejectUnsigned(name, err.Error())
	}
	if !c.h.signed.enter() {
		return identity{}, busy()
	}
	defer c.h.signed.leave()
	body, err := c.readBodyUpTo(min(c.h.config.MaxBody, gateway.MaxHookBody), min(c.h.config.BodyTimeout, signedPatience))
	if err != nil {
		return identity{}, err
	}
	call, ok := signature.Verify(sent, body)
	if !ok {
		return identity{}, c.rejectUnsigned(name, "the signature does not match the body and the secret")
	}
	if call != "" {
		c.r.Header.Set("Idempotency-Key", call)
	}
	c.putBack(body)
	return identity{name: "hook:" + name, hook: name, scope: wire.ScopeHook}, nil
}

// rejectUnsigned rejects a call of an existing hook and logs the reason.
func (c *call) rejectUnsigned(hook, why string) error {
	c.h.log.LogAttrs(c.r.Context(), slog.LevelWarn, "hook call rejected",
		slog.String("hook", hook), slog.String("why", why), slog.String("request", c.request))
	return unsigned()
}

func unsigned() error {
	return &wire.Problem{
		Kind: wire.NoToken, Message: "a token or a valid signature is required",
		Hint: "send the token of the hook, or sign the body with its secret; the log of the gateway has the reason",
	}
}

// putBack makes a body readable again.
func (c *call) putBack(body []byte) {
	c.r.Body, c.r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if len(body) == 0 {
		c.r.Body = http.NoBody
	}
}
