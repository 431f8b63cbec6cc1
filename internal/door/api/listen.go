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
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/gateway"
)

// ServeOptions say where and how a gateway is served. Home and Handler are
// needed, and Socket or TCP.
type ServeOptions struct {
	// Home is whose sessions are served. One gateway at a time can do that.
	Home string
	// Socket is the path of a Unix socket; who gets there is the owner. TCP is an
	// address such as 127.0.0.1:7766, where tokens are needed; it must be of this
	// machine only, unless Remote says otherwise. What is empty is not listened on.
	Socket, TCP string
	Remote      bool
	// Hold is the hold on the home, if the caller has it already and releases it.
	Hold *Hold
	// Handler answers. If it has a method Drain, that is called when the end
	// begins.
	Handler http.Handler
	// Close is called when the end begins: what runs may finish until its context
	// ends. It is [gateway.Gateway.Close], usually.
	Close func(context.Context) error
	// Grace is how long the end may take; zero means 30 seconds.
	Grace time.Duration
	// HeaderTimeout bounds how long a client may take to send the head of a
	// request, zero means 10 seconds; IdleTimeout how long a connection without a
	// request stays, zero means 2 minutes. StrangerTimeout bounds both, and the
	// time to take an answer, for a TCP connection that has not shown a valid
	// token; zero means 5 seconds.
	HeaderTimeout, IdleTimeout, StrangerTimeout time.Duration
	// Connections bounds the connections over TCP, zero means 2048. Strangers
	// bounds those of them that have not shown a valid token, zero means 256, and
	// never more than a quarter of all. SocketConnections bounds those through
	// the socket, zero means 1024.
	Connections, Strangers, SocketConnections int
	// Refused, if not nil, is called with the reason when a connection is closed
	// before it was served: too many, too slow, or another user's.
	Refused func(reason string)
	// WatchEvery is how often the lock and the socket are checked; zero means
	// every 2 seconds.
	WatchEvery time.Duration
	// Ready, if not nil, is told where it listens, when it does.
	Ready func(Address)
	Log   *slog.Logger
	// Files is for tests; nil means the operating system's.
	Files vfs.FS
	Clock func() time.Time
}

