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
	return ask[wire.Routed](ctx, c.conn, post(m, "v1", "inbound").repeatable())
}

// Keys has the routing keys, which name the current session of a conversation.
type Keys struct{ *conn }

// List lists the keys of an agent, or of all agents if empty, page by page.
func (c Keys) List(ctx context.Context, agent string) ([]wire.Key, error) {
	var all []wire.Key
	for key, err := range items(0, "", func(_ int, cursor string) (wire.Page[wire.Key], error) {
		return c.Page(ctx, agent, maxPage, cursor)
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

// Page lists at most limit keys of an agent, or of all agents if empty, most recently
// used first, starting at a cursor. A limit of zero means the gateway's default.
func (c Keys) Page(ctx context.Context, agent string, limit int, cursor string) (wire.Page[wire.Key], error) {
	return ask[wire.Page[wire.Key]](ctx, c.conn, get("v1", "keys").with("agent", agent).withNumber("limit", uint64(max(limit, 0))).with("cursor", cursor))
}

// Get returns the current and former sessions of a key.
func (c Keys) Get(ctx context.Context, key string) (wire.Key, error) {
	return ask[wire.Key](ctx, c.conn, get("v1", "keys", key))
}

// Point points a key to a session.
func (c Keys) Point(ctx context.Context, key string, id firn.ID) (wire.Key, error) {
	body := wire.Key{Key: key, Session: id}
	return ask[wire.Key](ctx, c.conn, request{method: http.MethodPut, path: []string{"v1", "keys", key}, body: body, tries: 2})
}

// Remove removes the session of a key. The sessions themselves stay.
func (c Keys) Remove(ctx context.Context, key string) (wire.Key, error) {
	return ask[wire.Key](ctx, c.conn, remove("v1", "keys", key))
}

// Reset starts a new session for a key.
func (c Keys) Reset(ctx context.Context, key string) (wire.Routed, error) {
	return ask[wire.Routed](ctx, c.conn, post(nil, "v1", "keys", key, "reset"))
}

// ContinuePrevious undoes a reset: the key points to its previous session.
func (c Keys) ContinuePrevious(ctx context.Context, key string) (wire.Key, error) {
	return ask[wire.Key](ctx, c.conn, post(nil, "v1", "keys", key, "continue-previous"))
}
