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
	"sync/atomic"
	"time"

	"firn"
	"firn/internal/gateway"
	"firn/internal/vfs"
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
	// request stays, zero means 2 minutes; Connections how many there may be,
	// zero means 1024.
	HeaderTimeout, IdleTimeout time.Duration
	Connections                int
	// Refused, if not nil, is told why somebody was cut off before asking
	// anything: there were too many, or they took too long.
	Refused func(reason string)
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
	var config net.ListenConfig
	l, err := config.Listen(ctx, "unix", s.Socket)
	if err != nil {
		return err
	}
	s.socket = l
	if err := vfs.OwnerOnly(s.Socket); err != nil {
		return fmt.Errorf("keep others from the socket: %w", err)
	}
	return nil
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
	if conn, err := dialer.DialContext(ctx, "unix", s.Socket); err == nil {
		conn.Close()
		return fmt.Errorf("somebody answers on the socket %s: %w", s.Socket, firn.ErrLocked)
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
		ConnContext:       ownConn,
		ConnState:         noteAsked,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	room := &gauge{limit: int64(cmp.Or(s.Connections, 1024))}
	ended := make(chan error, 2)
	doors := 0
	for _, l := range []net.Listener{s.socket, s.tcp} {
		if l != nil {
			doors++
			go func() { ended <- srv.Serve(&crowd{Listener: l, room: room, refused: s.refused}) }()
		}
	}
	s.log.Info("the gateway listens", "socket", s.address.Socket, "tcp", s.address.TCP, "pid", s.address.PID)
	if s.Ready != nil {
		s.Ready(s.address)
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
		doors--
	}
	err = errors.Join(err, s.drain(srv, stop))
	for range doors {
		<-ended
	}
	s.shut()
	return err
}

// refused counts somebody who was cut off.
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

// shut closes the doors and takes the address away.
func (s *server) shut() {
	for _, l := range []net.Listener{s.socket, s.tcp} {
		if l != nil {
			l.Close() // also takes the socket away
		}
	}
	if s.address.Address != "" {
		_ = s.fs.Remove(filepath.Join(s.Home, gatewayDir, addressName)) // a stale one is found to be one
	}
}

// ownConn marks requests that come through the socket as the owner's.
func ownConn(ctx context.Context, c net.Conn) context.Context {
	if held, ok := c.(*guest); ok {
		c = held.Conn
	}
	if _, ok := c.(*net.UnixConn); ok {
		return asOwner(ctx)
	}
	return ctx
}

// crowd is a listener that lets in so many at a time. Those beyond are cut off
// at once: to keep them waiting would help nobody.
type crowd struct {
	net.Listener
	room    *gauge
	refused func(reason string)
}

// Why somebody is cut off.
const (
	refusedCrowd = "connections"
	refusedSlow  = "slow"
)

// Accept implements [net.Listener].
func (c *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c.room.enter() {
			return &guest{Conn: conn, room: c.room, refused: c.refused}, nil
		}
		c.refused(refusedCrowd)
		conn.Close()
	}
}

// guest is a connection that was let in.
type guest struct {
	net.Conn
	room    *gauge
	refused func(reason string)
	// asked says that the head of a request has come.
	left, asked atomic.Bool
}

// noteAsked takes notice that a guest has asked something.
func noteAsked(c net.Conn, state http.ConnState) {
	if g, ok := c.(*guest); ok && state == http.StateActive {
		g.asked.Store(true)
	}
}

// Read implements [net.Conn]. Until something was asked, the only thing that
// runs out is the time for the first request.
func (g *guest) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) && !g.asked.Swap(true) {
		g.refused(refusedSlow)
	}
	return n, err
}

// Close implements [net.Conn].
func (g *guest) Close() error {
	if !g.left.Swap(true) {
		g.room.leave()
	}
	return g.Conn.Close()
}
