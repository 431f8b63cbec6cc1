//go:build unix

package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"firn.dev/internal/ops/mcpclient"
)

// TestServerThatDoesNotRead checks that a call whose arguments do not fit into the pipe ends at
// its timeout and when it is canceled, and that the server is killed and started again after a
// timeout.
func TestServerThatDoesNotRead(t *testing.T) {
	large := json.RawMessage(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
	for _, canceled := range []bool{false, true} {
		p, _ := pool(t)
		s := server(t, "plain")
		if !canceled {
			s.Timeout = 5 * time.Second // the write must have begun before
		}
		tools := ready(t, p.Group([]mcpclient.Server{s}))
		pid, err := strconv.Atoi(call(t, tools["mcp__test__pid"], ""))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("enough")
		if canceled {
			time.AfterFunc(50*time.Millisecond, func() { cancel(stop) })
		}
		_, err = tools["mcp__test__echo"].Run(ctx, large)
		if canceled && !errors.Is(err, stop) || !canceled && (err == nil || !strings.Contains(err.Error(), "did not answer within 5s")) {
			t.Errorf("canceled %v: %v", canceled, err)
		}
		cancel(nil)
		if canceled { // possibly before the write, so that nothing is blocked
			continue
		}
		waitUntil(t, func() bool { return gone(pid) })
		if again := call(t, tools["mcp__test__pid"], ""); again == strconv.Itoa(pid) {
			t.Error("the server was not started again")
		}
	}
}

// TestRedirectsStayAtTheServer checks that a redirect to another server is refused, so that it
// gets neither headers nor arguments, and that one to the same server works.
func TestRedirectsStayAtTheServer(t *testing.T) {
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer other.Close()
	var moved atomic.Bool
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/here" {
			moved.Store(q.Header.Get("Authorization") == "Bearer right")
			http.Error(w, "no", http.StatusTeapot)
			return
		}
		to := map[string]string{"/away": other.URL, "/near": "/here"}[q.URL.Path]
		http.Redirect(w, q, to, http.StatusTemporaryRedirect)
	}))
	defer web.Close()
	p, _ := pool(t)
	defer p.Close() // before the web servers
	with := func(name, path string) mcpclient.Server {
		return mcpclient.Server{Name: name, URL: web.URL + path, Header: http.Header{"Authorization": {"Bearer right"}, "X-Key": {"k"}}}
	}
	_, problems := p.Group([]mcpclient.Server{with("away", "/away"), with("near", "/near")}).Tools(t.Context())
	if len(problems) != 2 || !strings.Contains(problems[0], "it redirects to another server") {
		t.Errorf("the problems are %q", problems)
	}
	if asked.Load() != 0 {
		t.Errorf("the other server got %d requests", asked.Load())
	}
	if !moved.Load() {
		t.Error("a redirect to the same server does not work")
	}
}

// TestEscapeSequencesOfServers checks that no text of a server can control the terminal.
func TestEscapeSequencesOfServers(t *testing.T) {
	p, _ := pool(t)
	g := p.Group([]mcpclient.Server{server(t, "escapes")})
	tools, problems := g.Tools(t.Context())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if len(tools) != 1 {
		t.Fatalf("the tools are %v", tools)
	}
	if got := tools[0].Spec().Description; got != "a ]0;title[2J tool" {
		t.Errorf("the description is %q", got)
	}
	if got := call(t, tools[0], ""); got != "red [31m\n\tred" {
		t.Errorf("the result is %q", got)
	}
	_, err := tools[0].Run(t.Context(), json.RawMessage(`{"text":"die"}`))
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\a\u009b") || !strings.Contains(err.Error(), "]52;c;evil") {
		t.Errorf("the error is %q", err)
	}
}
