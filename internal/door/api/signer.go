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

// signedPatience is how long the body of a call that nobody vouches for yet may take
// to come: services that sign their calls give up after as long themselves.
const signedPatience = 10 * time.Second

// signer is who has signed a call of a hook, for somebody who was not let in by a
// token. Who is not let in here either is told the same whatever was wrong, and
// whether there is such a hook or not: what was wrong is for the log.
//
// The body is read before anybody is known, so it is bounded more than others, and
// counts among the few whose body is read at a time.
func (c *call) signer(refused error) (identity, error) {
	if c.r.Header.Get("Authorization") != "" || wire.KindOf(refused) != wire.NoToken {
		return identity{}, refused // who sends a token is held to it
	}
	name := c.r.PathValue("hook")
	signature := c.h.gateway.HookSignature(name)
	if signature == nil {
		return identity{}, unsigned()
	}
	sent, err := signature.Sent(textproto.MIMEHeader(c.r.Header))
	if err != nil {
		return identity{}, c.unsigned(name, err.Error())
	}
	if !c.h.signed.enter() {
		return identity{}, busy()
	}
	defer c.h.signed.leave()
	body, err := c.upTo(min(c.h.config.MaxBody, gateway.MaxHookBody), min(c.h.config.BodyTimeout, signedPatience))
	if err != nil {
		return identity{}, err
	}
	if !signature.Fits(sent, body) {
		return identity{}, c.unsigned(name, "the signature is not that of the body and the secret")
	}
	c.putBack(body)
	return identity{name: "hook:" + name, hook: name, scope: wire.ScopeHook}, nil
}

// unsigned refuses a call of a hook that is there, and notes why.
func (c *call) unsigned(hook, why string) error {
	c.h.log.LogAttrs(c.r.Context(), slog.LevelWarn, "a call of a hook was refused",
		slog.String("hook", hook), slog.String("why", why), slog.String("request", c.request))
	return unsigned()
}

func unsigned() error {
	return &wire.Problem{
		Kind: wire.NoToken, Message: "a token is needed here, or a signature that fits",
		Hint: "send the token that the hook names, or sign the body with its secret; the log of the gateway tells what was wrong",
	}
}

// putBack lets a body that was read be read again.
func (c *call) putBack(body []byte) {
	c.r.Body, c.r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if len(body) == 0 {
		c.r.Body = http.NoBody
	}
}
