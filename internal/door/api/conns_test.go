package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"firn.dev/client"
	"firn.dev/internal/door/api"
	"firn.dev/wire"
)

// hangs are incomplete requests of clients without a token. The rest is never sent.
var hangs = map[string]string{
	"nothing":                 "",
	"a byte":                  "G",
	"half a head":             "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
	"half a body":             "POST /v1/inbound HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"text\":",
	"half a body in chunks":   "POST /v1/inbound HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"tex",
	"half a login":            "POST /v1/login HTTP/1.1\r\nHost: localhost\r\nX-Firn: web\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"code\":",
	"kept alive after a 401":  "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"kept alive, healthy":     "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"a wrong token":           "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer firn_wrong\r\n\r\n",
	"a TLS hello":             "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03garbage",
	"HTTP/1.0":                "GET /v1/models HTTP/1.0\r\nConnection: keep-alive\r\n",
	"pipelined, never read":   strings.Repeat("GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n", 50),
	"an upgrade":              "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	"expecting to go on":      "POST /v1/inbound HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 500\r\nExpect: 100-continue\r\n\r\n",
	"events without a token":  "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n",
	"a hook with a signature": "POST /v1/hooks/x HTTP/1.1\r\nHost: localhost\r\nX-Hub-Signature-256: sha256=00\r\nContent-Length: 500\r\n\r\n{",
}

// hang opens connections that send an incomplete request.
func hang(t *testing.T, address, request string, n int) []net.Conn {
	t.Helper()
	conns := make([]net.Conn, n)
	for i := range conns {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		t.Cleanup(func() { conn.Close() })
		io.WriteString(conn, request) //nolint:errcheck // it may be closed already
		conns[i] = conn
	}
	return conns
}

// TestUnauthenticatedConnectionsDoNotBlock checks that hanging connections without a token,
// of every kind and beyond the limits, do not block the owner's socket or connections with a
// token, including new ones.
func TestUnauthenticatedConnectionsDoNotBlock(t *testing.T) {
	for name, request := range hangs {
		t.Run(name, func(t *testing.T) {
			h := openRealServerWith(t, shortDir(t), func(_ *api.Config, o *api.ServeOptions) {
				// Nothing times out, so only the limits can help.
				o.Connections, o.HeaderTimeout, o.IdleTimeout, o.StrangerTimeout = 64, time.Hour, time.Hour, time.Hour
			})
			made, err := h.tokens.Create(t.Context(), wire.NewToken{Name: "t", Scope: wire.ScopeRead})
			if err != nil {
				t.Fatal(err)
			}
			kept, keptIn := ask(t, h.TCP, made.Secret)
			served := func() {
				t.Helper()
				if _, err := h.owner.Models(t.Context()); err != nil {
					t.Errorf("the owner: %v", err)
				}
				again(t, kept, keptIn, made.Secret)
				fresh, _ := ask(t, h.TCP, made.Secret)
				fresh.Close()
			}
			for range 4 {
				hang(t, h.TCP, request, 75)
				served()
			}
		})
	}
}

// ask opens a connection, sends a request with a token and reads the response.
func ask(t *testing.T, address, token string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	in := bufio.NewReader(conn)
	again(t, conn, in, token)
	return conn, in
}

// again sends a request on an open connection.
func again(t *testing.T, conn net.Conn, in *bufio.Reader, token string) {
	t.Helper()
	fmt.Fprintf(conn, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", token)
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatalf("a client with a token: %v", err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != 200 {
		t.Fatalf("a client with a token got %s, %v", answer.Status, err)
	}
}

// TestDisplacedConnectionGets503 checks that a displaced connection receives a 503 with
// Retry-After even in the middle of a request, and that a request completed afterwards is not
// executed.
func TestDisplacedConnectionGets503(t *testing.T) {
	h := openRealServerWith(t, shortDir(t), func(_ *api.Config, o *api.ServeOptions) {
		o.Connections, o.StrangerTimeout = 4, time.Hour // one stranger
	})
	made, err := h.tokens.Create(t.Context(), wire.NewToken{Name: "t", Scope: wire.ScopeWrite})
	if err != nil {
		t.Fatal(err)
	}
	first := hang(t, h.TCP, "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+made.Secret+"\r\nContent-Length: 0\r\n", 1)[0]
	conn, _ := ask(t, h.TCP, made.Secret) // displaces it
	conn.Close()
	io.WriteString(first, "\r\n") //nolint:errcheck // it may be closed already
	answer, err := http.ReadResponse(bufio.NewReader(first), nil)
	if err != nil || answer.StatusCode != 503 || answer.Header.Get("Retry-After") == "" {
		t.Errorf("it got %+v, %v", answer, err)
	}
	page, err := h.owner.SessionsPage(t.Context(), client.Query{})
	if err != nil || len(page.Items) != 0 {
		t.Errorf("after it was refused there are %d sessions, %v", len(page.Items), err)
	}
}

// TestUnauthenticatedConnectionsTimeOut checks that hanging strangers time out even without
// new connections.
func TestUnauthenticatedConnectionsTimeOut(t *testing.T) {
	h := openRealServerWith(t, shortDir(t), func(_ *api.Config, o *api.ServeOptions) { o.StrangerTimeout = 50 * time.Millisecond })
	for name, request := range hangs {
		conn := hang(t, h.TCP, request, 1)[0]
		if name == "pipelined, never read" {
			continue // this client does not read its response
		}
		if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnauthorizedBeforeBody checks that a request without a token is rejected before its body
// arrives.
func TestUnauthorizedBeforeBody(t *testing.T) {
	h := openRealServerWith(t, shortDir(t), func(_ *api.Config, o *api.ServeOptions) { o.StrangerTimeout = time.Hour })
	for _, name := range []string{"half a body", "half a body in chunks"} {
		conn := hang(t, h.TCP, hangs[name], 1)[0]
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode != 401 || !answer.Close {
			t.Errorf("%s: %+v, %v", name, answer, err)
		}
	}
}

// TestTCPLimitsDoNotAffectSocket checks that requests with a token that exhaust all limits
// do not affect the socket.
func TestTCPLimitsDoNotAffectSocket(t *testing.T) {
	s := newFakeServer(t, api.Config{Requests: 1, Streams: 1})
	at := serve(t, api.ServeOptions{Handler: s.http, TCP: "127.0.0.1:0", Socket: api.SocketPath(shortDir(t))})
	secret := s.token(wire.NewToken{Scope: wire.ScopeRead})
	inside, leave := make(chan struct{}), make(chan struct{})
	s.fake.hold = func() { inside <- struct{}{}; <-leave }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		r, _ := http.NewRequestWithContext(ctx, "GET", "http://"+at.TCP+"/v1/sessions/aaaa-1/tree", nil)
		r.Header.Set("Authorization", "Bearer "+secret)
		if answer, err := http.DefaultClient.Do(r); err == nil {
			answer.Body.Close()
		}
	}()
	<-inside
	s.fake.hold = nil
	own := dial(t, at.Socket, "GET /v1/sessions/aaaa-1/tree HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if line, err := own.ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
		t.Errorf("the owner got %q, %v", line, err)
	}
	close(leave)
}
