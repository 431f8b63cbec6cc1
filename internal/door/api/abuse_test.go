package api_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev/internal/base/basetest"
	"firn.dev/internal/door/api"
	"firn.dev/wire"
)

// abused is a real gateway on TCP with its log and metrics. Its sessions contain a secret
// that rejected requests must not reveal.
type abused struct {
	*testing.T
	*realServer
	log    *quiet
	tokens map[string]string
	// ours is a session of main, theirs one of work with a key.
	ours, theirs wire.Session
}

// quiet is a log safe for concurrent writers.
type quiet struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (q *quiet) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.all.Write(p)
}

func (q *quiet) String() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.all.String()
}

// whisper is the secret text in the sessions.
const whisper = "the password is tulip"

// newAbused starts the gateway. Timeouts are disabled unless patience is short.
func newAbused(t *testing.T, patience time.Duration) *abused {
	t.Helper()
	a := &abused{T: t, log: new(quiet), tokens: make(map[string]string)}
	log := slog.New(slog.NewTextHandler(a.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	a.realServer = openRealServerWith(t, shortDir(t), func(c *api.Config, o *api.ServeOptions) {
		c.Log, c.MaxBody, c.BodyTimeout, c.Requests = log, 1000, patience, 4
		o.Log, o.HeaderTimeout, o.StrangerTimeout, o.Connections = log, patience, basetest.Limit, 32
	})
	for name, n := range map[string]wire.NewToken{
		"read": {Scope: wire.ScopeRead}, "write": {Scope: wire.ScopeWrite}, "admin": {Scope: wire.ScopeAdmin}, "hook": {Scope: wire.ScopeHook},
		"of work": {Scope: wire.ScopeWrite, Agents: []string{"work"}}, "of a key": {Scope: wire.ScopeWrite, Keys: []string{"agent:work:telegram"}},
	} {
		n.Name = strings.ReplaceAll(name, " ", "-")
		made, err := a.realServer.tokens.Create(context.Background(), n)
		if err != nil {
			t.Fatal(err)
		}
		a.tokens[name] = made.Secret
	}
	for into, n := range map[*wire.Session]wire.NewSession{&a.ours: {Agent: "main", Title: "flowers"}, &a.theirs: {Key: "agent:work:slack:direct:ann"}} {
		made, err := a.owner.NewSession(t.Context(), n)
		if err == nil {
			_, err = a.owner.Turn(t.Context(), made.ID, wire.Turn{Text: whisper})
		}
		if err != nil {
			t.Fatal(err)
		}
		*into = made
	}
	return a
}

// raw sends bytes over TCP and returns everything received until the server closes the
// connection.
func (a *abused) raw(request string) string {
	a.Helper()
	conn, err := net.Dial("tcp", a.TCP)
	if err != nil {
		a.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, request) // the server may close before it has read everything
	answer, _ := io.ReadAll(conn) // the error may be a reset
	return string(answer)
}

// ask sends a request that closes the connection.
func (a *abused) ask(method, target, token string, heads ...string) string {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nConnection: close\r\n", method, target)
	if token != "" {
		head += "Authorization: Bearer " + token + "\r\n"
	}
	body := ""
	hasHost := false
	for _, h := range heads {
		if rest, ok := strings.CutPrefix(h, "body "); ok {
			body = rest
			h = fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d", len(body))
		}
		hasHost = hasHost || strings.HasPrefix(h, "Host:")
		head += h + "\r\n"
	}
	if !hasHost {
		head += "Host: " + a.TCP + "\r\n"
	}
	return a.raw(head + "\r\n" + body)
}

// number returns a value from /metrics, or zero if it is missing.
func (a *abused) number(line string) int {
	a.Helper()
	return numberIn(a.T, a.ask("GET", "/metrics", a.tokens["read"]), line)
}

func numberIn(t *testing.T, numbers, line string) int {
	t.Helper()
	for l := range strings.Lines(numbers) {
		if rest, ok := strings.CutPrefix(l, line+" "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(rest))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return 0
}

// leaks returns the secret that an answer contains, or "".
func (a *abused) leaks(answer string) string {
	secrets := []string{whisper, "tulip", "flowers", a.home, filepath.Base(a.home), "root:", "goroutine", ".go:"}
	for _, secret := range a.tokens {
		secrets = append(secrets, secret)
	}
	for _, s := range secrets {
		if strings.Contains(answer, s) {
			return s
		}
	}
	return ""
}

// TestAbuse checks that unauthorized and invalid requests are rejected and counted, and
// reveal nothing.
func TestAbuse(t *testing.T) {
	a := newAbused(t, basetest.Limit)
	ours, theirs := "/v1/sessions/"+string(a.ours.ID), "/v1/sessions/"+string(a.theirs.ID)
	refused := func(reason string) string { return `firn_http_refused_total{reason="` + reason + `"}` }
	problem := func(kind wire.Kind) string { return `firn_errors_total{kind="` + string(kind) + `"}` }
	hello, long := `body {"text":"hello"}`, `body {"text":"`+strings.Repeat("x", 2000)+`"}`
	for _, c := range []struct {
		name           string
		method, target string
		token          string
		heads          []string
		status         int
		counted        string
	}{
		{"no token", "GET", ours, "", nil, 401, refused("token")},
		{"no token to talk", "POST", ours + "/turns", "", []string{hello}, 401, refused("token")},
		{"wrong token", "GET", ours, "firn_" + strings.Repeat("A", 43), nil, 401, refused("token")},
		{"wrong scope", "POST", ours + "/turns", a.tokens["read"], []string{hello}, 403, refused("scope")},
		{"a hook's token", "GET", ours, a.tokens["hook"], nil, 403, refused("scope")},
		{"to make a token", "POST", "/v1/tokens", a.tokens["write"], []string{`body {"name":"x","scope":"admin"}`}, 403, refused("scope")},
		{"to erase", "POST", ours + ":purge", a.tokens["write"], []string{`body {"sure":"` + string(a.ours.ID) + `"}`}, 403, refused("scope")},
		{"another agent's session", "GET", ours, a.tokens["of work"], nil, 404, refused("bound")},
		{"another agent's events", "GET", ours + "/events", a.tokens["of work"], nil, 404, refused("bound")},
		{"another agent's window", "GET", ours + "/window", a.tokens["of work"], nil, 404, refused("bound")},
		{"to talk for another agent", "POST", "/v1/sessions", a.tokens["of work"], []string{`body {"agent":"main"}`}, 403, refused("bound")},
		{"another key's session", "GET", theirs + "/entries", a.tokens["of a key"], nil, 404, refused("bound")},
		{"another key", "GET", "/v1/keys/agent:work:slack:direct:ann", a.tokens["of a key"], nil, 404, refused("bound")},
		{"to point another key", "PUT", "/v1/keys/agent:main:main", a.tokens["of work"], []string{`body {"session":"x"}`}, 404, refused("bound")},
		{"numbers of all", "GET", "/metrics", a.tokens["of work"], nil, 403, refused("bound")},
		{"foreign Origin", "POST", ours + "/turns", a.tokens["write"], []string{hello, "Origin: https://evil.example"}, 403, refused("origin")},
		{"no Origin to speak of", "POST", ours + "/turns", a.tokens["write"], []string{hello, "Origin: null"}, 403, refused("origin")},
		{"foreign Host", "GET", ours, a.tokens["read"], []string{"Host: evil.example"}, 403, refused("host")},
		{"foreign Host, our port", "GET", "/healthz", "", []string{"Host: evil.example:80"}, 403, refused("host")},
		{"dots", "GET", "/v1/sessions/../../../../etc/passwd", a.tokens["read"], nil, 404, problem(wire.NotFound)},
		{"dots, escaped", "GET", "/v1/sessions/%2e%2e%2f%2e%2e%2fetc%2fpasswd", a.tokens["read"], nil, 404, problem(wire.NotFound)},
		{"dots, escaped twice", "GET", "/v1/sessions/%252e%252e%252fetc%252fpasswd", a.tokens["read"], nil, 404, problem(wire.NotFound)},
		{"dots alone", "GET", "/v1/sessions/%2e%2e/entries", a.tokens["read"], nil, 404, problem(wire.NotFound)},
		{"dots to be erased", "POST", "/v1/sessions/..%2f..%2fgateway:purge", a.tokens["admin"], []string{`body {"sure":"../../gateway"}`}, 404, problem(wire.NotFound)},
		{"dots to be restored", "POST", "/v1/sessions/..%2f..%2fgateway:restore", a.tokens["write"], nil, 404, problem(wire.NotFound)},
		{"backslashes", "GET", "/v1/sessions/..%5c..%5cwindows", a.tokens["read"], nil, 404, problem(wire.NotFound)},
		{"NUL in a session", "GET", "/v1/sessions/a%00b", a.tokens["read"], nil, 400, problem(wire.Invalid)},
		{"NUL in a key", "GET", "/v1/keys/agent:main:a%00b", a.tokens["read"], nil, 400, problem(wire.Invalid)},
		{"NUL in a hook", "POST", "/v1/hooks/a%00b", a.tokens["hook"], nil, 400, problem(wire.Invalid)},
		{"NUL in a job", "POST", "/v1/jobs/a%00b/run", a.tokens["write"], nil, 400, problem(wire.Invalid)},
		{"NUL in a token", "DELETE", "/v1/tokens/a%00b", a.tokens["admin"], nil, 400, problem(wire.Invalid)},
		{"dots as an agent", "POST", "/v1/sessions", a.tokens["write"], []string{`body {"agent":"../../etc"}`}, 404, problem(wire.NotFound)},
		{"dots in an agent to list", "GET", "/v1/keys?agent=../..", a.tokens["read"], nil, 200, ""},
		{"no such hook", "POST", "/v1/hooks/..%2fx", a.tokens["hook"], nil, 404, problem(wire.NotFound)},
		{"no such job", "POST", "/v1/jobs/..%2fx/run", a.tokens["write"], nil, 404, problem(wire.NotFound)},
		{"too large a body", "POST", ours + "/turns", a.tokens["write"], []string{long}, 413, refused("size")},
		{"too large a message from outside", "POST", "/v1/inbound", a.tokens["write"], []string{long}, 413, refused("size")},
		{"no JSON", "POST", ours + "/turns", a.tokens["write"], []string{`body {"text":` + "\x00"}, 400, problem(wire.Invalid)},
	} {
		t.Run(c.name, func(t *testing.T) {
			a.T = t
			before := a.number(c.counted)
			answer := a.ask(c.method, c.target, c.token, c.heads...)
			if !strings.HasPrefix(answer, fmt.Sprintf("HTTP/1.1 %d ", c.status)) {
				t.Errorf("it was answered %s", answer)
			}
			if secret := a.leaks(answer); secret != "" {
				t.Errorf("it reveals %q:\n%s", secret, answer)
			}
			if after := a.number(c.counted); c.counted != "" && after != before+1 {
				t.Errorf("%s is %d, and was %d", c.counted, after, before)
			}
		})
	}
	a.T = t
	if secret := a.leaks(strings.ReplaceAll(a.log.String(), a.home, "")); secret != "" { // the listen address is logged once
		t.Errorf("the log contains %q:\n%s", secret, a.log)
	}
}

// TestBoundTokenCannotProbeSessions checks that a bound token cannot distinguish another's
// session from a missing one.
func TestBoundTokenCannotProbeSessions(t *testing.T) {
	a := newAbused(t, basetest.Limit)
	other := string(a.ours.ID[:len(a.ours.ID)-2]) + "zz"
	strip := func(answer string) string {
		_, body, _ := strings.Cut(answer, "\r\n\r\n")
		body, _, _ = strings.Cut(body, `,"request"`)
		return strings.NewReplacer(string(a.ours.ID), "X", other, "X").Replace(body)
	}
	for _, what := range []string{"", "/entries", "/tree", "/window", "/events", "/compactions"} {
		theirs := strip(a.ask("GET", "/v1/sessions/"+string(a.ours.ID)+what, a.tokens["of work"]))
		none := strip(a.ask("GET", "/v1/sessions/"+other+what, a.tokens["of work"]))
		if theirs != none {
			t.Errorf("%s of another owner's session is %s, of a missing one %s", what, theirs, none)
		}
	}
}

// TestSlowRequestsTimeOut checks that headers and bodies sent byte by byte time out and are
// counted, while others are served.
func TestSlowRequestsTimeOut(t *testing.T) {
	a := newAbused(t, 3*time.Second)
	const slow = `firn_http_refused_total{reason="slow"}`
	before := a.number(slow)
	requests := []string{
		"", "G", "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
		"POST /v1/inbound HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + a.tokens["write"] + "\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"text\":",
		"POST /v1/inbound HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + a.tokens["write"] + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"tex",
	}
	answers := make(chan string, len(requests))
	for _, request := range requests {
		go func() { answers <- a.raw(request) }()
	}
	if got := a.ask("GET", "/v1/models", a.tokens["read"]); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
		t.Errorf("others get %s", got)
	}
	for range requests {
		// Half a header is not a request: it gets a 408 or no response.
		if answer := <-answers; answer != "" && !strings.HasPrefix(answer, "HTTP/1.1 408 ") && !strings.HasSuffix(answer, "400 Bad Request") || a.leaks(answer) != "" {
			t.Errorf("it was answered %s", answer)
		}
	}
	// A connection may be closed before it is counted.
	basetest.Eventually(t, "all are counted", func() bool { return a.number(slow) >= before+len(requests) })
	if after := a.number(slow); after != before+len(requests) {
		t.Errorf("%d were counted, want %d", after-before, len(requests))
	}
}

// TestConnectionLimit checks that beyond the limit the connection that has been idle longest is
// closed with a response and counted, and the new one is served.
func TestConnectionLimit(t *testing.T) {
	a := newAbused(t, basetest.Limit)
	const crowd = `firn_http_refused_total{reason="connections"}`
	counted := func() int { return numberIn(t, string(a.set.Append(nil)), crowd) }
	before := counted()
	var all []*bufio.Reader
	for range 40 {
		conn, err := net.Dial("tcp", a.TCP)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", a.tokens["read"])
		in := bufio.NewReader(conn)
		answer, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != 200 {
			t.Errorf("it was answered %s, %v", answer.Status, err)
		}
		all = append(all, in) // stays open
	}
	cut := counted() - before
	if cut < 40-32 || cut > 40 {
		t.Errorf("%d were counted", cut)
	}
	a.end(t) // the others end with the gateway
	answered := 0
	for _, in := range all {
		if answer, err := http.ReadResponse(in, nil); err == nil && answer.StatusCode == 503 && answer.Header.Get("Retry-After") != "" {
			answered++
		}
	}
	if answered != cut {
		t.Errorf("%d were answered 503, want %d", answered, cut)
	}
}
