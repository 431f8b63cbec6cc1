package client

import (
	"context"
	"net/http"

	"firn.dev/wire"
)

// Tokens lists the tokens of clients, without their secrets.
func (c Access) Tokens(ctx context.Context) ([]wire.Token, error) {
	page, err := ask[wire.Page[wire.Token]](ctx, c.conn, get("v1", "tokens"))
	return page.Items, err
}

// CreateToken creates a token. Its secret is returned only here.
func (c Access) CreateToken(ctx context.Context, n wire.NewToken) (wire.Created, error) {
	return ask[wire.Created](ctx, c.conn, post(n, "v1", "tokens"))
}

// RevokeToken revokes a token immediately.
func (c Access) RevokeToken(ctx context.Context, id string) (wire.Token, error) {
	return ask[wire.Token](ctx, c.conn, request{method: http.MethodDelete, path: []string{"v1", "tokens", id}})
}
