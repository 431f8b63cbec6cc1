package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/gateway"
)

// ServeOptions configures [Serve]. Home, Handler and one of Socket and TCP are required.
type ServeOptions struct {
	// Home is the home to serve. Only one gateway can serve it at a time.
	Home string
	// Socket is the path of a Unix socket; its clients act as the owner. TCP is an address
	// such as 127.0.0.1:7766, where tokens are required. It must be a loopback address
	// unless Remote is set. An empty value disables the listener.
	Socket, TCP string
	Remote      bool
	// Lock is the lock on the home, if the caller already holds it. The caller releases it.
	Lock *HomeLock
	// Handler handles the requests. If it has a method Drain, it is called when the
	// shutdown begins.
	Handler http.Handler
	// Close is called when the shutdown begins, and usually is [gateway.Gateway.Close].
	// Running turns may finish until its context ends.
	Close func(context.Context) error
	// Grace limits the duration of the shutdown; zero means 30 seconds.
	Grace time.Duration
	// HeaderTimeout limits the time to receive a request header; zero means 10 seconds.
	// IdleTimeout is how long an idle connection is kept; zero means 2 minutes.
	// StrangerTimeout limits both, and the time to send a response, for TCP connections
	// without a valid token; zero means 5 seconds.
	HeaderTimeout, IdleTimeout, StrangerTimeout time.Duration
	// Connections limits the TCP connections; zero means 2048. Strangers limits those
	// without a valid token; zero means 256, and it is never more than a quarter of
	// Connections. SocketConnections limits the socket connections; zero means 1024.
	Connections, Strangers, SocketConnections int
	// Refused, if not nil, is called with the reason when a connection is closed before it
	// was served: too many connections, too slow, or another user.
	Refused func(reason string)
	// WatchEvery is the interval of checks of the lock and the socket; zero means 2
	// seconds.
	WatchEvery time.Duration
	// Ready, if not nil, is called with the addresses when the server is listening.
	Ready func(Address)
	Log   *slog.Logger
	// Files is for tests; nil means the operating system's files.
	Files vfs.FS
	Clock func() time.Time
}

