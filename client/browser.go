package client

import (
	"context"

	"firn.dev/wire"
)

// pageHeader and pageWord form the header that the gateway's own pages send. The gateway
// accepts logins only with it.
const (
	pageHeader = "X-Firn"
	pageWord   = "web"
)

// Access has the tokens of the gateway and the login of browsers.
type Access struct{ *conn }

// OrderLogin requests a one-time login code for a browser and the address to open. The
// browser gets at most the caller's rights.
func (c Access) OrderLogin(ctx context.Context, o wire.LoginOrder) (wire.LoginCode, error) {
	return ask[wire.LoginCode](ctx, c.conn, post(o, "v1", "logins"))
}

// Login logs in like a browser, with a code or a token. The response sets a cookie, which
// only a Transport with a cookie jar keeps; programs use a token instead.
func (c Access) Login(ctx context.Context, l wire.Login) (wire.Me, error) {
	return ask[wire.Me](ctx, c.conn, post(l, "v1", "login").withHeader(pageHeader, pageWord))
}

// Logout revokes the token of a browser and removes its cookie. Without a cookie there is
// nothing to log out.
func (c Access) Logout(ctx context.Context) (wire.LoggedOut, error) {
	return ask[wire.LoggedOut](ctx, c.conn, post(nil, "v1", "logout").withHeader(pageHeader, pageWord))
}

// Me returns the caller's identity and rights.
func (c Access) Me(ctx context.Context) (wire.Me, error) {
	return ask[wire.Me](ctx, c.conn, get("v1", "me"))
}
