package client

import (
	"context"
	"net/http"

	"firn"
	"firn/wire"
)

// Inbound hands over a message from outside: the gateway finds the session it
// belongs to. A message without an id gets one, so that it is taken once even
// if the connection breaks and it is sent again.
func (c *Client) Inbound(ctx context.Context, m wire.Inbound) (wire.Routed, error) {
	if m.ID == "" {
		m.ID = string(firn.NewEntryID())
	}
	return ask[wire.Routed](ctx, c, post(m, "v1", "inbound").named())
}

// Keys lists the keys of an agent, or of all if it is empty.
func (c *Client) Keys(ctx context.Context, agent string) ([]wire.Key, error) {
	page, err := ask[wire.Page[wire.Key]](ctx, c, get("v1", "keys").with("agent", agent))
	return page.Items, err
}

// Key tells where a key points, and where it ever did.
func (c *Client) Key(ctx context.Context, key string) (wire.Key, error) {
	return ask[wire.Key](ctx, c, get("v1", "keys", key))
}

// PointKey points a key at a session.
func (c *Client) PointKey(ctx context.Context, key string, id firn.ID) (wire.Key, error) {
	body := wire.Key{Key: key, Session: id}
	return ask[wire.Key](ctx, c, request{method: http.MethodPut, path: []string{"v1", "keys", key}, body: body, tries: 2})
}

// ResetKey begins a new session for a key.
func (c *Client) ResetKey(ctx context.Context, key string) (wire.Routed, error) {
	return ask[wire.Routed](ctx, c, post(nil, "v1", "keys", key, "reset"))
}

// ContinuePrevious undoes a reset: the key points at the session before.
func (c *Client) ContinuePrevious(ctx context.Context, key string) (wire.Key, error) {
	return ask[wire.Key](ctx, c, post(nil, "v1", "keys", key, "continue-previous"))
}