// Address is the address of a running gateway, as stored in the file address.json of its
// home.
type Address struct {
	// Address is the preferred address for clients on this machine.
	Address string    `json:"address"`
	Socket  string    `json:"socket,omitempty"`
	TCP     string    `json:"tcp,omitempty"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// Names of the gateway's files in its home.
const (
	gatewayDir  = "gateway"
	addressName = "address.json"
	tokensName  = "tokens.json"
	socketName  = "gateway.sock"
)

// SocketPath returns the default path of a home's socket. It is directly in the home since
// socket paths must be short. The settings have the same default.
func SocketPath(home string) string { return filepath.Join(home, socketName) }

// TokensPath returns the path of a home's token file.
func TokensPath(home string) string { return filepath.Join(home, gatewayDir, tokensName) }

// Serve serves a gateway until ctx ends and then shuts it down: new requests are rejected,
// listening clients are notified, and running turns may finish within Grace. It returns nil
// after a regular shutdown.
//
// It fails with ErrLocked if another gateway serves the same home.
func Serve(ctx context.Context, o ServeOptions) error {
	s := &server{ServeOptions: o, log: o.Log, fs: o.Files}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.fs == nil {
		s.fs = vfs.OS{}
	}
	if s.Clock == nil {
		s.Clock = time.Now
	}
	if o.Lock == nil {
		hold, err := LockHome(s.fs, o.Home, "gateway")
		if err != nil {
			return err
		}
		defer hold.Release()
		s.Lock = hold
	}
	if err := s.listen(ctx); err != nil {
		err = fmt.Errorf("serve the home %s: %w", o.Home, err)
		if errors.Is(err, syscall.EADDRINUSE) {
			err = failure.WithHint(err, "another program listens there; choose another port: firn serve --listen 127.0.0.1:0")
		}
		return err
	}
	return s.serve(ctx)
}

// server is a running server of a gateway.
type server struct {
	ServeOptions
	log     *slog.Logger
	fs      vfs.FS
	address Address
	socket  net.Listener
	tcp     net.Listener
	// sockets are all listeners on the socket. A new one is added if the file was deleted.
	// own is the file of the latest listener.
	sockets []net.Listener
	own     vfs.Info
}

// listen opens the listeners and writes the address file if possible.
func (s *server) listen(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			s.closeListeners()
		}
	}()
	if s.Socket == "" && s.TCP == "" {
		return fmt.Errorf("no socket or address given: %w", firn.ErrInvalid)
	}
	s.address = Address{PID: os.Getpid(), Started: s.Clock().UTC().Truncate(time.Second)}
	if s.TCP != "" {
		if err := s.listenTCP(ctx); err != nil {
			return err
		}
		s.address.TCP = s.tcp.Addr().String()
		s.address.Address = "http://" + s.address.TCP
	}
	if s.Socket != "" {
		if err := s.listenSocket(ctx); err != nil {
			return err
		}
		s.address.Socket = s.Socket
		s.address.Address = "unix:" + s.Socket
	}
	if err := s.writeAddress(); err != nil {
		// Sessions on a full disk must still be readable.
		s.log.Warn("recording the listening address failed", "error", err.Error())
	}
	return nil
}

// writeAddress writes the address file.
func (s *server) writeAddress() error {
	data, err := json.MarshalIndent(s.address, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Join(s.Home, gatewayDir)
	if err := s.fs.MkdirAll(dir); err != nil {
		return err
	}
	return vfs.WriteFile(s.fs, filepath.Join(dir, addressName), append(data, '\n'))
}

// listenTCP listens on the TCP address.
func (s *server) listenTCP(ctx context.Context) error {
	host, _, err := net.SplitHostPort(s.TCP)
	if err != nil {
		return fmt.Errorf("invalid address %q: expected host:port: %w", s.TCP, firn.ErrInvalid)
	}
	if ip := net.ParseIP(host); !s.Remote && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s is reachable from other machines and gateway.allow_remote is not set: %w", s.TCP, firn.ErrInvalid)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", s.TCP)
	if err != nil {
		return err
	}
	s.tcp = l
	return nil
}

// maxSocketPath is the maximum length of a socket path that all systems support.
const maxSocketPath = 103

// listenSocket listens on the owner's socket. It removes a stale socket of a killed
// gateway, but not one with a listener.
func (s *server) listenSocket(ctx context.Context) error {
	if len(s.Socket) > maxSocketPath {
		return fmt.Errorf("the socket path %s is longer than %d bytes: %w: choose a shorter one", s.Socket, maxSocketPath, firn.ErrInvalid)
	}
	if err := s.fs.MkdirAll(filepath.Dir(s.Socket)); err != nil {
		return err
	}
	if err := s.removeStaleSocket(ctx); err != nil {
		return err
	}
	l, err := vfs.ListenUnix(ctx, s.Socket)
	if err != nil {
		return err
	}
	s.socket, s.sockets = l, append(s.sockets, l)
	s.own, err = s.fs.Stat(s.Socket)
	return err
}

// removeStaleSocket removes a socket that has no listener.
func (s *server) removeStaleSocket(ctx context.Context) error {
	info, err := s.fs.Stat(s.Socket)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode.IsRegular() || info.Mode.IsDir() {
		return fmt.Errorf("%s exists and is not a socket: %w", s.Socket, firn.ErrInvalid)
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "unix", s.Socket)
	if err == nil {
		conn.Close()
		return fmt.Errorf("another process listens on the socket %s: %w", s.Socket, firn.ErrLocked)
	}
	var slow net.Error
	if ctx.Err() != nil || errors.As(err, &slow) && slow.Timeout() {
		return err // a timeout does not prove that there is no listener
	}
	if now, err := s.fs.Stat(s.Socket); errors.Is(err, fs.ErrNotExist) || err == nil && !now.Same(info) {
		return nil // changed by another process; listening will fail if it is in use
	}
	if err := s.fs.Remove(s.Socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove stale socket: %w", err)
	}
	return nil
}

// serve handles requests until ctx ends.
func (s *server) serve(ctx context.Context) error {
	base, stop := context.WithCancelCause(onTCP(context.WithoutCancel(ctx), s.address.TCP))
	defer stop(gateway.ErrDraining)
	srv := &http.Server{
		Handler:           s.Handler,
		ReadHeaderTimeout: cmp.Or(s.HeaderTimeout, 10*time.Second),
		IdleTimeout:       cmp.Or(s.IdleTimeout, 2*time.Minute),
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       withConn,
		ConnState:         trackState,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 2)
	doors := 0
	onSocket := s.limiterFor(s.socket, true)
	for _, c := range []*connLimiter{onSocket, s.limiterFor(s.tcp, false)} {
		if c.Listener != nil {
			doors++
			go func() { ended <- srv.Serve(c) }()
		}
	}
	watched := s.watch(srv, onSocket)
	s.log.Info("gateway listening", "socket", s.address.Socket, "tcp", s.address.TCP, "pid", s.address.PID)
	if s.Ready != nil {
		s.Ready(s.address)
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-watched.lost:
	case err = <-ended:
		doors--
	}
	watched.stop()
	err = errors.Join(err, s.drain(srv, stop))
	for range doors {
		<-ended
	}
	watched.servers.Wait()
	s.closeListeners()
	return err
}

// limiterFor returns the connection limiter of a listener. The socket has separate limits.
func (s *server) limiterFor(l net.Listener, owned bool) *connLimiter {
	c := &connLimiter{Listener: l, owned: owned, patience: cmp.Or(s.StrangerTimeout, 5*time.Second), refused: s.refused}
	if owned {
		c.guests.limit = cmp.Or(s.SocketConnections, 1024)
		return c
	}
	all := cmp.Or(s.Connections, 2048)
	c.strangers.limit = max(1, min(cmp.Or(s.Strangers, 256), all/4))
	c.guests.limit = max(1, all-c.strangers.limit)
	return c
}

// refused reports a connection that was closed before it was served.
func (s *server) refused(reason string) {
	if s.Refused != nil {
		s.Refused(reason)
	}
}

// drain shuts the gateway down.
func (s *server) drain(srv *http.Server, stop context.CancelCauseFunc) error {
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(s.Grace, 30*time.Second))
	defer cancel()
	s.log.Info("gateway shutting down")
	if h, ok := s.Handler.(interface{ Drain() }); ok {
		h.Drain()
	}
	srv.SetKeepAlivesEnabled(false) // connections close after their response
	var err error
	if s.Close != nil {
		err = s.Close(ctx)
	}
	// Only responses to slow clients remain.
	late, cancelLate := context.WithTimeout(context.Background(), shutdownWait)
	defer cancelLate()
	if srv.Shutdown(late) != nil {
		stop(gateway.ErrDraining)
		again, cancelAgain := context.WithTimeout(context.Background(), shutdownWait)
		defer cancelAgain()
		if srv.Shutdown(again) != nil {
			srv.Close() //nolint:errcheck // nothing can be done about it
		}
	}
	if err != nil {
		return fmt.Errorf("stop the gateway: %w", err)
	}
	return nil
}

// shutdownWait is how long clients may take to read the remaining responses after all work
// has ended.
const shutdownWait = 2 * time.Second

// closeListeners closes the listeners and removes the address file and, if it is still
// ours, the socket.
func (s *server) closeListeners() {
	for _, l := range append(s.sockets, s.tcp) {
		if l != nil {
			l.Close()
		}
	}
	if there, err := s.fs.Stat(s.Socket); len(s.sockets) > 0 && err == nil && there.Same(s.own) {
		_ = s.fs.Remove(s.Socket) // a stale socket is detected at the next start
	}
	if s.address.Address != "" {
		_ = s.fs.Remove(filepath.Join(s.Home, gatewayDir, addressName)) // a stale address file is detected by clients
	}
}
