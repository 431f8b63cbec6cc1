package client

import (
	"context"

	"firn.dev/wire"
)

// pageHeader and pageWord are what pages of the gateway send, so that it takes
// a login from them.
const (
	pageHeader = "X-Firn"
	pageWord   = "web"
)

// OrderLogin asks for a code that lets a browser in once, and for the address
// to open. Who is let in may do no more than who asks.
func (c *Client) OrderLogin(ctx context.Context, o wire.LoginOrder) (wire.LoginCode, error) {
	return ask[wire.LoginCode](ctx, c, post(o, "v1", "logins"))
}

// Login is what a browser does with a code or a token. A cookie comes with the
// answer, which only a Transport that keeps cookies keeps; programs have a token
// instead.
func (c *Client) Login(ctx context.Context, l wire.Login) (wire.Me, error) {
	return ask[wire.Me](ctx, c, post(l, "v1", "login").withHeader(pageHeader, pageWord))
}

// Logout revokes the token that a browser has, and takes its cookie away. Who
// sends no cookie is not logged in.
func (c *Client) Logout(ctx context.Context) (wire.LoggedOut, error) {
	return ask[wire.LoggedOut](ctx, c, post(nil, "v1", "logout").withHeader(pageHeader, pageWord))
}

// Me tells who asks, and what they may do.
func (c *Client) Me(ctx context.Context) (wire.Me, error) {
	return ask[wire.Me](ctx, c, get("v1", "me"))
}
