package client

import (
	"context"

	"firn.dev/wire"
)

// Bin lists the sessions in the trash bin, most recently removed first: at most limit, or all if
// limit is zero.
func (c *Client) Bin(ctx context.Context, limit int) (wire.Bin, error) {
	return ask[wire.Bin](ctx, c.conn, get("v1", "bin").withNumber("limit", uint64(max(limit, 0))))
}

// EmptyBin erases sessions in the trash bin permanently, or with Plan returns those it would
// erase.
func (c *Client) EmptyBin(ctx context.Context, e wire.EmptyBin) (wire.EmptiedBin, error) {
	return ask[wire.EmptiedBin](ctx, c.conn, post(e, "v1", "bin", "empty"))
}
