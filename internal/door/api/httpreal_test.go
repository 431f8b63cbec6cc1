package api_test

import (
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
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/client"
	"firn.dev/internal/base/sse"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/door/api"
	"firn.dev/internal/door/token"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/gateway"
	"firn.dev/internal/gateway/metrics"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// realServer is a complete setup: a file store, an agent with a scripted model, a gateway, and a
// server on a socket and on TCP.
type realServer struct {
	*served
	tokens *token.Book
	owner  *client.Client
	set    *metrics.Set
}

func openRealServer(t *testing.T, home string) *realServer {
	t.Helper()
	return openRealServerWith(t, home, func(*api.Config, *api.ServeOptions) {})
}

// openRealServerWith is openHouse with other settings.
func openRealServerWith(t *testing.T, home string, change func(*api.Config, *api.ServeOptions)) *realServer {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	set := metrics.New(time.Now())
	files, err := filestore.Open(home, filestore.Options{FS: set.Files(vfs.OS{})})
	must(err)
	st := set.Store(files)
	t.Cleanup(func() { st.Close() })
	var model *scripted.Model
	model = scripted.Func(scripted.Info(), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		last := req.Window.Items[len(req.Window.Items)-1].Message.Text()
		return model.Play(ctx, req, scripted.Reply("re: "+last))
	})
	agents := map[string]*agent.Agent{}
	for _, id := range []string{"main", "work"} {
		agents[id] = &agent.Agent{Name: id, Store: st, Model: set.Model(model), NoTitles: true}
	}
	g, err := gateway.New(gateway.Options{Store: st, Dialect: native.New(), Version: "test", Home: home, Setup: gateway.Setup{Default: "main", Agents: agents}})
	must(err)
	tokens, err := token.Open(context.Background(), token.NewFile(vfs.OS{}, api.TokensPath(home)), nil)
	must(err)
	h := &realServer{tokens: tokens, set: set}
	c := api.Config{Tokens: tokens, Metrics: set}
	o := api.ServeOptions{Home: home, Close: g.Close, Socket: api.SocketPath(home), TCP: "127.0.0.1:0", Refused: set.Refused}
	change(&c, &o)
	o.Handler = api.Handler(g, c)
	h.served = serve(t, o)
	h.owner, err = client.New(client.Options{Address: h.Address.Address})
	must(err)
	t.Cleanup(func() { h.owner.Close() })
	return h
}

// TestRealGateway tests the real gateway through the client.
func TestRealGateway(t *testing.T) {
	h := openRealServer(t, shortDir(t))
	ctx := t.Context()
	session, err := h.owner.NewSession(ctx, wire.NewSession{Key: "agent:main:main", Title: "a plan"})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := h.owner.Turn(ctx, session.ID, wire.Turn{Text: "hello", ID: "m1"})
	if err != nil || answer.Text != "re: hello" {
		t.Fatalf("%+v %v", answer, err)
	}
	// Repeating a message has no effect.
	again, err := h.owner.Turn(ctx, session.ID, wire.Turn{Text: "hello", ID: "m1"})
	if err != nil && !errors.Is(err, firn.ErrConflict) || err == nil && again.Entry != answer.Entry {
		t.Errorf("sent twice: %+v %v", again, err)
	}
	if n := strings.Count(strings.Join(onDisk(t, h, session.ID), "\n"), `"id":"m1"`); n != 1 {
		t.Errorf("the message is stored %d times", n)
	}
	var received []string
	for e, err := range h.owner.StreamTurn(ctx, session.ID, wire.Turn{Text: "more"}) {
		if err != nil {
			t.Fatal(err)
		}
		received = append(received, e.Name)
	}
	if !slices.Contains(received, wire.DeltaText) || received[len(received)-1] != wire.TurnCompleted {
		t.Errorf("received %q", received)
	}
	got, err := h.owner.Session(ctx, "@agent:main:main")
	if err != nil || got.ID != session.ID || got.State == nil || got.State.Turns != 2 {
		t.Errorf("%+v %v", got, err)
	}
	_, err = h.owner.Append(ctx, session.ID, session.End, wire.NewEntries{User: "late"})
	var p *wire.Problem
	if !errors.As(err, &p) || p.Kind != wire.Conflict || p.End != got.End {
		t.Errorf("a late append: %+v", err)
	}
	if _, err := h.owner.Append(ctx, session.ID, got.End, wire.NewEntries{User: "in time"}); err != nil {
		t.Error(err)
	}
	if status, err := h.owner.Status(ctx); err != nil || status.Sessions != 1 || status.Version != "test" {
		t.Errorf("%+v %v", status, err)
	}
	ready := dial(t, h.Socket, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
	if line, err := ready.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Errorf("ready? %q %v", line, err)
	}
	numbers := string(h.set.Append(nil))
	for _, want := range []string{`firn_appends_total{outcome="ok"} `, `firn_fsync_seconds_count{what="`, `firn_turns_total{outcome="stop"} 2`, "firn_lanes ", "firn_queue_length 0", `firn_answer_seconds_count{provider="scripted"`, `route="/v1/sessions/{id}/turns",status="200"} `} {
		if !strings.Contains(numbers, want) {
			t.Errorf("the metrics lack %s:\n%s", want, numbers)
		}
	}
}

