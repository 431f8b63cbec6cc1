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

// watchEvery is how often a gateway checks that the lock of its home and its
// socket are still there.
const watchEvery = 2 * time.Second

// watch is a check of the lock and the socket that runs beside a server.
type watch struct {
	// lost receives the error once if the home is not ours alone any more: then
	// the gateway must end.
	lost chan error
	// stop ends the checks; servers are those of sockets that were made again,
	// which end with the others.
	stop    func()
	servers sync.WaitGroup
}

// watch checks the lock and the socket every few seconds until it is stopped. A
// lock file or socket that was deleted is made again. While the socket cannot
// be, the gateway is not ready.
func (s *server) watch(srv *http.Server, sockets *crowd) *watch {
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

// check looks at the lock and the socket once. The error is ErrLocked if another
// process has the home.
func (s *server) check(ctx context.Context, srv *http.Server, sockets *crowd, work *sync.WaitGroup) error {
	restored, err := s.Hold.Check()
	if restored {
		s.log.Warn("the lock file of the home was gone and was made again", "home", s.Home)
	}
	if err == nil && s.Socket != "" {
		err = s.checkSocket(ctx, srv, sockets, work)
	}
	if err != nil {
		s.log.Error("the lock or the socket of the home was lost", "home", s.Home, "error", err.Error())
	}
	if h, ok := s.Handler.(interface{ SetFault(error) }); ok {
		h.SetFault(err)
	}
	return err
}

// checkSocket sees to it that the socket is reached by its path.
func (s *server) checkSocket(ctx context.Context, srv *http.Server, sockets *crowd, work *sync.WaitGroup) error {
	if there, err := s.fs.Stat(s.Socket); err == nil && there.Same(s.own) {
		return nil
	}
	if err := s.listenSocket(ctx); err != nil {
		if errors.Is(err, firn.ErrLocked) { // the lock of the home is ours: it is not another gateway of it
			err = &wire.Problem{Kind: wire.Unavailable, Message: fmt.Sprintf("another process listens on the socket %s", s.Socket), Hint: "stop it, or set gateway.socket to another path"}
		}
		return fmt.Errorf("restore the socket: %w", err)
	}
	s.log.Warn("the socket was gone and was made again", "socket", s.Socket)
	again := &crowdListener{Listener: s.socket, crowd: sockets}
	work.Go(func() {
		if err := srv.Serve(again); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			s.log.Error("the socket that was made again ended", "error", err.Error())
		}
	})
	return nil
}

// crowdListener is one more listener whose connections count in a crowd.
type crowdListener struct {
	net.Listener
	crowd *crowd
}

// Accept implements [net.Listener].
func (l *crowdListener) Accept() (net.Conn, error) { return l.crowd.acceptFrom(l.Listener) }
