package client

import (
	"context"
	"net/http"

	"firn.dev/wire"
)

// Tokens lists the tokens of clients, without their secrets.
func (c *Client) Tokens(ctx context.Context) ([]wire.Token, error) {
	page, err := ask[wire.Page[wire.Token]](ctx, c, get("v1", "tokens"))
	return page.Items, err
}

// CreateToken creates a token. Its secret is returned only here.
func (c *Client) CreateToken(ctx context.Context, n wire.NewToken) (wire.Created, error) {
	return ask[wire.Created](ctx, c, post(n, "v1", "tokens"))
}

// RevokeToken revokes a token immediately.
func (c *Client) RevokeToken(ctx context.Context, id string) (wire.Token, error) {
	return ask[wire.Token](ctx, c, request{method: http.MethodDelete, path: []string{"v1", "tokens", id}})
}
