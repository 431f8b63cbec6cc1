package api

import (
	"context"
	"net/http"
	"sync"
	"time"

	"firn.dev/internal/gateway"
	"firn.dev/wire"
)

// Health is the result of a liveness or readiness check.
type Health struct {
	// Status is ok, or ready.
	Status string `json:"status"`
}

func (c healthCalls) health() (Health, error) { return Health{Status: "ok"}, nil }

// readiness reports whether the gateway is able to work: it is not shutting down and its
// dependencies are available. Only the owner sees the cause of a failure.
func (c healthCalls) readiness() (Health, error) {
	if c.h.draining() {
		return Health{}, &wire.Problem{Kind: wire.Closing, Message: "the gateway is shutting down"}
	}
	err := c.h.ready.ask(c.r.Context(), c.h.config.Ready)
	if fault := c.h.fault.Load(); fault != nil {
		err = *fault
	}
	if err == nil {
		return Health{Status: "ready"}, nil
	}
	message := "the gateway is not ready"
	if isOwner(c.r.Context()) {
		message += ": " + err.Error()
	}
	return Health{}, &withStatus{&wire.Problem{Kind: gateway.ProblemOf(err).Kind, Message: message}, http.StatusServiceUnavailable}
}

// readyFor is the time that a readiness result is cached. Anyone may request it, and must
// not be able to keep the disk busy.
const readyFor = 2 * time.Second

// readiness caches the last result.
type readiness struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

// ask returns the cached result, or calls check if it is outdated.
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

// metrics sends the metrics. They cover all sessions, so bound callers may not see them.
func (c healthCalls) metrics() error {
	if c.who.bound() {
		return boundTo("reading metrics of all sessions")
	}
	if c.h.config.Metrics == nil {
		return &wire.Problem{Kind: wire.Unsupported, Message: "metrics are disabled", Hint: "enable metrics in the settings"}
	}
	c.deadline()
	c.h.config.Metrics.ServeHTTP(c.w, c.r)
	return nil
}

// openapi sends the description of the API.
func (c healthCalls) openapi() error {
	c.w.Header().Set("Content-Type", "application/json")
	c.deadline()
	c.w.Write(c.h.doc()) // errors mean the client disconnected
	return nil
}