// TestRealStreamResumes checks that a client that reconnects with its last event ID to the
// real gateway misses nothing and receives nothing twice, with concurrent writers and over
// a restart.
func TestRealStreamResumes(t *testing.T) {
	home := shortDir(t)
	h := openRealServer(t, home)
	session, err := h.owner.NewSession(t.Context(), wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	const turns = 12
	talked := make(chan error, 1)
	go func() {
		for i := range turns {
			if _, err := h.owner.Turn(t.Context(), session.ID, wire.Turn{Text: fmt.Sprint("turn ", i)}); err != nil {
				talked <- err
				return
			}
		}
		talked <- nil
	}()
	var lines, ids []string
	last := ""
	follow := func(enough int) {
		for round := 1; len(lines) < enough; round++ {
			more := streamOnce(t, h, session.ID, last, min(1+round%5, enough-len(lines)))
			for _, m := range more {
				var e wire.Entry
				if err := json.Unmarshal(m.event.Data, &e); err != nil {
					t.Fatal(err)
				}
				lines, ids, last = append(lines, string(e.Line)), append(ids, m.id), m.id
			}
		}
	}
	follow(10)
	if err := <-talked; err != nil {
		t.Fatal(err)
	}
	whole := onDisk(t, h, session.ID)
	h.end(t)
	h = openRealServer(t, home)
	follow(len(whole))
	if !slices.Equal(lines, whole) {
		t.Errorf("heard %d entries, want %d:\n%s\nwant\n%s", len(lines), len(whole), strings.Join(lines, "\n"), strings.Join(whole, "\n"))
	}
	for i := 1; i < len(ids); i++ {
		a, _ := strconv.Atoi(ids[i-1])
		if b, _ := strconv.Atoi(ids[i]); b <= a {
			t.Errorf("the ids are %q", ids)
		}
	}
}

// streamOnce receives a number of log events over one connection and closes it.
func streamOnce(t *testing.T, h *realServer, id firn.ID, last string, enough int) []received {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", h.Socket)
	}}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://localhost/v1/sessions/"+string(id)+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var all []received
	for raw, err := range sse.Read(response.Body) {
		if err != nil {
			t.Fatal(err)
		}
		h := received{id: raw.ID, name: raw.Name}
		if err := json.Unmarshal(raw.Data, &h.event); err != nil {
			t.Fatal(err)
		}
		if h.event.Pos == 0 {
			continue // not in the log
		}
		if all = append(all, h); len(all) == enough {
			break
		}
	}
	return all
}

