//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// crowd is the number of concurrent hanging connections: more than a gateway accepts.
const crowd = 2200

// hangings are the partial requests that connections without a token send before they hang.
var hangings = []string{
	"", "GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
	"POST /v1/inbound HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"text\":",
	"GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}

// hungConnections opens and holds TCP connections that send a partial request or nothing.
// Clients of the socket must be served meanwhile.
func (s *soak) hungConnections() error {
	var conns []net.Conn
	defer func() {
		for _, conn := range conns {
			conn.Close()
		}
	}()
	for n := range crowd {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.gateway.port))
		if err != nil {
			return fmt.Errorf("connection %d: %w", n, err)
		}
		conns = append(conns, conn)
		io.WriteString(conn, hangings[n%len(hangings)]) //nolint:errcheck // it may be closed already
		if n%100 == 99 {
			if err := s.served(); err != nil {
				s.ledger.complain("with %d hanging connections: %v", n+1, err)
			}
		}
	}
	s.rest(context.Background(), min(s.Pause, 6*time.Second))
	return nil
}

// deafReaders requests sessions and events through the socket, and does not read the
// responses.
func (s *soak) deafReaders() error {
	page, err := s.onSocket("/v1/sessions?limit=20")
	if err != nil {
		return err
	}
	var found struct{ Items []struct{ ID string } }
	if err := json.Unmarshal(page, &found); err != nil || len(found.Items) == 0 {
		return errors.Join(errors.New("there are no sessions to read"), err)
	}
	var conns []net.Conn
	defer func() {
		for _, conn := range conns {
			conn.Close()
		}
	}()
	for n := range 120 {
		conn, err := net.Dial("unix", s.gateway.socket)
		if err != nil {
			return err
		}
		conns = append(conns, conn)
		what := [...]string{"entries?limit=1000", "events", "window"}[n%3]
		request := fmt.Sprintf("GET /v1/sessions/%s/%s HTTP/1.1\r\nHost: x\r\n\r\n", found.Items[n%len(found.Items)].ID, what)
		conn.SetWriteDeadline(time.Now().Add(patience))            //nolint:errcheck // it can
		io.WriteString(conn, strings.Repeat(request, 1+n%3*(n%2))) //nolint:errcheck // it may be closed already
	}
	if err := s.served(); err != nil {
		s.ledger.complain("with stalled readers: %v", err)
	}
	s.rest(context.Background(), min(s.Pause, 6*time.Second))
	return nil
}

// served checks that a request through the socket is answered.
func (s *soak) served() error {
	_, err := s.onSocket("/v1/agents")
	return err
}

// onSocket sends a request through a new connection to the socket.
func (s *soak) onSocket(target string) ([]byte, error) {
	conn, err := net.Dial("unix", s.gateway.socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience)) //nolint:errcheck // it can
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", target)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the answer is %s: %s", answer.Status, body)
	}
	return body, err
}
