package cluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/base/route"
	"firn.dev/internal/door/api"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/gateway"
	"firn.dev/internal/ops/cluster"
	"firn.dev/internal/ops/jetstreamtest"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/jetstream"
	"firn.dev/wire"
)

// shared is the server that tests share; each test uses its own space.
var shared *jetstream.Server

var spaces atomic.Int64

func TestMain(m *testing.M) {
	if node, process := os.Getenv(jetstreamtest.Env), os.Getenv(processEnv); node != "" || process != "" {
		err := error(nil)
		if node != "" {
			err = jetstreamtest.Serve(node, os.Stdin)
		} else {
			err = beProcess(process)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	dir, err := os.MkdirTemp("", "firn-cluster")
	if err == nil {
		shared, err = jetstream.NewServer(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = shared.Close()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// member is one gateway of a cluster.
type member struct {
	t       *testing.T
	store   *jetstream.Store
	gateway *gateway.Gateway
	handler *api.HTTP
	cluster *cluster.Cluster
	// gate blocks answers to messages that begin with "wait" until it is opened.
	gate chan struct{}
	// asked receives the prompts of the model.
	asked chan string
}

// space returns a new space for several members.
func space(t *testing.T) jetstream.Options {
	return jetstream.Options{Server: shared, Space: fmt.Sprint("c", spaces.Add(1)), Shards: 1, Report: func(m string) { t.Log(m) }}
}

// answers returns the model of a member: it echoes messages and waits at the gate for those
// that begin with "wait".
func (m *member) answers() provider.Model {
	return scripted.Func(scripted.Info(), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		items := req.Window.Items
		text := items[len(items)-1].Message.Text()
		model := scripted.New(scripted.Info())
		step := scripted.Reply("heard: " + text)
		step.Before = func(ctx context.Context) error {
			m.asked <- text
			if !strings.HasPrefix(text, "wait") {
				return nil
			}
			select {
			case <-m.gate:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return model.Play(ctx, req, step)
	})
}

// join creates a member and starts it.
func join(t *testing.T, o jetstream.Options, ttl time.Duration) *member {
	t.Helper()
	return joinWith(t, o, ttl, func(*gateway.Options) {})
}

// joinWith creates a member whose gateway has additional options.
func joinWith(t *testing.T, o jetstream.Options, ttl time.Duration, change func(*gateway.Options)) *member {
	t.Helper()
	st, err := jetstream.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	m := &member{t: t, store: st, gate: make(chan struct{}), asked: make(chan string, 1000)}
	m.cluster, err = cluster.Join(t.Context(), cluster.Options{Engine: st, TTL: ttl, Linger: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	agents := map[string]*agent.Agent{"main": {Name: "main", Store: st, Model: m.answers(), NoTitles: true}}
	options := gateway.Options{Store: st, Dialect: native.New(), Setup: gateway.Setup{Default: "main", Agents: agents, Route: route.Config{Default: "main"}}, Peers: m.cluster}
	change(&options)
	m.gateway, err = gateway.New(options)
	if err != nil {
		t.Fatal(err)
	}
	m.handler = api.Handler(m.gateway, api.Config{Peers: m.cluster})
	if err := m.cluster.Start(m.gateway, m.handler); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.leave)
	return m
}

// leave shuts a member down.
func (m *member) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), basetest.Limit)
	defer cancel()
	quick, cancelQuick := context.WithTimeout(ctx, 0)
	defer cancelQuick()
	if err := m.gateway.Close(quick); err != nil {
		m.t.Error(err)
	}
	if err := m.cluster.Close(ctx); err != nil {
		m.t.Error(err)
	}
	_ = m.store.Close()
}

// ask sends a request as the owner and returns the status and body.
func (m *member) ask(method, path string, body any) (int, string) {
	m.t.Helper()
	data := ""
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			m.t.Error(err)
		}
		data = string(b)
	}
	r := httptest.NewRequestWithContext(context.Background(), method, "http://localhost"+path, strings.NewReader(data))
	if data != "" {
		r.Header.Set("Content-Type", "application/json")
	} else {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	w := httptest.NewRecorder()
	api.Owner(m.handler).ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// get is like ask, but must succeed, and decodes the body.
func (m *member) get(method, path string, body, into any) {
	m.t.Helper()
	status, text := m.ask(method, path, body)
	if status != http.StatusOK {
		m.t.Fatalf("%s %s gives %d: %s", method, path, status, text)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			m.t.Fatal(err)
		}
	}
}

// newSession creates a session.
func (m *member) newSession() firn.ID {
	m.t.Helper()
	var s wire.Session
	m.get("POST", "/v1/sessions", wire.NewSession{}, &s)
	return s.ID
}

// log returns the messages and fences of a session in short form.
func (m *member) log(id firn.ID) []string {
	m.t.Helper()
	var all []string
	for rec, err := range m.store.Read(context.Background(), id, store.Start) {
		if err != nil {
			m.t.Fatal(err)
		}
		e, err := rec.Entry()
		if err != nil {
			m.t.Fatal(err)
		}
		switch b := e.Body.(type) {
		case *firn.Message:
			all = append(all, string(b.Role)+": "+b.Text())
		case *firn.Custom:
			if b.Type == "firn.fence" {
				all = append(all, "fence")
			}
		}
	}
	return all
}

func turns(id firn.ID) string { return "/v1/sessions/" + string(id) + "/turns" }

// later starts a turn in the background.
func (m *member) later(id firn.ID, t wire.Turn) <-chan wire.Answer {
	done := make(chan wire.Answer, 1)
	go func() {
		status, text := m.ask("POST", turns(id), t)
		var a wire.Answer
		if status != http.StatusOK || json.Unmarshal([]byte(text), &a) != nil {
			a.Text = fmt.Sprint(status, " ", text)
		}
		done <- a
	}()
	return done
}

// Lease durations that expire during a test, and ones that must not, however busy the
// machine is.
const (
	short = 5 * time.Second
	long  = time.Minute
)

// TestForwarded checks that clients of two gateways that write to one session share one
// queue: stops and answers work from both.
func TestForwarded(t *testing.T) {
	o := space(t)
	a, b := join(t, o, long), join(t, o, long)
	id := a.newSession()
	first := a.later(id, wire.Turn{Text: "wait for it"})
	if text := <-a.asked; text != "wait for it" {
		t.Fatalf("received %q", text)
	}
	second := b.later(id, wire.Turn{Text: "two", Queue: "followup"})
	var waits wire.Answer
	for waits.Message == "" { // durable there before the first is answered
		var s wire.Session
		a.get("GET", "/v1/sessions/"+string(id), nil, &s)
		if len(s.Waiting) == 1 {
			waits.Message = s.Waiting[0].ID
		}
	}
	close(a.gate)
	if got := <-first; got.Text != "heard: wait for it" {
		t.Errorf("the first answer is %+v", got)
	}
	if got := <-second; got.Text != "heard: two" || got.Message != waits.Message {
		t.Errorf("the second answer is %+v", got)
	}
	select {
	case text := <-b.asked:
		t.Errorf("the other gateway's model received %q", text)
	default:
	}
	want(t, a.log(id), "user: wait for it", "assistant: heard: wait for it", "user: two", "assistant: heard: two")
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestStoppedFromElsewhere stops a turn through another gateway.
func TestStoppedFromElsewhere(t *testing.T) {
	o := space(t)
	a, b := join(t, o, long), join(t, o, long)
	id := a.newSession()
	first := a.later(id, wire.Turn{Text: "wait for ever"})
	<-a.asked
	var s wire.Stopped
	b.get("POST", "/v1/sessions/"+string(id)+"/kill", nil, &s)
	if !s.Stopped {
		t.Error("nothing was stopped")
	}
	if got := <-first; !strings.Contains(got.Text, "stopped") {
		t.Errorf("the turn ended with %+v", got)
	}
}

// TestLarge forwards a body that does not fit into one message.
func TestLarge(t *testing.T) {
	o := space(t)
	a, b := join(t, o, long), join(t, o, long)
	id := a.newSession()
	first := a.later(id, wire.Turn{Text: "wait"})
	<-a.asked
	text := strings.Repeat("long ", 500_000)
	var done wire.Appended
	b.get("POST", "/v1/sessions/"+string(id)+"/entries", wire.NewEntries{User: text}, &done)
	close(a.gate)
	<-first
	found := false
	for _, line := range a.log(id) {
		found = found || line == "user: "+text
	}
	if !found {
		t.Error("the long message is missing")
	}
}

// TestEventsElsewhere listens at one gateway to a turn of another.
func TestEventsElsewhere(t *testing.T) {
	o := space(t)
	a, b := join(t, o, long), join(t, o, long)
	id := a.newSession()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events := make(chan wire.Event, 1000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range b.gateway.Events(ctx, id, store.Start) {
			if err != nil {
				return
			}
			events <- e
		}
	}()
	if e := <-events; e.Name != wire.EntryAppended { // the listener is connected
		t.Fatalf("the first is %+v", e)
	}
	// Deltas that arrive after their entry are dropped, which on a busy machine may affect
	// a whole turn.
	for range 50 {
		first := a.later(id, wire.Turn{Text: "hello you"})
		names, text := turnOf(t, events)
		<-first
		got := strings.Join(names, " ")
		if !strings.HasSuffix(got, "turn.completed") || !strings.HasPrefix("heard: hello you", text) {
			t.Fatalf("the result is %s, the chunks are %q", got, text)
		}
		if text == "heard: hello you" && strings.Contains(got, "delta.text entry.appended") && strings.Index(got, "turn.started") < strings.Index(got, "delta.text") {
			cancel() // the first entry may arrive before or after the start of the turn
			<-done
			return
		}
	}
	t.Error("no turn was streamed in chunks")
}

// turnOf returns the names of the events up to the end of a turn, without repetitions, and
// the text of its deltas.
func turnOf(t *testing.T, events <-chan wire.Event) (names []string, text string) {
	t.Helper()
	for e := range events {
		if len(names) == 0 || names[len(names)-1] != e.Name {
			names = append(names, e.Name)
		}
		if e.Name == wire.DeltaText {
			var d wire.Delta
			if err := json.Unmarshal(e.Data, &d); err != nil {
				t.Fatal(err)
			}
			text += d.Text
		}
		if e.Name == wire.TurnCompleted {
			break
		}
	}
	return names, text
}

// TestTakenOver crashes an owner during a turn with a queued message. Another gateway
// continues both, once, after a fence. A client that retries with the same ID receives the
// answer.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	o := space(t)
	a := join(t, o, short)
	b, c := join(t, o, short), join(t, o, short)
	id := a.newSession()
	one, two := firn.NewEntryID(), firn.NewEntryID()
	a.later(id, wire.Turn{ID: one, Text: "wait one"})
	<-a.asked
	a.get("POST", turns(id), wire.Turn{ID: two, Text: "two", Queue: "followup", Wait: new(bool)}, nil)
	_ = a.store.Close() // nothing from it arrives any more, as after a crash
	close(b.gate)
	close(c.gate)
	for _, m := range []*member{b, c, b} {
		var got wire.Answer
		m.get("POST", turns(id), wire.Turn{ID: two, Text: "two", Queue: "followup"}, &got)
		if got.Text != "heard: two" {
			t.Errorf("the answer is %+v", got)
		}
	}
	want(t, b.log(id), "user: wait one", "fence", "assistant: heard: wait one", "user: two", "assistant: heard: two")
	if n := len(b.asked) + len(c.asked); n != 2 {
		t.Errorf("the models of the remaining gateways were called %d times, want 2", n)
	}
}

// TestTakenOverWithoutRetry crashes the owner of a session without any client retry.
func TestTakenOverWithoutRetry(t *testing.T) {
	t.Parallel()
	o := space(t)
	a, b := join(t, o, short), join(t, o, short)
	id := a.newSession()
	a.later(id, wire.Turn{Text: "wait one"})
	<-a.asked
	_ = a.store.Close()
	close(b.gate)
	if text := <-b.asked; text != "wait one" {
		t.Errorf("received %q", text)
	}
}

// TestStaleOwner takes a session from an unaware owner during a turn. The turn ends without
// output, and waiting clients receive the final answer.
func TestStaleOwner(t *testing.T) {
	o := space(t)
	a := join(t, o, long)
	id := a.newSession()
	one := firn.NewEntryID()
	first := a.later(id, wire.Turn{ID: one, Text: "wait one"})
	<-a.asked
	// Take the session over regardless of the lease.
	theirs := firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.Text{Text: "theirs"}}, StopReason: firn.StopEnd})
	if _, err := a.store.Append(t.Context(), id, store.Any, agent.Fence("b"), theirs); err != nil {
		t.Fatal(err)
	}
	close(a.gate)
	if got := <-first; got.Text != "theirs" || got.Message != one {
		t.Errorf("the stale turn ended with %+v", got)
	}
	want(t, a.log(id), "user: wait one", "fence", "assistant: theirs")
}

