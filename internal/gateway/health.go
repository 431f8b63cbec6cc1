package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"firn"
	"firn/internal/metrics"
	"firn/internal/vfs"
	"firn/store"
	"firn/wire"
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
	if err == nil {
		return wire.Health{Status: "ready"}, nil
	}
	message := "the gateway is not ready"
	if isOwner(c.r.Context()) {
		message += ": " + err.Error()
	}
	return wire.Health{}, &withStatus{&wire.Problem{Kind: ProblemOf(err).Kind, Message: message}, http.StatusServiceUnavailable}
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
type measured interface{ Lanes() metrics.Lanes }

// Ready says why the gateway cannot do its work: sessions cannot be listed, or
// nothing can be written to the home.
func (g *Gateway) Ready(ctx context.Context) error {
	for _, err := range g.List(ctx, store.Query{Limit: 1}) {
		if err != nil {
			return fmt.Errorf("list sessions: %w", err)
		}
		break
	}
	if g.Home == "" {
		return nil
	}
	return Writable(vfs.OS{}, g.Home)
}

// Lanes tells how much the gateway has to do.
func (g *Gateway) Lanes() metrics.Lanes {
	return metrics.Lanes{
		Lanes:  func() float64 { running, _ := g.loads(); return float64(running) },
		Queued: func() float64 { _, queued := g.loads(); return float64(queued) },
	}
}

// Writable says why nothing can be written to a directory; nil if a file can
// be made in it, filled, made durable and taken away again.
func Writable(fsys vfs.FS, dir string) error {
	path := filepath.Join(dir, ".ready-"+rand.Text()[:10])
	f, err := fsys.Open(path, vfs.Create)
	if err == nil {
		_, err = f.Write([]byte("ready?\n"))
		err = errors.Join(err, f.Sync(), f.Close(), fsys.Remove(path))
	}
	if err != nil {
		return fmt.Errorf("try to write to %s: %w: %w", dir, firn.ErrNotSaved, err)
	}
	return nil
}

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

// savingHint says what can be done about what could not be saved. Whatever was
// acknowledged before is safe, and no restart is needed.
func savingHint(err error) string {
	switch {
	case errors.Is(err, firn.ErrReplaced):
		return "somebody replaced the file of the session while it was open; firn doctor looks at it; then do it again"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "the disk is full: make room, then do it again; what was said before is safe"
	}
	return ""
}
