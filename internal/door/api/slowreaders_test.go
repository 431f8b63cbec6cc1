package api_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/door/api"
	"firn.dev/store"
	"firn.dev/wire"
)

var noQuery client.Query

// bigSession creates a session with one long line, besides small ones.
func bigSession(t *testing.T, h *realServer, bytes int) firn.ID {
	t.Helper()
	made, err := h.owner.NewSession(t.Context(), wire.NewSession{Agent: "main", Title: "big"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"first", strings.Repeat("a <line> é ", bytes/12), "last"} {
		if _, err := h.owner.Append(t.Context(), made.ID, store.Any, wire.NewEntries{User: text}); err != nil {
			t.Fatal(err)
		}
	}
	return made.ID
}

// openStalled opens connections that send a request and never read.
func openStalled(t *testing.T, network, address, target, token string, n int) []net.Conn {
	t.Helper()
	conns := make([]net.Conn, n)
	for i := range conns {
		conn, err := net.Dial(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if tcp, ok := conn.(*net.TCPConn); ok {
			tcp.SetReadBuffer(4 << 10) //nolint:errcheck // smaller is meaner
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", target, token)
		conns[i] = conn
	}
	return conns
}

// heapNow returns the heap in use after garbage collection.
func heapNow() int64 {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// settledHeap returns the heap in use when it no longer changes: requests of an earlier part
// may still be ending.
func settledHeap() int64 {
	last := heapNow()
	for same := 0; same < 5; {
		time.Sleep(50 * time.Millisecond)
		now := heapNow()
		if same++; max(now-last, last-now) > 1<<20 {
			same = 0
		}
		last = now
	}
	return last
}

// TestStalledClientsAreBounded checks that 60 clients that request a line of 15 MB through
// every operation and never read it use at most 100 MB together. The owner on the socket
// and another token are served meanwhile.
func TestStalledClientsAreBounded(t *testing.T) {
	h := openRealServerWith(t, shortDir(t), func(c *api.Config, _ *api.ServeOptions) { c.MaxBody = 64 << 20 })
	id := bigSession(t, h, 15<<20)
	var tokens []string
	for _, name := range []string{"a", "b", "other"} {
		made, err := h.tokens.Create(t.Context(), wire.NewToken{Name: name, Scope: wire.ScopeRead})
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, made.Secret)
	}
	path := "/v1/sessions/" + string(id)
	for _, target := range []string{path + "/entries", path + "/entries?as=text", path + "/entries?view=branch&back=true", path + "/export?format=html", path + "/window", path + "/events"} {
		t.Run(strings.TrimPrefix(target, path), func(t *testing.T) {
			conn, err := net.Dial("unix", h.Socket) // makes sure the request is being answered
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", target)
			answer := bufio.NewReader(conn)
			if line, err := answer.ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
				t.Fatalf("%q, %v", line, err)
			}
			io.CopyN(io.Discard, answer, 15<<20) //nolint:errcheck // a response that is being built counts below
			conn.Close()
			before := settledHeap()
			most := int64(0)
			conns := openStalled(t, "tcp", h.TCP, target, tokens[0], 30)
			conns = append(conns, openStalled(t, "tcp", h.TCP, target, tokens[1], 30)...)
			for range 20 {
				fresh, _ := ask(t, h.TCP, tokens[2])
				fresh.Close()
				if _, err := h.owner.Session(t.Context(), string(id)); err != nil {
					t.Fatalf("the owner: %v", err)
				}
				// Memory allocated during a collection is counted although it may be garbage.
				// Memory in use is counted in each of several collections.
				most = max(most, min(heapNow(), heapNow(), heapNow())-before)
			}
			if most > 100<<20 {
				t.Errorf("%d MB were used", most>>20)
			}
			t.Logf("%d MB were used", most>>20)
			for _, conn := range conns {
				conn.Close()
			}
			if page, err := h.owner.SessionsPage(t.Context(), noQuery); err != nil || len(page.Items) == 0 {
				t.Errorf("the owner: %v", err)
			}
		})
	}
}

// TestLargePage checks that a streamed page has the same content as a buffered one.
func TestLargePage(t *testing.T) {
	h := openRealServerWith(t, shortDir(t), func(c *api.Config, _ *api.ServeOptions) { c.MaxBody = 64 << 20 })
	id := bigSession(t, h, 1<<20)
	made, err := h.tokens.Create(t.Context(), wire.NewToken{Name: "t", Scope: wire.ScopeRead})
	if err != nil {
		t.Fatal(err)
	}
	for _, as := range []string{"", "?as=text"} {
		for _, packed := range []bool{false, true} {
			r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+h.TCP+"/v1/sessions/"+string(id)+"/entries"+as, nil)
			r.Header.Set("Authorization", "Bearer "+made.Secret)
			transport := &http.Transport{DisableCompression: !packed}
			defer transport.CloseIdleConnections()
			answer, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			var page wire.Page[wire.Entry]
			decoder := json.NewDecoder(answer.Body)
			if err := decoder.Decode(&page); err != nil || len(page.Items) < 4 {
				t.Fatalf("%s: %d entries, %v", as, len(page.Items), err)
			}
			if rest, err := io.ReadAll(answer.Body); err != nil || strings.TrimSpace(string(rest)) != "" {
				t.Errorf("%s: after it is %q, %v", as, rest, err)
			}
			answer.Body.Close()
			got := strings.Join(onDisk(t, h, id), "\n")
			for i, e := range page.Items {
				line := string(e.Line) + e.Text
				if line == "" || !strings.Contains(got, line) || e.N == 0 && i > 0 {
					t.Errorf("%s: entry %d is not that on disk: %.60q", as, i, line)
				}
			}
		}
	}
}

// TestResponseWaitsForMemory checks that a response waiting for memory proceeds as soon as a
// stalled client times out.
func TestResponseWaitsForMemory(t *testing.T) {
	h := openRealServerWith(t, shortDir(t), func(c *api.Config, _ *api.ServeOptions) {
		c.MaxBody, c.AnswerMemory, c.Patience, c.WriteTimeout = 64<<20, 16<<20, 50*time.Millisecond, time.Hour
	})
	id := bigSession(t, h, 15<<20)
	made, err := h.tokens.Create(t.Context(), wire.NewToken{Name: "t", Scope: wire.ScopeRead})
	if err != nil {
		t.Fatal(err)
	}
	target := "/v1/sessions/" + string(id) + "/entries"
	openStalled(t, "tcp", h.TCP, target, made.Secret, 5)
	conn, err := net.Dial("tcp", h.TCP)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", target, made.Secret)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, answer.Body); err != nil || n < 15<<19 {
		t.Errorf("%s with %d bytes, %v", answer.Status, n, err)
	}
}
