package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/wire"
)

// watchEvery is the default interval of checks of the lock and the socket.
const watchEvery = 2 * time.Second

// watch is a periodic check of the lock and the socket of a server.
type watch struct {
	// lost receives an error once if the home is no longer exclusively ours. The gateway
	// must then shut down.
	lost chan error
	// stop ends the checks. servers waits for the servers of recreated sockets.
	stop    func()
	servers sync.WaitGroup
}

// watch checks the lock and the socket periodically until it is stopped. It recreates a
// deleted lock file or socket. While the socket cannot be recreated, the gateway is not
// ready.
func (s *server) watch(srv *http.Server, sockets *connLimiter) *watch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watch{lost: make(chan error, 1)}
	var checks sync.WaitGroup
	checks.Go(func() {
		tick := time.NewTicker(cmp.Or(s.WatchEvery, watchEvery))
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if err := s.check(ctx, srv, sockets, &w.servers); errors.Is(err, firn.ErrLocked) {
					w.lost <- err
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	w.stop = func() {
		cancel()
		checks.Wait()
	}
	return w
}

// check checks the lock and the socket once. The error is ErrLocked if another process
// holds the home.
func (s *server) check(ctx context.Context, srv *http.Server, sockets *connLimiter, work *sync.WaitGroup) error {
	restored, err := s.Lock.Check()
	if restored {
		s.log.Warn("the lock file of the home was removed; restored it", "home", s.Home)
	}
	if err == nil && s.Socket != "" {
		err = s.checkSocket(ctx, srv, sockets, work)
	}
	if err != nil {
		s.log.Error("lost the lock or the socket of the home", "home", s.Home, "error", err.Error())
	}
	if h, ok := s.Handler.(interface{ SetFault(error) }); ok {
		h.SetFault(err)
	}
	return err
}

// checkSocket recreates the socket if its path no longer leads to it.
func (s *server) checkSocket(ctx context.Context, srv *http.Server, sockets *connLimiter, work *sync.WaitGroup) error {
	if there, err := s.fs.Stat(s.Socket); err == nil && there.Same(s.own) {
		return nil
	}
	if err := s.listenSocket(ctx); err != nil {
		if errors.Is(err, firn.ErrLocked) { // we hold the lock of the home, so it is not another gateway
			err = &wire.Problem{Kind: wire.Unavailable, Message: fmt.Sprintf("another process listens on the socket %s", s.Socket), Hint: "stop it, or set gateway.socket to another path"}
		}
		return fmt.Errorf("restore the socket: %w", err)
	}
	s.log.Warn("the socket was removed; restored it", "socket", s.Socket)
	again := &limitedListener{Listener: s.socket, limiter: sockets}
	work.Go(func() {
		if err := srv.Serve(again); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			s.log.Error("the restored socket failed", "error", err.Error())
		}
	})
	return nil
}

// limitedListener is an additional listener whose connections count toward a limiter.
type limitedListener struct {
	net.Listener
	limiter *connLimiter
}

// Accept implements [net.Listener].
func (l *limitedListener) Accept() (net.Conn, error) { return l.limiter.acceptFrom(l.Listener) }