// TestKeys sends the first messages of a key to two gateways concurrently, and resets it on
// one.
func TestKeys(t *testing.T) {
	o := space(t)
	a, b := join(t, o, long), join(t, o, long)
	in := wire.Inbound{Channel: "telegram", PeerKind: "direct", PeerID: "7", Sender: "ann", Text: "hello", Wait: true}
	routed := make(chan wire.Routed, 2)
	for _, m := range []*member{a, b} {
		go func() {
			var r wire.Routed
			status, text := m.ask("POST", "/v1/inbound", in)
			if err := json.Unmarshal([]byte(text), &r); err != nil || status != http.StatusOK {
				t.Errorf("inbound gives %d: %s", status, text)
			}
			routed <- r
		}()
	}
	r, s := <-routed, <-routed
	if r.Session != s.Session || r.Session == "" {
		t.Fatalf("two sessions: %s, %s", r.Session, s.Session)
	}
	// An idle owner releases the session, so a late second message may be answered by the
	// other gateway. No message is answered twice.
	if n := len(a.asked) + len(b.asked); n < 1 || n > 2 {
		t.Errorf("the models were called %d and %d times", len(a.asked), len(b.asked))
	}
	var reset wire.Routed
	a.get("POST", "/v1/keys/"+r.Key+"/reset", nil, &reset)
	var k wire.Key
	b.get("GET", "/v1/keys/"+r.Key, nil, &k)
	if k.Session != reset.Session || k.Session == r.Session {
		t.Errorf("the key points at %s, the reset made %s of %s", k.Session, reset.Session, r.Session)
	}
	b.get("PATCH", "/v1/sessions/"+string(k.Session), wire.Patch{Send: ptr("deny")}, nil)
	var now wire.Session
	a.get("GET", "/v1/sessions/"+string(k.Session), nil, &now)
	if now.State.Send != "deny" {
		t.Errorf("a choice made on one is %q on the other", now.State.Send)
	}
}

