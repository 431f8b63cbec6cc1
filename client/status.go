package client

import (
	"context"

	"firn.dev/wire"
)

// Status returns the status of the gateway.
func (c *Client) Status(ctx context.Context) (wire.Status, error) {
	return ask[wire.Status](ctx, c.conn, get("v1", "status"))
}

// Running lists the sessions with a running turn.
func (c *Client) Running(ctx context.Context) ([]wire.Session, error) {
	page, err := ask[wire.Page[wire.Session]](ctx, c.conn, get("v1", "running"))
	return page.Items, err
}

// Settings has the settings of the gateway.
type Settings struct{ *conn }

// List lists the settings of agents, models and the terminal, and where each is set.
func (c Settings) List(ctx context.Context) ([]wire.Setting, error) {
	page, err := ask[wire.Page[wire.Setting]](ctx, c.conn, get("v1", "settings"))
	return page.Items, err
}

// Agents lists the configured agents.
func (c *Client) Agents(ctx context.Context) ([]wire.Agent, error) {
	page, err := ask[wire.Page[wire.Agent]](ctx, c.conn, get("v1", "agents"))
	return page.Items, err
}

// Models lists the available models.
func (c *Client) Models(ctx context.Context) ([]wire.Model, error) {
	page, err := ask[wire.Page[wire.Model]](ctx, c.conn, get("v1", "models"))
	return page.Items, err
}
