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

// Daemon says how a gateway is served to others.
type Daemon struct {
	Options
	// Hangups tells each time that the settings are to be read again, and Reload
	// reads them. Both may be nil.
	Hangups <-chan os.Signal
	Reload  func() (*config.Settings, error)
	// Level is that of the log, and is changed with the settings; nil if it
	// cannot be.
	Level *slog.LevelVar
	// Ready is told where it listens, when it does.
	Ready func(api.Address)
}

// Run serves a home until ctx ends, and then lets it go: turns that run may
// finish for as long as the settings say, and what was accepted and not
// answered is answered by the next one. A home that somebody else works on is
// [firn.ErrLocked].
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
	if err := noGuests(h.fs, h.home()); err != nil {
		return err
	}
	h.level = d.Level
	if err := h.furnish(); err != nil {
		return errors.Join(err, h.Close(ctx))
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	h.startIndex()
	h.Gateway.GoOn()
	if err := h.Gateway.StartJobs(ctx); err != nil {
		return err
	}
	stop := h.listenForHangups(d)
	defer stop()
	defer h.startNights(ctx)()
	defer h.startMirror(ctx)()
	defer h.startFollowing(ctx)()
	descriptors := limits.Current().Connections
	return api.Serve(ctx, api.ServeOptions{
		Home: h.home(), Socket: g.Socket, TCP: g.Listen, Remote: g.AllowRemote, Hold: hold, Handler: h.Handler, Close: h.closeGateway,
		Grace: max(g.Drain, 1), HeaderTimeout: g.HeaderTimeout, IdleTimeout: g.IdleTimeout,
		// Of the descriptors that connections may take, the socket has half.
		Connections: min(g.Connections, max(1, descriptors-descriptors/2)), SocketConnections: min(g.OnSocket, max(1, descriptors/2)),
		Strangers: g.Strangers, StrangerTimeout: g.StrangerTime,
		Refused: h.counts.Refused, Ready: d.Ready, Log: h.o.Log, Clock: h.o.Clock,
	})
}

// addressOf is where a gateway is best reached.
func addressOf(g config.Gateway) string {
	if g.Socket != "" {
		return "unix:" + g.Socket
	}
	return "http://" + g.Listen
}

// listenForHangups reads the settings again whenever it is asked for, until
// stop is called.
func (h *House) listenForHangups(d Daemon) (stop func()) {
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

// reload puts new settings in force. If something is wrong with them the old
// ones stay.
func (h *House) reload(read func() (*config.Settings, error)) {
	s, err := read()
	if err == nil {
		err = h.Change(s.Config)
	}
	if err != nil {
		h.o.Log.Error("the settings were not changed", "error", err.Error())
	}
}

// Change puts other settings in force. Turns that run go on with those they
// began with; what counts only after a restart is told in the log.
func (h *House) Change(c config.Config) error {
	setup, err := h.setup(h.newStaff(c))
	if err != nil {
		return fmt.Errorf("change the settings: %w", err)
	}
	if err := h.Gateway.Reload(setup); err != nil {
		return fmt.Errorf("change the settings: %w", err)
	}
	h.mu.Lock()
	old := h.config
	h.config = c
	h.mu.Unlock()
	if h.level != nil {
		h.level.Set(levelOf(c.Log))
	}
	changes := config.Diff(old, c)
	if len(changes) == 0 {
		h.o.Log.Info("the settings were read again: none changed") // who sent a signal wants to see that it came
	}
	for _, change := range changes {
		h.o.Log.Info("a setting changed", "setting", change.Path, "restart", change.Restart)
	}
	return nil
}

// NewLog makes a log as the settings say, and what its level can be changed by.
// Auto is text if somebody reads it at a terminal, and JSON elsewhere.
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
