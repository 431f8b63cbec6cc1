package gateway

import (
	"context"
	"sync"

	"firn.dev/wire"
)

// mostVerifyFaults bounds how many faults of a check are told.
const mostVerifyFaults = 100

// VerifyStep is how far a check of all sessions has come.
type VerifyStep struct {
	// Done of Of sessions were read, with Entries and Bytes in all.
	Done, Of, Entries int
	Bytes             int64
	// Faults are those of the latest session.
	Faults []wire.VerifyFault
}

// checks is the latest check of all sessions.
type checks struct {
	mu     sync.Mutex
	latest *wire.Verified
	cancel context.CancelFunc
}

// stop breaks the check off that is under way, if any.
func (c *checks) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

// state tells how the latest check goes or went; nil if there was none.
func (c *checks) state() *wire.Verified {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest == nil {
		return nil
	}
	now := *c.latest // whose faults are only ever replaced
	return &now
}

// change changes the state of the check.
func (c *checks) change(do func(*wire.Verified)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do(c.latest)
}

// Verify begins a check of all sessions, which reads every byte of them, and
// tells that it has begun. How it goes is told by [Gateway.Ops]. If one is under
// way that one is told of, and no other begins. It ends with the gateway.
func (g *Gateway) Verify(context.Context) (wire.Verified, error) {
	if g.Options.Verify == nil {
		return wire.Verified{}, &wire.Problem{Kind: wire.Unsupported, Message: "this gateway cannot check its sessions", Hint: "firn verify checks files"}
	}
	g.mu.Lock()
	closed := g.closed
	if !closed {
		g.work.Add(1)
	}
	g.mu.Unlock()
	if closed {
		return wire.Verified{}, &wire.Problem{Kind: wire.Closing, Message: "the gateway is shutting down", Hint: "ask again when it is back"}
	}
	ctx, begun := g.checks.start(g)
	if ctx == nil {
		g.work.Done()
		return begun, nil
	}
	go g.verify(ctx)
	return begun, nil
}

// begin notes that a check begins, and returns the context that it has; nil if
// one is under way.
func (c *checks) start(g *Gateway) (context.Context, wire.Verified) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest != nil && c.latest.Done.IsZero() {
		return nil, *c.latest
	}
	c.latest = &wire.Verified{Begun: g.now()}
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(g.ctx)
	return ctx, *c.latest
}

// verify is the check.
func (g *Gateway) verify(ctx context.Context) {
	defer g.work.Done()
	defer g.checks.stop() // which frees the context
	err := g.Options.Verify(ctx, func(s VerifyStep) {
		g.checks.change(func(v *wire.Verified) {
			v.Sessions, v.Of, v.Entries, v.Bytes = s.Done, s.Of, s.Entries, s.Bytes
			room := mostVerifyFaults - len(v.Faults)
			v.Faults = append(v.Faults[:len(v.Faults):len(v.Faults)], s.Faults[:min(len(s.Faults), room)]...)
		})
	})
	g.checks.change(func(v *wire.Verified) {
		v.Done = g.now()
		if err != nil {
			v.Error = err.Error()
		}
	})
	if err != nil {
		g.Log.Warn("the check of all sessions was broken off", "error", err)
	}
}