func ptr[T any](v T) *T { return &v }

// TestOneLeader checks that one of several gateways leads, and another one after it leaves.
func TestOneLeader(t *testing.T) {
	t.Parallel()
	o := space(t)
	a := join(t, o, short)
	for !a.cluster.Leads() {
		rest(t)
	}
	b := join(t, o, short)
	if b.cluster.Leads() {
		t.Error("two lead")
	}
	if err := a.cluster.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for !b.cluster.Leads() {
		rest(t)
	}
	if a.cluster.Leads() {
		t.Error("a gateway that left is the leader")
	}
}

// rest yields to other goroutines, and fails the test after its time limit.
func rest(t *testing.T) {
	t.Helper()
	if err := t.Context().Err(); err != nil {
		t.Fatal(err)
	}
	<-time.After(time.Millisecond)
}

// TestGatewayLeaves shuts a gateway down while a message is queued: another one answers it
// immediately.
func TestGatewayLeaves(t *testing.T) {
	o := space(t)
	a, b := join(t, o, long), join(t, o, long)
	id := a.newSession()
	a.later(id, wire.Turn{Text: "wait one"})
	<-a.asked
	a.get("POST", turns(id), wire.Turn{Text: "two", Queue: "followup", Wait: new(bool)}, nil)
	a.leave()
	if text := <-b.asked; !strings.HasSuffix(text, "two") {
		t.Errorf("received %q", text)
	}
	if got := a.cluster.Name(); got == b.cluster.Name() {
		t.Errorf("two gateways are called %s", got)
	}
}
