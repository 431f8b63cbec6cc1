//go:build unix

package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"firn.dev"
	"firn.dev/internal/ops/mcpclient"
	"firn.dev/tool"
)

// clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// server returns this test binary as a server.
func server(t *testing.T, mode string, env ...string) mcpclient.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcpclient.Server{
		Name: "test", Command: self, Env: append([]string{modeVariable + "=" + mode, "PATH=" + os.Getenv("PATH")}, env...),
		Wait: time.Minute, StartTimeout: time.Minute, Timeout: time.Minute,
	}
}

func pool(t *testing.T) (*mcpclient.Pool, *clock) {
	c := &clock{at: time.Unix(1e9, 0)}
	p := mcpclient.NewPool("1", nil, c.now)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, c
}

// ready returns the tools of a group, by name.
func ready(t *testing.T, g *mcpclient.Group) map[string]tool.Tool {
	t.Helper()
	tools, problems := g.Tools(t.Context())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return byName(tools)
}

func byName(tools []tool.Tool) map[string]tool.Tool {
	m := make(map[string]tool.Tool)
	for _, x := range tools {
		m[x.Spec().Name] = x
	}
	return m
}

// call calls a tool that succeeds.
func call(t *testing.T, x tool.Tool, arguments string) string {
	t.Helper()
	r, err := x.Run(t.Context(), json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	return firn.JoinText(r.Parts)
}

// fails calls a tool that fails with a sentence.
func fails(t *testing.T, x tool.Tool, want string) {
	t.Helper()
	if _, err := x.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("got %v, want %q", err, want)
	}
}

func TestCalls(t *testing.T) {
	p, _ := pool(t)
	g := p.Group([]mcpclient.Server{server(t, "banner")})
	if s := g.Status(); s[0].State != mcpclient.Idle {
		t.Errorf("a server that was not used is %s", s[0].State)
	}
	tools := ready(t, g)
	if got := call(t, tools["mcp__test__echo"], `{"text":"hello"}`); got != "hello" {
		t.Errorf("echo: %q", got)
	}
	if got := call(t, tools["mcp__test__big"], ""); len(got) > 1<<20+100 || !strings.Contains(got, "cut at 1048576 bytes") {
		t.Errorf("a big result has %d bytes", len(got))
	}
	if got := call(t, tools["mcp__test__structured"], ""); got != `{"answer":42}` {
		t.Errorf("structured: %q", got)
	}
	r, err := tools["mcp__test__fail"].Run(t.Context(), nil)
	if err != nil || !r.IsError || firn.JoinText(r.Parts) != "no such thing" {
		t.Errorf("fail: %v %v", r, err)
	}
	var progress []string
	ctx := tool.WithProgress(t.Context(), func(s string) { progress = append(progress, s) })
	if _, err := tools["mcp__test__progress"].Run(ctx, nil); err != nil {
		t.Error(err)
	}
	r, err = tools["mcp__test__mixed"].Run(t.Context(), nil)
	want := "a text\n[image image/svg+xml, 3 bytes, left out]\n[audio audio/wav, 3 bytes, left out]\n[a](file:///a)\n<resource uri=\"x:y\">\ninside\n</resource>\n[resource x:z, application/zip, 3 bytes, left out]"
	if got := firn.JoinText(r.Parts); err != nil || got != want || len(r.Parts) != 2 || string(r.Details) != `{"structured":{"n":1}}` {
		t.Errorf("mixed: %q, %d parts, details %s, %v", got, len(r.Parts), r.Details, err)
	}
	if s := g.Status(); s[0].State != mcpclient.Ready || !slices.Contains(s[0].Tools, "mcp__test__echo") {
		t.Errorf("the status is %+v", s)
	}
}

// TestEnvironmentIsLimited checks that a server gets the variables of its description only.
func TestEnvironmentIsLimited(t *testing.T) {
	t.Setenv("FIRN_TEST_SECRET", "hush")
	p, _ := pool(t)
	tools := ready(t, p.Group([]mcpclient.Server{server(t, "plain", "GIVEN=yes")}))
	got := call(t, tools["mcp__test__env"], "")
	if strings.Contains(got, "hush") || !strings.Contains(got, "GIVEN=yes") {
		t.Errorf("the environment is %s", got)
	}
}

