package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/door/api"
	"firn.dev/wire"
)

// TestBusy checks that requests beyond the limit are rejected immediately and that health
// checks are always answered. Turns and streams have separate limits.
func TestBusy(t *testing.T) {
	s := newFakeServer(t, api.Config{Requests: 3, Turns: 2, Streams: 1})
	inside, leave := make(chan struct{}), make(chan struct{})
	wait := func() {
		inside <- struct{}{}
		<-leave
	}
	s.fake.turn = func(context.Context, firn.ID, wire.Turn) (wire.Answer, error) {
		wait()
		return wire.Answer{}, nil
	}
	s.fake.hold = wait
	done := make(chan reply)
	fill := func(n int, method, target string) {
		for range n {
			go func() { done <- s.owner(method, target) }()
			<-inside
		}
		if got := s.owner(method, target); got.status != 429 || got.kind() != wire.Busy || got.head.Get("Retry-After") == "" {
			t.Errorf("one more %s: %d %s", target, got.status, got.body)
		}
	}
	fill(2, "POST", "/v1/sessions/aaaa-1/turns")
	if got := s.owner("GET", "/v1/models"); got.status != 200 {
		t.Errorf("while turns run: %d %s", got.status, got.body)
	}
	fill(3, "GET", "/v1/sessions/aaaa-1/tree")
	listening := s.listen(t.Context(), "GET", "/v1/events")
	if got := s.owner("GET", "/v1/events"); got.status != 429 {
		t.Errorf("one more listener: %d %s", got.status, got.body)
	}
	listening.Body.Close()
	for _, target := range []string{"/healthz", "/readyz"} {
		if got := s.owner("GET", target); got.status != 200 {
			t.Errorf("%s: %d", target, got.status)
		}
	}
	close(leave)
	for range 5 {
		if got := <-done; got.status != 200 {
			t.Errorf("those inside: %d", got.status)
		}
	}
	if got := s.owner("GET", "/v1/models"); got.status != 200 {
		t.Errorf("afterwards: %d", got.status)
	}
}

// TestSlowBody checks that a body sent byte by byte, or not at all, times out.
func TestSlowBody(t *testing.T) {
	s := newFakeServer(t, api.Config{BodyTimeout: 30 * time.Millisecond})
	server := httptest.NewServer(api.Owner(s.http))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /v1/sessions/aaaa-1/turns HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	all, err := io.ReadAll(conn) // ends because the server closes the connection
	if err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 408 ") || !strings.Contains(string(all), "timeout reading the request body") {
		t.Errorf("%v: %s", err, all)
	}
	if asked := s.fake.was(); len(asked) > 0 {
		t.Errorf("received %q", asked)
	}
}

// TestSlowAnswer checks that the body timeout does not limit the response.
func TestSlowAnswer(t *testing.T) {
	s := newFakeServer(t, api.Config{BodyTimeout: 300 * time.Millisecond})
	s.fake.turn = func(ctx context.Context, _ firn.ID, _ wire.Turn) (wire.Answer, error) {
		timer := time.NewTimer(900 * time.Millisecond) // three times the body timeout
		defer timer.Stop()
		select {
		case <-timer.C:
			return wire.Answer{Text: "at last"}, nil
		case <-ctx.Done():
			return wire.Answer{}, context.Cause(ctx)
		}
	}
	server := httptest.NewServer(api.Owner(s.http))
	defer server.Close()
	response, err := server.Client().Post(server.URL+"/v1/sessions/aaaa-1/turns", "application/json", strings.NewReader(`{"text":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); response.StatusCode != 200 || !strings.Contains(string(body), "at last") {
		t.Errorf("%d %s", response.StatusCode, body)
	}
}

// TestTooLargeHangsUp checks that the rest of an oversized body is not awaited.
func TestTooLargeHangsUp(t *testing.T) {
	s := newFakeServer(t, api.Config{MaxBody: 100})
	server := httptest.NewServer(api.Owner(s.http))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /v1/sessions/aaaa-1/turns HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000000000\r\n\r\n")
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 413 ") {
		t.Fatalf("%q %v", line, err)
	}
	if rest, err := io.ReadAll(in); err != nil || !strings.Contains(string(rest), "Connection: close") {
		t.Errorf("%v %s", err, rest)
	}
}
