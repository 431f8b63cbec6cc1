package gateway

import (
	"context"
	"sync"

	"firn.dev/wire"
)

// mostVerifyFaults is the maximum number of reported faults of a check.
const mostVerifyFaults = 100

// VerifyStep is the progress of a check of all sessions.
type VerifyStep struct {
	// Done of Of sessions were read, with Entries and Bytes in total.
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

// stop cancels the running check, if any.
func (c *checks) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
}

// state returns the progress or the result of the latest check; nil if there was none.
func (c *checks) state() *wire.Verified {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.latest == nil {
		return nil
	}
	now := *c.latest // its faults are only ever replaced
	return &now
}

// change updates the state of the check.
func (c *checks) change(do func(*wire.Verified)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do(c.latest)
}

// Verify starts a check of all sessions, which reads every byte, and returns its state.
// [Gateway.Ops] reports the progress. If a check is already running, Verify returns the
// state of that one. The check is canceled when the gateway is closed.
func (g *maintainer) Verify(context.Context) (wire.Verified, error) {
	if g.Options.Verify == nil {
		return wire.Verified{}, &wire.Problem{Kind: wire.Unsupported, Message: "this gateway cannot verify its sessions", Hint: "use firn verify"}
	}
	g.mu.Lock()
	closed := g.closed
	if !closed {
		g.work.Add(1)
	}
	g.mu.Unlock()
	if closed {
		return wire.Verified{}, &wire.Problem{Kind: wire.Closing, Message: "the gateway is shutting down", Hint: "try again when it is back"}
	}
	ctx, begun := g.checks.start(g.core)
	if ctx == nil {
		g.work.Done()
		return begun, nil
	}
	go g.verify(ctx)
	return begun, nil
}

// verified returns the state of the latest check; nil if there was none.
func (g *maintainer) verified() *wire.Verified { return g.checks.state() }

// start records the start of a check and returns its context; nil if one is running.
func (c *checks) start(g *core) (context.Context, wire.Verified) {
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

// verify runs the check.
func (g *maintainer) verify(ctx context.Context) {
	defer g.work.Done()
	defer g.checks.stop() // frees the context
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
		g.Log.Warn("verification of all sessions was aborted", "error", err)
	}
}
