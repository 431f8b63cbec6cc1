package client

import (
	"context"
	"net/http"

	"firn.dev"
	"firn.dev/wire"
)

// Inbound delivers a message from an external channel; the gateway routes it to its
// session. A message without an ID gets one, so that it is accepted only once even if the
// connection breaks and it is sent again.
func (c *Client) Inbound(ctx context.Context, m wire.Inbound) (wire.Routed, error) {
	if m.ID == "" {
		m.ID = string(firn.NewEntryID())
	}
	return ask[wire.Routed](ctx, c, post(m, "v1", "inbound").repeatable())
}

// Keys lists the keys of an agent, or of all agents if empty, page by page.
func (c *Client) Keys(ctx context.Context, agent string) ([]wire.Key, error) {
	var all []wire.Key
	for key, err := range items(0, "", func(_ int, cursor string) (wire.Page[wire.Key], error) {
		return c.KeysPage(ctx, agent, maxPage, cursor)
	}) {
		if err != nil {
			return nil, err
		}
		all = append(all, key)
	}
	return all, nil
}

// maxPage is the maximum number of items of a page.
const maxPage = 1000

// KeysPage lists at most limit keys of an agent, or of all agents if empty, most recently
// used first, starting at a cursor. A limit of zero means the gateway's default.
func (c *Client) KeysPage(ctx context.Context, agent string, limit int, cursor string) (wire.Page[wire.Key], error) {
	return ask[wire.Page[wire.Key]](ctx, c, get("v1", "keys").with("agent", agent).withNumber("limit", uint64(max(limit, 0))).with("cursor", cursor))
}

// Key returns the current and former sessions of a key.
func (c *Client) Key(ctx context.Context, key string) (wire.Key, error) {
	return ask[wire.Key](ctx, c, get("v1", "keys", key))
}

// PointKey points a key to a session.
func (c *Client) PointKey(ctx context.Context, key string, id firn.ID) (wire.Key, error) {
	body := wire.Key{Key: key, Session: id}
	return ask[wire.Key](ctx, c, request{method: http.MethodPut, path: []string{"v1", "keys", key}, body: body, tries: 2})
}

// RemoveKey removes the session of a key. The sessions themselves stay.
func (c *Client) RemoveKey(ctx context.Context, key string) (wire.Key, error) {
	return ask[wire.Key](ctx, c, remove("v1", "keys", key))
}

// ResetKey starts a new session for a key.
func (c *Client) ResetKey(ctx context.Context, key string) (wire.Routed, error) {
	return ask[wire.Routed](ctx, c, post(nil, "v1", "keys", key, "reset"))
}

// ContinuePrevious undoes a reset: the key points to its previous session.
func (c *Client) ContinuePrevious(ctx context.Context, key string) (wire.Key, error) {
	return ask[wire.Key](ctx, c, post(nil, "v1", "keys", key, "continue-previous"))
}