// Address is where a gateway is reached. It is in the file address.json of the
// home while the gateway runs.
type Address struct {
	// Address is how a client on this machine gets there best.
	Address string    `json:"address"`
	Socket  string    `json:"socket,omitempty"`
	TCP     string    `json:"tcp,omitempty"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// The names of what a gateway keeps in its home.
const (
	gatewayDir  = "gateway"
	addressName = "address.json"
	tokensName  = "tokens.json"
	socketName  = "gateway.sock"
)

// SocketPath is where the socket of a home is if nobody says otherwise. It is
// in the home itself, since the paths of sockets must be short; the settings
// have the same default.
func SocketPath(home string) string { return filepath.Join(home, socketName) }

// TokensPath is where the tokens of a home are.
func TokensPath(home string) string { return filepath.Join(home, gatewayDir, tokensName) }

// Serve serves a gateway until ctx ends, and then lets it go: nothing new is
// taken, who listens is told, and what runs may finish for as long as Grace. It
// returns when all is over; nil if it ended as it was asked to.
//
// A second gateway on the same home is refused with ErrLocked.
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
	if o.Hold == nil {
		hold, err := TakeHold(s.fs, o.Home, "gateway")
		if err != nil {
			return err
		}
		defer hold.Release()
		s.Hold = hold
	}
	if err := s.listen(ctx); err != nil {
		return fmt.Errorf("serve the home %s: %w", o.Home, err)
	}
	return s.serve(ctx)
}

// server is a gateway that is being served.
type server struct {
	ServeOptions
	log     *slog.Logger
	fs      vfs.FS
	address Address
	socket  net.Listener
	tcp     net.Listener
	// sockets are all listeners on the socket: there is a second one after its
	// file was deleted. own is the file that the latest is reached by.
	sockets []net.Listener
	own     vfs.Info
}

// listen opens the doors and writes down where they are, if it can.
func (s *server) listen(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			s.shut()
		}
	}()
	if s.Socket == "" && s.TCP == "" {
		return fmt.Errorf("neither a socket nor an address was named: %w", firn.ErrInvalid)
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
		// There is still all to be read on a disk that is full.
		s.log.Warn("where the gateway listens could not be written down", "error", err.Error())
	}
	return nil
}

// writeAddress writes down where the doors are.
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

// listenTCP listens on an address of this machine.
func (s *server) listenTCP(ctx context.Context) error {
	host, _, err := net.SplitHostPort(s.TCP)
	if err != nil {
		return fmt.Errorf("the address %q makes no sense: want host:port: %w", s.TCP, firn.ErrInvalid)
	}
	if ip := net.ParseIP(host); !s.Remote && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("others than this machine would reach %s, and nobody allowed that: %w", s.TCP, firn.ErrInvalid)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", s.TCP)
	if err != nil {
		return err
	}
	s.tcp = l
	return nil
}

// maxSocketPath is how long the path of a socket can be on all systems.
const maxSocketPath = 103

// listenSocket listens on the socket, for the owner alone. A socket that a
// gateway left behind when it was killed is taken away; one that somebody
// answers on is not.
func (s *server) listenSocket(ctx context.Context) error {
	if len(s.Socket) > maxSocketPath {
		return fmt.Errorf("the path of the socket, %s, has more than %d bytes: %w: set a shorter one", s.Socket, maxSocketPath, firn.ErrInvalid)
	}
	if err := s.fs.MkdirAll(filepath.Dir(s.Socket)); err != nil {
		return err
	}
	if err := s.clear(ctx); err != nil {
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

// clear takes away a socket that nobody answers on.
func (s *server) clear(ctx context.Context) error {
	info, err := s.fs.Stat(s.Socket)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode.IsRegular() || info.Mode.IsDir() {
		return fmt.Errorf("%s is there, and is no socket: %w", s.Socket, firn.ErrInvalid)
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "unix", s.Socket)
	if err == nil {
		conn.Close()
		return fmt.Errorf("somebody answers on the socket %s: %w", s.Socket, firn.ErrLocked)
	}
	var slow net.Error
	if ctx.Err() != nil || errors.As(err, &slow) && slow.Timeout() {
		return err // which says nothing about whether a process listens
	}
	if now, err := s.fs.Stat(s.Socket); errors.Is(err, fs.ErrNotExist) || err == nil && !now.Same(info) {
		return nil // another process is at it; listening there tells
	}
	if err := s.fs.Remove(s.Socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("take away the socket that was left behind: %w", err)
	}
	return nil
}

// serve answers until ctx ends.
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
		ConnState:         noteState,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 2)
	doors := 0
	onSocket := s.crowdOf(s.socket, true)
	for _, c := range []*crowd{onSocket, s.crowdOf(s.tcp, false)} {
		if c.Listener != nil {
			doors++
			go func() { ended <- srv.Serve(c) }()
		}
	}
	watched := s.watch(srv, onSocket)
	s.log.Info("the gateway listens", "socket", s.address.Socket, "tcp", s.address.TCP, "pid", s.address.PID)
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
	s.shut()
	return err
}

// crowdOf bounds the connections of a listener: the socket has room of its own.
func (s *server) crowdOf(l net.Listener, owned bool) *crowd {
	c := &crowd{Listener: l, owned: owned, patience: cmp.Or(s.StrangerTimeout, 5*time.Second), refused: s.refused}
	if owned {
		c.guests.limit = cmp.Or(s.SocketConnections, 1024)
		return c
	}
	all := cmp.Or(s.Connections, 2048)
	c.strangers.limit = max(1, min(cmp.Or(s.Strangers, 256), all/4))
	c.guests.limit = max(1, all-c.strangers.limit)
	return c
}

// refused counts a connection that was closed before it was served.
func (s *server) refused(reason string) {
	if s.Refused != nil {
		s.Refused(reason)
	}
}

// drain lets the gateway go.
func (s *server) drain(srv *http.Server, stop context.CancelCauseFunc) error {
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(s.Grace, 30*time.Second))
	defer cancel()
	s.log.Info("the gateway is shutting down")
	if h, ok := s.Handler.(interface{ Drain() }); ok {
		h.Drain()
	}
	srv.SetKeepAlivesEnabled(false) // who was answered, or told, need not stay
	var err error
	if s.Close != nil {
		err = s.Close(ctx)
	}
	// What is left are answers on their way, and clients that are slow to take
	// them.
	late, cancelLate := context.WithTimeout(context.Background(), lastWords)
	defer cancelLate()
	if srv.Shutdown(late) != nil {
		stop(gateway.ErrDraining)
		again, cancelAgain := context.WithTimeout(context.Background(), lastWords)
		defer cancelAgain()
		if srv.Shutdown(again) != nil {
			srv.Close() //nolint:errcheck // nothing is left to be done about it
		}
	}
	if err != nil {
		return fmt.Errorf("let the gateway go: %w", err)
	}
	return nil
}

// lastWords is how long clients may take to read what is left once nothing runs
// any more.
const lastWords = 2 * time.Second

// shut closes the listeners and removes the socket, if it is still ours, and the
// address.
func (s *server) shut() {
	for _, l := range append(s.sockets, s.tcp) {
		if l != nil {
			l.Close()
		}
	}
	if there, err := s.fs.Stat(s.Socket); len(s.sockets) > 0 && err == nil && there.Same(s.own) {
		_ = s.fs.Remove(s.Socket) // one that is left behind is found to be dead
	}
	if s.address.Address != "" {
		_ = s.fs.Remove(filepath.Join(s.Home, gatewayDir, addressName)) // a stale one is found to be one
	}
}
