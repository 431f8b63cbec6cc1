package mcpclient

import (
	"context"
	"fmt"
	"time"
)

// await runs do and returns its result, or the error of ctx when that is done. The SDK writes
// to a server without regard to the context, so that do may stay blocked by a server that does
// not read until the connection is closed. Returned is closed when do has returned.
func await[T any](ctx context.Context, do func() (T, error)) (result T, returned <-chan struct{}, err error) {
	var made T
	var failed error
	done := make(chan struct{})
	go func() { // ends at the latest when the connection is closed
		made, failed = do()
		close(done)
	}()
	select {
	case <-done:
		return made, done, failed
	case <-ctx.Done():
		return result, done, ctx.Err()
	}
}

// release ends a connection if a call that was given up is still blocked after a while.
func (l *link) release(c *live, returned <-chan struct{}) {
	select {
	case <-returned:
		return
	default:
	}
	l.pool.run(func(ctx context.Context) {
		limit := time.NewTimer(pingWait)
		defer limit.Stop()
		select {
		case <-returned:
		case <-c.ended:
		case <-ctx.Done(): // the pool ends all connections
		case <-limit.C:
			l.drop(c, fmt.Sprintf("the MCP server %s stopped: it does not read its input", l.server.Name))
		}
	})
}