// TestDiesAndRestarts checks that a server that dies fails its call, and that the next call
// starts it again, later and later if it keeps dying.
func TestDiesAndRestarts(t *testing.T) {
	p, clock := pool(t)
	tools := ready(t, p.Group([]mcpclient.Server{server(t, "plain")}))
	die, pid := tools["mcp__test__die"], tools["mcp__test__pid"]
	first := call(t, pid, "")
	fails(t, die, "the MCP server test stopped: it exited with exit status 4: out of cheese")
	second := call(t, pid, "")
	if first == second {
		t.Error("the server was not restarted")
	}
	fails(t, die, "out of cheese")
	fails(t, die, "out of cheese") // the second failure in a row
	fails(t, pid, "it can be started again in 1s")
	clock.advance(time.Second)
	call(t, pid, "")
}

func TestDoesNotStart(t *testing.T) {
	for mode, want := range map[string]string{
		"dead":    "the MCP server test did not start: it exited with exit status 3: the license has expired",
		"garbage": "the MCP server test did not start: it sent a line that is not a message of the protocol: { this is no message",
	} {
		t.Run(mode, func(t *testing.T) {
			p, _ := pool(t)
			other := server(t, "plain")
			other.Name = "other"
			g := p.Group([]mcpclient.Server{server(t, mode), other})
			tools, problems := g.Tools(t.Context())
			if len(problems) != 1 || problems[0] != want {
				t.Errorf("the problems are %q", problems)
			}
			if byName(tools)["mcp__other__echo"] == nil {
				t.Error("the other server has no tools")
			}
			if s := g.Status(); s[1].State != mcpclient.Failed || s[1].Problem != want {
				t.Errorf("the status is %+v", s[1])
			}
		})
	}
	p, _ := pool(t)
	_, problems := p.Group([]mcpclient.Server{{Name: "x", Command: "/does/not/exist"}, {Name: "y", URL: "http://h", Problem: "no token"}}).Tools(t.Context())
	if len(problems) != 2 || !strings.Contains(problems[0], "no such file") || problems[1] != "the MCP server y cannot be used: no token" {
		t.Errorf("the problems are %q", problems)
	}
}

// TestSilentServer checks that a server that never answers costs its timeout, not more.
func TestSilentServer(t *testing.T) {
	p, _ := pool(t)
	s := server(t, "silent")
	s.StartTimeout = 100 * time.Millisecond
	if _, problems := p.Group([]mcpclient.Server{s}).Tools(t.Context()); len(problems) != 1 || !strings.Contains(problems[0], "did not answer within 100ms") {
		t.Errorf("the problems are %q", problems)
	}
}

// TestSlowStart checks that a turn does not wait longer than the setting says, and has the
// tools later.
func TestSlowStart(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	p, _ := pool(t)
	s := server(t, "gate", "GATE="+gate)
	s.Wait = time.Millisecond
	g := p.Group([]mcpclient.Server{s})
	tools, problems := g.Tools(t.Context())
	if len(tools) != 0 || len(problems) != 1 || !strings.Contains(problems[0], "still starting") {
		t.Fatalf("%d tools, problems %q", len(tools), problems)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return len(g.Known()) > 0 })
}

// waitUntil waits for a state.
func waitUntil(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(end) {
			t.Fatal("it did not happen within a minute")
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// TestGarbageInACall checks that a server that sends garbage fails the call, and works again
// after a restart.
func TestGarbageInACall(t *testing.T) {
	p, _ := pool(t)
	tools := ready(t, p.Group([]mcpclient.Server{server(t, "plain")}))
	fails(t, tools["mcp__test__garbage"], `it sent a line that is not a message of the protocol: {"jsonrpc": nonsense`)
	if got := call(t, tools["mcp__test__echo"], `{"text":"again"}`); got != "again" {
		t.Errorf("echo: %q", got)
	}
}

// TestCancelReachesTheServer checks that the server is notified of a canceled call.
func TestCancelReachesTheServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "canceled")
	p, _ := pool(t)
	tools := ready(t, p.Group([]mcpclient.Server{server(t, "plain")}))
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	go func() {
		waitFile(file + ".started")
		cancel(stop)
	}()
	if _, err := tools["mcp__test__hang"].Run(ctx, json.RawMessage(`{"file":"`+file+`"}`)); !errors.Is(err, stop) {
		t.Errorf("the error is %v", err)
	}
	waitFile(file)
	if got := call(t, tools["mcp__test__echo"], `{"text":"still here"}`); got != "still here" {
		t.Errorf("echo: %q", got)
	}
}

