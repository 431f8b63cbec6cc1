package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/door/api"
	"firn.dev/wire"
)

// served is a running server.
type served struct {
	api.Address
	home string
	stop context.CancelFunc
	done chan error
}

// serve runs a server in a home until the test ends.
func serve(t *testing.T, o api.ServeOptions) *served {
	t.Helper()
	s, err := tryServe(t, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryServe(t *testing.T, o api.ServeOptions) (*served, error) {
	t.Helper()
	if o.Home == "" {
		o.Home = shortDir(t)
	}
	if o.Socket == "" && o.TCP == "" {
		o.Socket = api.SocketPath(o.Home)
	}
	ctx, stop := context.WithCancel(t.Context())
	s := &served{home: o.Home, stop: stop, done: make(chan error, 1)}
	ready := make(chan api.Address, 1)
	o.Ready = func(a api.Address) { ready <- a }
	go func() { s.done <- api.Serve(ctx, o) }()
	select {
	case s.Address = <-ready:
		t.Cleanup(func() { s.end(t) })
		return s, nil
	case err := <-s.done:
		stop()
		return nil, err
	}
}

// end stops it, once, and waits.
func (s *served) end(t *testing.T) {
	s.stop()
	if err, ok := <-s.done; ok {
		close(s.done)
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	}
}

// shortDir returns a directory with a path short enough for sockets.
func shortDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "firn")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestServe(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	serve(t, api.ServeOptions{Handler: s.http, TCP: "127.0.0.1:0"})
	both := serve(t, api.ServeOptions{Handler: s.http, TCP: "127.0.0.1:0", Socket: filepath.Join(shortDir(t), "deep", "s.sock")})
	for path, perm := range map[string]os.FileMode{both.Socket: 0o600, filepath.Dir(both.Socket): 0o700, filepath.Join(both.home, "gateway", "address.json"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != perm {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
	data, err := os.ReadFile(filepath.Join(both.home, client.AddressFile))
	var written api.Address
	if err != nil || json.Unmarshal(data, &written) != nil || written != both.Address || written.PID != os.Getpid() {
		t.Errorf("the address is %s (%v), want %+v", data, err, both.Address)
	}
	found, ok := client.Find(t.Context(), both.home, nil)
	if !ok || found != "unix:"+both.Socket {
		t.Errorf("found %q", found)
	}
	// Socket clients are the owner; TCP clients need a token.
	c, err := client.New(client.Options{Address: found})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if models, err := c.Models(t.Context()); err != nil || len(models) != 1 {
		t.Errorf("%v %v", models, err)
	}
	secret := s.token(wire.NewToken{Scope: wire.ScopeRead})
	for token, kind := range map[string]wire.Kind{"": wire.NoToken, secret: ""} {
		c, err := client.New(client.Options{Address: "http://" + both.TCP, Token: token})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Models(t.Context()); (kind == "") != (err == nil) || err != nil && wire.KindOf(err) != kind {
			t.Errorf("over TCP: %v, want %s", err, kind)
		}
	}
	both.end(t)
	for _, path := range []string{both.Socket, filepath.Join(both.home, client.AddressFile)} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s was left over (%v)", path, err)
		}
	}
}

func TestServeRefuses(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	file := filepath.Join(shortDir(t), "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]api.ServeOptions{
		"the unspecified address":       {TCP: "0.0.0.0:0"},
		"the unspecified address, long": {TCP: "[::]:0"},
		"an address without a host":     {TCP: ":0"},
		"an address of the network":     {TCP: "192.0.2.1:7766"},
		"no address":                    {TCP: "7766"},
		"a name that is not ours":       {TCP: "example.org:7766"},
		"a socket that is a file":       {Socket: file},
		"a socket that is a directory":  {Socket: filepath.Dir(file)},
		"a long path":                   {Socket: filepath.Join(shortDir(t), strings.Repeat("x", 110))},
	} {
		o.Handler = s.http
		if at, err := tryServe(t, o); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%s: %v %v", name, at, err)
		}
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "precious" {
		t.Errorf("the file is %q, %v", data, err)
	}
}

// TestSecondGateway checks that a second gateway for a home is refused with an error that
// names the first.
func TestSecondGateway(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	first := serve(t, api.ServeOptions{Handler: s.http})
	_, err := tryServe(t, api.ServeOptions{Handler: s.http, Home: first.home, Socket: filepath.Join(shortDir(t), "other.sock")})
	if !errors.Is(err, firn.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) || !strings.Contains(err.Error(), "gateway") {
		t.Fatalf("the second: %v", err)
	}
	if _, err := api.LockHome(vfs.OS{}, first.home, "command"); wire.KindOf(err) != wire.Locked {
		t.Errorf("a command: %v", err)
	}
	if _, err := os.Stat(first.Socket); err != nil {
		t.Errorf("the first lost its socket: %v", err)
	}
	first.end(t)
	serve(t, api.ServeOptions{Handler: s.http, Home: first.home})
}

// TestHomeInUse checks that a command holding the home blocks a gateway, unless it hands
// over its hold.
func TestHomeInUse(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	home := shortDir(t)
	hold, err := api.LockHome(vfs.OS{}, home, "command")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tryServe(t, api.ServeOptions{Handler: s.http, Home: home}); !errors.Is(err, firn.ErrLocked) || !strings.Contains(err.Error(), "command") {
		t.Errorf("a gateway: %v", err)
	}
	serve(t, api.ServeOptions{Handler: s.http, Home: home, Lock: hold}).end(t)
	if err := hold.Release(); err != nil {
		t.Fatal(err)
	}
	serve(t, api.ServeOptions{Handler: s.http, Home: home})
}

// TestSocketLeftBehind checks that the socket of a killed gateway is replaced, and one with
// a listener is not.
func TestSocketLeftBehind(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	home := shortDir(t)
	path := api.SocketPath(home)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if _, err := tryServe(t, api.ServeOptions{Handler: s.http, Home: home}); !errors.Is(err, firn.ErrLocked) {
		t.Errorf("on a socket that is in use: %v", err)
	}
	l.Close()
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the socket is missing: %v", err)
	}
	at := serve(t, api.ServeOptions{Handler: s.http, Home: home})
	if found, ok := client.Find(t.Context(), at.home, nil); !ok {
		t.Errorf("found %q, %v", found, ok)
	}
	// Without an address file, the gateway is found by its default socket path.
	if err := os.Remove(filepath.Join(home, filepath.FromSlash(client.AddressFile))); err != nil {
		t.Fatal(err)
	}
	if found, ok := client.Find(t.Context(), home, nil); !ok || found != "unix:"+api.SocketPath(home) {
		t.Errorf("found %q, %v by its socket", found, ok)
	}
}

// TestDrain checks that at shutdown listeners are notified, running turns may finish, and
// new ones are rejected.
func TestDrain(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	running, finish := make(chan struct{}), make(chan struct{})
	s.fake.turn = func(context.Context, firn.ID, wire.Turn) (wire.Answer, error) {
		close(running)
		<-finish
		return wire.Answer{Text: "done"}, nil
	}
	closed := make(chan struct{})
	at := serve(t, api.ServeOptions{Handler: s.http, Close: func(ctx context.Context) error {
		close(closed)
		<-finish
		return ctx.Err()
	}})
	c, err := client.New(client.Options{Address: at.Address.Address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	listening := dial(t, at.Socket, "GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
	if line, err := listening.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%q %v", line, err)
	}
	answered := make(chan error, 1)
	go func() {
		a, err := c.Turn(t.Context(), "aaaa-1", wire.Turn{Text: "x"})
		if err == nil && a.Text != "done" {
			err = errors.New(a.Text)
		}
		answered <- err
	}()
	<-running
	at.stop()
	<-closed
	if rest, err := io.ReadAll(listening); err != nil || !strings.Contains(string(rest), "event: bye") {
		t.Errorf("the listener received %q, %v", rest, err)
	}
	close(finish)
	if err := <-answered; err != nil {
		t.Errorf("the turn that ran: %v", err)
	}
	at.end(t)
}

// TestDrainEnds checks that a hanging turn does not block the shutdown.
func TestDrainEnds(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	running := make(chan struct{})
	s.fake.stream = func(ctx context.Context) iter.Seq2[wire.Event, error] {
		return func(yield func(wire.Event, error) bool) {
			yield(wire.Event{Name: wire.TurnStarted}, nil)
			close(running)
			<-ctx.Done()
		}
	}
	at := serve(t, api.ServeOptions{Handler: s.http, Grace: time.Millisecond, Close: func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	}})
	conn := dial(t, at.Socket, "POST /v1/sessions/aaaa-1/turns HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
	<-running
	at.stop()
	if rest, err := io.ReadAll(conn); err != nil || !strings.Contains(string(rest), "event: bye") {
		t.Errorf("received %q, %v", rest, err)
	}
	at.end(t)
}

// dial sends bytes to a socket.
func dial(t *testing.T, socket, request string) *bufio.Reader {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	return bufio.NewReader(conn)
}

// TestSlowHeads checks that clients that never finish the request header time out, while
// others are served.
func TestSlowHeads(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	at := serve(t, api.ServeOptions{Handler: s.http, HeaderTimeout: 3 * time.Second})
	var slow []*bufio.Reader
	for range 20 {
		slow = append(slow, dial(t, at.Socket, "GET /v1/models HTTP/1.1\r\nHost: x\r\nX-A: "))
	}
	if _, ok := client.Find(t.Context(), at.home, nil); !ok {
		t.Error("others do not receive it")
	}
	for _, conn := range slow {
		if _, err := io.ReadAll(conn); err != nil {
			t.Errorf("it was not released: %v", err)
		}
	}
}

// TestLargeHead checks that an oversized header is rejected.
func TestLargeHead(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	at := serve(t, api.ServeOptions{Handler: s.http})
	conn := dial(t, at.Socket, "GET /healthz HTTP/1.1\r\nHost: x\r\n"+strings.Repeat("X-A: "+strings.Repeat("y", 1000)+"\r\n", 60)+"\r\n")
	if line, _ := conn.ReadString('\n'); !strings.Contains(line, "200") {
		t.Errorf("60 KB: %q", line)
	}
	conn = dial(t, at.Socket, "GET /healthz HTTP/1.1\r\nHost: x\r\n"+strings.Repeat("X-A: "+strings.Repeat("y", 1000)+"\r\n", 80)+"\r\n")
	if line, _ := conn.ReadString('\n'); !strings.Contains(line, "431") {
		t.Errorf("80 KB: %q", line)
	}
}

// TestSocketConnections checks that a full socket closes the connection idle longest with a
// response, and refuses the new one if none is idle.
func TestSocketConnections(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	inside, leave := make(chan struct{}), make(chan struct{})
	s.fake.turn = func(context.Context, firn.ID, wire.Turn) (wire.Answer, error) {
		inside <- struct{}{}
		<-leave
		return wire.Answer{}, nil
	}
	at := serve(t, api.ServeOptions{Handler: s.http, SocketConnections: 1})
	idle := dial(t, at.Socket, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := http.ReadResponse(idle, nil); err != nil {
		t.Fatal(err)
	}
	var busy *bufio.Reader
	var answered chan struct{}
	for admitted := false; !admitted; { // the first becomes idle a moment after its response
		conn, err := net.Dial("unix", at.Socket)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, "POST /v1/sessions/aaaa-1/turns HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") //nolint:errcheck // it may be refused already
		busy = bufio.NewReader(conn)
		answered = make(chan struct{})
		go func() { busy.Peek(1); close(answered) }() //nolint:errcheck // an answer or none
		select {
		case <-inside:
			admitted = true
		case <-answered:
			time.Sleep(time.Millisecond)
		}
	}
	for name, refused := range map[string]*bufio.Reader{"the idle one": idle, "one too many": dial(t, at.Socket, "")} {
		rest, err := io.ReadAll(refused)
		if answer := string(rest); err != nil || !strings.Contains(answer, " 503 ") || !strings.Contains(answer, "Retry-After: 1\r\n") {
			t.Errorf("%s got %q, %v", name, answer, err)
		}
	}
	close(leave)
	<-answered
	if line, err := http.ReadResponse(busy, nil); err != nil || line.StatusCode != 200 {
		t.Errorf("the one being served got %+v, %v", line, err)
	}
}

func TestReadiness(t *testing.T) {
	calls := 0
	fail := error(nil)
	s := newFakeServer(t, api.Config{Ready: func(context.Context) error { calls++; return fail }})
	if got := s.ask("GET", "/readyz"); got.status != 200 || !strings.Contains(got.body, "ready") {
		t.Errorf("%d %s", got.status, got.body)
	}
	for range 50 {
		s.ask("GET", "/readyz")
	}
	if calls > 5 {
		t.Errorf("the disk was accessed %d times", calls)
	}
	fail = fmt.Errorf("write to /home/me: %w", firn.ErrNotSaved)
	s = newFakeServer(t, api.Config{Ready: func(context.Context) error { return fail }})
	if got := s.ask("GET", "/readyz"); got.status != 503 || strings.Contains(got.body, "/home/me") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.owner("GET", "/readyz"); got.status != 503 || !strings.Contains(got.body, "/home/me") {
		t.Errorf("the owner: %d %s", got.status, got.body)
	}
}
