package chat

import (
	"context"
	"iter"

	"firn.dev/client"
	"firn.dev/wire"
)

// turnEvents runs a turn and yields its events. If the gateway is in another process, the
// tools of the turn run in this one.
func turnEvents(ctx context.Context, c *chat, t wire.Turn) iter.Seq2[wire.Event, error] {
	if c.o.Host == nil {
		return c.client.StreamTurn(ctx, c.id, t)
	}
	if c.o.NoTools {
		terms := wire.TurnOptions{}
		if t.Terms != nil {
			terms = *t.Terms
		}
		terms.NoTools, t.Terms = true, &terms
	}
	return client.HostTools(c.client, c.o.Host).StreamTurn(ctx, c.id, t)
}