// TestFrozenServer checks that a call of a server that hangs ends at its timeout, and that the
// server is killed and started again.
func TestFrozenServer(t *testing.T) {
	p, _ := pool(t)
	s := server(t, "plain")
	s.Timeout = 300 * time.Millisecond
	tools := ready(t, p.Group([]mcpclient.Server{s}))
	pid := call(t, tools["mcp__test__pid"], "")
	fails(t, tools["mcp__test__freeze"], "the MCP server test did not answer within 300ms")
	if again := call(t, tools["mcp__test__pid"], ""); again == pid {
		t.Error("the frozen server still answers")
	}
	n, _ := strconv.Atoi(pid)
	waitUntil(t, func() bool { return errors.Is(syscall.Kill(n, 0), syscall.ESRCH) })
}

// TestListChanges checks that tools which a server adds are taken over.
func TestListChanges(t *testing.T) {
	p, _ := pool(t)
	g := p.Group([]mcpclient.Server{server(t, "plain")})
	tools := ready(t, g)
	call(t, tools["mcp__test__grow"], "")
	waitUntil(t, func() bool { return byName(g.Known())["mcp__test__grown"] != nil })
	if got := call(t, byName(g.Known())["mcp__test__grown"], ""); got != "new" {
		t.Errorf("grown: %q", got)
	}
}

// TestSelectedTools checks the settings about tools.
func TestSelectedTools(t *testing.T) {
	p, _ := pool(t)
	s := server(t, "plain")
	s.Allow, s.Deny, s.TrustReadOnly = []string{"e*", "fail"}, []string{"env"}, true
	tools := ready(t, p.Group([]mcpclient.Server{s}))
	if len(tools) != 2 || !tools["mcp__test__echo"].(tool.ReadOnly).ReadOnly() || tools["mcp__test__fail"].(tool.ReadOnly).ReadOnly() {
		t.Errorf("the tools are %v", tools)
	}
	s.TrustReadOnly = false
	tools = ready(t, p.Group([]mcpclient.Server{s}))
	if tools["mcp__test__echo"].(tool.ReadOnly).ReadOnly() {
		t.Error("the hint of a server is trusted")
	}
}

// TestCloseEndsTheGroup checks that the children of a server end with it.
func TestCloseEndsTheGroup(t *testing.T) {
	p := mcpclient.NewPool("1", nil, time.Now)
	tools := ready(t, p.Group([]mcpclient.Server{server(t, "plain")}))
	child, err := strconv.Atoi(call(t, tools["mcp__test__child"], ""))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return gone(child) })
	fails(t, tools["mcp__test__echo"], "the MCP server test was stopped")
}

// gone reports whether a process has ended; as a zombie it may wait for its parent.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// TestRetain checks that servers that no group uses are stopped, and that the others continue.
func TestRetain(t *testing.T) {
	p, _ := pool(t)
	other := server(t, "plain")
	other.Name = "other"
	both := p.Group([]mcpclient.Server{server(t, "plain"), other})
	tools := ready(t, both)
	pid := call(t, tools["mcp__test__pid"], "")
	one := p.Group([]mcpclient.Server{server(t, "plain")})
	p.Retain(one)
	if !both.Covers(one) || one.Covers(both) {
		t.Error("the groups are not compared by their servers")
	}
	waitUntil(t, func() bool {
		_, err := tools["mcp__other__pid"].Run(t.Context(), nil)
		return err != nil && strings.Contains(err.Error(), "was stopped")
	})
	if call(t, tools["mcp__test__pid"], "") != pid {
		t.Error("the server that stays was restarted")
	}
}

// TestHTTP checks a server over HTTP, its headers, and one that rejects the token.
func TestHTTP(t *testing.T) {
	s := sdk.NewServer(&sdk.Implementation{Name: "web", Version: "1"}, nil)
	addTools(s)
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Authorization") != "Bearer right" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, q)
	}))
	defer web.Close()
	p, _ := pool(t)
	defer p.Close() // before the web server, which waits for its connections
	with := func(name, token string) mcpclient.Server {
		return mcpclient.Server{Name: name, URL: web.URL, Header: http.Header{"Authorization": {"Bearer " + token}}}
	}
	tools, problems := p.Group([]mcpclient.Server{with("good", "right"), with("bad", "wrong")}).Tools(t.Context())
	if len(problems) != 1 || !strings.Contains(problems[0], "the MCP server bad did not start: ") || !strings.Contains(problems[0], "Unauthorized") {
		t.Errorf("the problems are %q", problems)
	}
	if got := call(t, byName(tools)["mcp__good__echo"], `{"text":"over HTTP"}`); got != "over HTTP" {
		t.Errorf("echo: %q", got)
	}
}
