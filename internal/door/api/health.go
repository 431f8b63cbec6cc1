package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"firn.dev/internal/gateway"
	"firn.dev/wire"
)

func (c *call) health() (wire.Health, error) { return wire.Health{Status: "ok"}, nil }

// readiness says whether the gateway can do its work: it is not about to go, and
// what it needs is there. What is wrong is told to the owner only; others learn
// that something is.
func (c *call) readiness() (wire.Health, error) {
	if c.h.draining() {
		return wire.Health{}, &wire.Problem{Kind: wire.Closing, Message: "the gateway is shutting down"}
	}
	err := c.h.ready.ask(c.r.Context(), c.h.config.Ready)
	if fault := c.h.fault.Load(); fault != nil {
		err = *fault
	}
	if err == nil {
		return wire.Health{Status: "ready"}, nil
	}
	message := "the gateway is not ready"
	if isOwner(c.r.Context()) {
		message += ": " + err.Error()
	}
	return wire.Health{}, &withStatus{&wire.Problem{Kind: gateway.ProblemOf(err).Kind, Message: message}, http.StatusServiceUnavailable}
}

// readyFor is how long an answer about readiness holds. Anybody may ask, and
// must not be able to keep the disk busy with it.
const readyFor = 2 * time.Second

// readiness remembers the last answer.
type readiness struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

// ask asks, unless it did so a moment ago.
func (r *readiness) ask(ctx context.Context, check func(context.Context) error) error {
	if check == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || time.Since(r.at) > readyFor {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		r.err, r.at = check(ctx), time.Now()
	}
	return r.err
}

// prepared is a gateway that knows whether it can do its work.
type prepared interface {
	Ready(ctx context.Context) error
}

// measured is a gateway that tells how much it has to do.
type measured interface{ Load() (lanes, queued int) }

// metrics tells the numbers. They are about all sessions, so who is bound to
// some does not get them.
func (c *call) metrics() error {
	if c.who.bound() {
		return boundTo("numbers about all sessions")
	}
	if c.h.config.Metrics == nil {
		return &wire.Problem{Kind: wire.Unsupported, Message: "this gateway counts nothing", Hint: "switch on metrics in the settings"}
	}
	c.deadline()
	c.h.config.Metrics.ServeHTTP(c.w, c.r)
	return nil
}

// openapi tells the description of the interface.
func (c *call) openapi() error {
	c.w.Header().Set("Content-Type", "application/json")
	c.deadline()
	c.w.Write(c.h.doc) // who is gone needs no answer
	return nil
}
