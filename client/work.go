package client

import (
	"context"

	"firn.dev/wire"
)

// Jobs lists the jobs that run at certain times.
func (c *Client) Jobs(ctx context.Context) ([]wire.Job, error) {
	page, err := ask[wire.Page[wire.Job]](ctx, c, get("v1", "jobs"))
	return page.Items, err
}

// RunJob runs a job now. The run has begun when it returns.
func (c *Client) RunJob(ctx context.Context, id string) (wire.Routed, error) {
	return ask[wire.Routed](ctx, c, post(nil, "v1", "jobs", id, "run"))
}

// CallHook calls a hook as another program would, with something that becomes
// JSON. The client's token must be the one that the hook names.
func (c *Client) CallHook(ctx context.Context, name string, body any) (wire.Routed, error) {
	return ask[wire.Routed](ctx, c, post(body, "v1", "hooks", name))
}

// Maintain clears away what the settings ask for, or, unless that is to be
// enforced, tells what it would do.
func (c *Client) Maintain(ctx context.Context, m wire.Maintain) (wire.Maintenance, error) {
	return ask[wire.Maintenance](ctx, c, post(m, "v1", "maintenance"))
}