// onDisk returns the lines of a session that are sent as events.
func onDisk(t *testing.T, h *realServer, id firn.ID) []string {
	t.Helper()
	var lines []string
	for e, err := range h.owner.Entries(t.Context(), id, client.EntryQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(e.Line), "firn.draft") {
			lines = append(lines, string(e.Line))
		}
	}
	return lines
}

// TestRealBoundToken checks a token bound to one agent on the real gateway.
func TestRealBoundToken(t *testing.T) {
	h := openRealServer(t, shortDir(t))
	ctx := t.Context()
	made, err := h.tokens.Create(context.Background(), wire.NewToken{Name: "worker", Scope: wire.ScopeWrite, Agents: []string{"work"}})
	if err != nil {
		t.Fatal(err)
	}
	worker, err := client.New(client.Options{Address: "http://" + h.TCP, Token: made.Secret})
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Close()
	private, err := h.owner.NewSession(ctx, wire.NewSession{Agent: "main", Title: "private"})
	if err != nil {
		t.Fatal(err)
	}
	own, err := worker.NewSession(ctx, wire.NewSession{Title: "job"})
	if err != nil || own.Agent != "work" {
		t.Fatalf("%+v %v", own, err)
	}
	if a, err := worker.Turn(ctx, own.ID, wire.Turn{Text: "hi"}); err != nil || a.Text != "re: hi" {
		t.Errorf("%+v %v", a, err)
	}
	if _, err := worker.Turn(ctx, private.ID, wire.Turn{Text: "hi"}); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("a foreign session: %v", err)
	}
	for _, ref := range []string{"private", string(private.ID)[:8]} {
		if s, err := worker.Session(ctx, ref); err == nil && s.ID == private.ID {
			t.Errorf("%s is seen: %+v", ref, s)
		}
	}
	var seen []firn.ID
	for s, err := range worker.Sessions(ctx, client.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, s.ID)
	}
	if !slices.Equal(seen, []firn.ID{own.ID}) {
		t.Errorf("got: %q", seen)
	}
	if _, err := worker.NewSession(ctx, wire.NewSession{Agent: "main"}); wire.KindOf(err) != wire.NotAllowed {
		t.Errorf("a session of another agent: %v", err)
	}
	if _, err := worker.Keys.Get(ctx, "agent:main:main"); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("a foreign key: %v", err)
	}
}

// TestRealDrain checks that listeners of the real gateway are notified of a shutdown.
func TestRealDrain(t *testing.T) {
	h := openRealServer(t, shortDir(t))
	session, err := h.owner.NewSession(t.Context(), wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	conn := dial(t, h.Socket, "GET /v1/sessions/"+string(session.ID)+"/events HTTP/1.1\r\nHost: x\r\n\r\n")
	if line, err := conn.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%q %v", line, err)
	}
	h.stop()
	if rest, err := io.ReadAll(conn); err != nil || !strings.Contains(string(rest), "event: bye") {
		t.Errorf("received %q, %v", rest, err)
	}
	h.end(t)
	if _, ok := client.Find(t.Context(), h.home, nil); ok {
		t.Error("it is still found")
	}
	if left, err := filepath.Glob(filepath.Join(h.home, "gateway", "*.sock")); err != nil || len(left) > 0 {
		t.Errorf("left over: %q %v", left, err)
	}
}

// TestRealReadiness checks that the gateway is not ready if its home is missing.
func TestRealReadiness(t *testing.T) {
	h := openRealServer(t, shortDir(t))
	away := h.home + "-away"
	if err := os.Rename(h.home, away); err != nil {
		t.Fatal(err)
	}
	defer os.Rename(away, h.home)
	response, err := http.Get("http://" + h.TCP + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); response.StatusCode != 503 || strings.Contains(string(body), h.home) {
		t.Errorf("%d %s", response.StatusCode, body)
	}
}
