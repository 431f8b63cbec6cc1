package client

import (
	"context"

	"firn.dev/wire"
)

// Jobs lists the scheduled jobs.
func (c *Client) Jobs(ctx context.Context) ([]wire.Job, error) {
	page, err := ask[wire.Page[wire.Job]](ctx, c.conn, get("v1", "jobs"))
	return page.Items, err
}

// RunJob runs a job now. It returns when the run has started.
func (c *Client) RunJob(ctx context.Context, id string) (wire.Routed, error) {
	return ask[wire.Routed](ctx, c.conn, post(nil, "v1", "jobs", id, "run"))
}

// CallHook calls a hook with a body that is encoded as JSON. The client's token must be the
// one that the hook names.
func (c *Client) CallHook(ctx context.Context, name string, body any) (wire.Routed, error) {
	return ask[wire.Routed](ctx, c.conn, post(body, "v1", "hooks", name))
}

// Maintain runs maintenance according to the settings, or a dry run unless Enforce is set.
func (c *Client) Maintain(ctx context.Context, m wire.Maintain) (wire.Maintenance, error) {
	return ask[wire.Maintenance](ctx, c.conn, post(m, "v1", "maintenance"))
}
