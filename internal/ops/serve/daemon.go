package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"firn.dev/internal/disk/limits"
	"firn.dev/internal/door/api"
	"firn.dev/internal/ops/config"
)

// Daemon configures [Run].
type Daemon struct {
	Options
	// Hangups receives a signal when the settings must be reloaded, and Reload reads them.
	// Both may be nil.
	Hangups <-chan os.Signal
	Reload  func() (*config.Settings, error)
	// Level is the log level, updated when the settings change. It is nil if it cannot be
	// changed.
	Level *slog.LevelVar
	// Ready is called with the addresses when the gateway is listening.
	Ready func(api.Address)
}

// Run serves a home until ctx ends and then shuts down. Running turns may finish within the
// configured grace period. Accepted but unanswered messages are answered by the next
// gateway. The error is [firn.ErrLocked] if the home is in use.
func Run(ctx context.Context, d Daemon) (err error) {
	g := d.Settings.Gateway
	if d.Address == "" {
		d.Address = addressOf(g)
	}
	h, err := newHouse(d.Options)
	if err != nil {
		return err
	}
	h.serves = true
	hold, err := takeHold(h.fs, h.home(), "gateway")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hold.Release()) }()
	if err := checkNoGuests(h.fs, h.home()); err != nil {
		return err
	}
	h.level = d.Level
	if err := h.assemble(); err != nil {
		return errors.Join(err, h.Close(ctx))
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	h.startIndex()
	h.Gateway.StartRecovery()
	if err := h.Gateway.StartJobs(ctx); err != nil {
		return err
	}
	stop := h.listenForHangups(d)
	defer stop()
	defer h.startDreaming(ctx)()
	defer h.startMirror(ctx)()
	defer h.startFollowing(ctx)()
	descriptors := limits.Current().Connections
	return api.Serve(ctx, api.ServeOptions{
		Home: h.home(), Socket: g.Socket, TCP: g.Listen, Remote: g.AllowRemote, Lock: hold, Handler: h.Handler, Close: h.closeGateway,
		Grace: max(g.Drain, 1), HeaderTimeout: g.HeaderTimeout, IdleTimeout: g.IdleTimeout,
		// Half of the descriptors available for connections are for the socket.
		Connections: min(g.Connections, max(1, descriptors-descriptors/2)), SocketConnections: min(g.OnSocket, max(1, descriptors/2)),
		Strangers: g.Strangers, StrangerTimeout: g.StrangerTime,
		Refused: h.counts.Refused, Ready: d.Ready, Log: h.o.Log, Clock: h.o.Clock,
	})
}

// addressOf returns the preferred address of a gateway.
func addressOf(g config.Gateway) string {
	if g.Socket != "" {
		return "unix:" + g.Socket
	}
	return "http://" + g.Listen
}

// listenForHangups reloads the settings on each hangup signal until stop is called.
func (h *Instance) listenForHangups(d Daemon) (stop func()) {
	done := make(chan struct{})
	var work sync.WaitGroup
	if d.Hangups != nil && d.Reload != nil {
		work.Go(func() {
			for {
				select {
				case <-d.Hangups:
					h.reload(d.Reload)
				case <-done:
					return
				}
			}
		})
	}
	return func() {
		close(done)
		work.Wait()
	}
}

// reload applies new settings. If they are invalid, the old ones remain in force.
func (h *Instance) reload(read func() (*config.Settings, error)) {
	s, err := read()
	if err == nil {
		err = h.Change(s.Config)
	}
	if err == nil {
		h.shown.Store(s)
	}
	if err != nil {
		h.o.Log.Error("reloading settings failed", "error", err.Error())
	}
}

// Change applies other settings. Running turns continue with their old settings. Changes
// that require a restart are logged.
func (h *Instance) Change(c config.Config) error {
	builder := h.newBuilder(c)
	setup, err := h.setup(builder)
	if err != nil {
		return fmt.Errorf("change settings: %w", err)
	}
	if err := h.Gateway.Reload(setup); err != nil {
		return fmt.Errorf("change settings: %w", err)
	}
	h.mu.Lock()
	old := h.config
	h.config = c
	for _, s := range h.builders {
		if s != builder {
			s.retire()
		}
	}
	h.mu.Unlock()
	h.redact.Store(c.Session.Redact)
	h.mcp.Retain(builder.mcpGroups()...)
	if h.level != nil {
		h.level.Set(levelOf(c.Log))
	}
	changes := config.Diff(old, c)
	if len(changes) == 0 {
		h.o.Log.Info("settings reloaded, none changed") // confirms that the signal was received
	}
	for _, change := range changes {
		h.o.Log.Info("setting changed", "setting", change.Path, "restart", change.Restart)
	}
	return nil
}

// NewLog creates a logger from the settings, and the variable that controls its level. The
// format "auto" is text on a terminal and JSON otherwise.
func NewLog(w io.Writer, c config.Log, terminal bool) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(levelOf(c))
	o := &slog.HandlerOptions{Level: level}
	if c.Format == "text" || c.Format != "json" && terminal {
		return slog.New(slog.NewTextHandler(w, o)), level
	}
	return slog.New(slog.NewJSONHandler(w, o)), level
}

func levelOf(c config.Log) slog.Level {
	return map[string]slog.Level{"debug": slog.LevelDebug, "warn": slog.LevelWarn, "error": slog.LevelError}[c.Level]
}
