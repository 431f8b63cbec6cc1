package client_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/client"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/door/api"
	"firn.dev/internal/door/token"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/gateway"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// realGateway is a real gateway on a real home, with a model that echoes.
type realGateway struct {
	t     *testing.T
	home  string
	model *scripted.Model
	// gate, if not nil, provides a permit for each answer; asked signals that one is
	// requested.
	gate, asked chan struct{}
	// at is the address at which it was last served; socket is the requested socket, or empty
	// for any.
	at     api.Address
	socket string
	// agents holds the names of the agents; nil means only main.
	agents []string
}

func newRealGateway(t *testing.T) *realGateway {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &realGateway{t: t, home: home}
	h.model = scripted.Func(scripted.Info(), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		last := req.Window.Items[len(req.Window.Items)-1].Message.Text()
		s := scripted.Reply("re: " + last)
		if h.gate != nil {
			s.Before = func(ctx context.Context) error {
				h.asked <- struct{}{}
				select {
				case <-h.gate:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		return h.model.Play(ctx, req, s)
	})
	return h
}

// waitForPermits makes the model wait for permits.
func (h *realGateway) waitForPermits() {
	h.gate, h.asked = make(chan struct{}, 100), make(chan struct{}, 100)
}

// open opens a gateway on the home, and returns its handler and how to close it.
func (h *realGateway) open() (*api.HTTP, *gateway.Gateway, func()) {
	h.t.Helper()
	st, err := filestore.Open(h.home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		h.t.Fatal(err)
	}
	agents := map[string]*agent.Agent{"main": {Store: st, Model: h.model, NoTitles: true}}
	for _, name := range h.agents {
		agents[name] = &agent.Agent{Name: name, Store: st, Model: h.model, NoTitles: true}
	}
	g, err := gateway.New(gateway.Options{Store: st, Dialect: native.Dialect{}, Version: "test", Home: h.home, Setup: gateway.Setup{
		Default: "main", Agents: agents,
		Known: func() []wire.Model { return []wire.Model{{ID: "scripted/echo", Window: 1000}} },
	}})
	if err != nil {
		h.t.Fatal(err)
	}
	tokens, err := token.Open(context.Background(), token.NewFile(vfs.OS{}, api.TokensPath(h.home)), nil)
	if err != nil {
		h.t.Fatal(err)
	}
	handler := api.Handler(g, api.Config{Tokens: tokens})
	return handler, g, sync.OnceFunc(func() {
		handler.Drain()
		if err := g.Close(context.Background()); err != nil {
			h.t.Error(err)
		}
		if err := st.Close(); err != nil {
			h.t.Error(err)
		}
	})
}

// inProcess returns a client that calls the gateway in this process.
func (h *realGateway) inProcess(wrap func(http.RoundTripper) http.RoundTripper) *client.Client {
	h.t.Helper()
	handler, _, shut := h.open()
	local := client.InProcess(api.Owner(handler))
	var transport http.RoundTripper = local
	if wrap != nil {
		transport = wrap(local)
	}
	h.t.Cleanup(func() {
		local.Close()
		shut()
	})
	return newClient(h.t, client.Options{Transport: transport})
}

// must returns v and fails the test if there is an error.
func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// callEveryMethod calls the methods that a client uses during the life of a session.
func callEveryMethod(t *testing.T, c *client.Client) {
	ctx := t.Context()
	s := must[wire.Session](t)(c.NewSession(ctx, wire.NewSession{Title: "a trip", CWD: "/tmp"}))
	a := must[wire.Answer](t)(c.Turn(ctx, s.ID, wire.Turn{Text: "to <Rome> & back"}))
	if a.Text != "re: to <Rome> & back" || a.Session != s.ID {
		t.Errorf("the answer is %+v", a)
	}
	names, err := streamed(ctx, c, s.ID, wire.Turn{Text: "and then?"})
	if err != nil || len(names) < 3 || names[len(names)-1] != wire.TurnCompleted || !slices.Contains(names, wire.DeltaText) {
		t.Errorf("the turn returned %q, %v", names, err)
	}
	readMethods(t, c, s)
	changing(t, c, s)
	branching(t, c, s)
	removing(t, c, s)
	routing(t, c)
	if status := must[wire.Status](t)(c.Status(ctx)); status.Version != "test" || len(status.Agents) != 1 {
		t.Errorf("the status is %+v", status)
	}
	if agents := must[[]wire.Agent](t)(c.Agents(ctx)); len(agents) != 1 || agents[0].ID != "main" {
		t.Errorf("the agents are %+v", agents)
	}
	if models := must[[]wire.Model](t)(c.Models(ctx)); len(models) == 0 {
		t.Error("there are no models")
	}
	must[wire.Spending](t)(c.UsageOf(ctx, client.UsageQuery{By: "model", Since: s.Created}))
	must[wire.UsageReport](t)(c.UsageReport(ctx, s.Created))
	if running := must[[]wire.Session](t)(c.Running(ctx)); len(running) != 0 {
		t.Errorf("running sessions: %+v", running)
	}
	if stopped, err := c.Stop(ctx, s.ID); stopped || err != nil {
		t.Errorf("stopped a turn that was not running: %v, %v", stopped, err)
	}
}

// streamed is listen for any session.
func streamed(ctx context.Context, c *client.Client, id firn.ID, turn wire.Turn) (names []string, last error) {
	for e, err := range c.StreamTurn(ctx, id, turn) {
		if err != nil {
			return names, err
		}
		names = append(names, e.Name)
	}
	return names, nil
}

func readMethods(t *testing.T, c *client.Client, s wire.Session) {
	ctx := t.Context()
	for _, ref := range []string{string(s.ID), "a trip"} {
		if found := must[firn.ID](t)(c.Resolve(ctx, ref)); found != s.ID {
			t.Errorf("%q is %s", ref, found)
		}
	}
	if _, err := c.Session(ctx, "no/such title?"); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("the error is %v", err)
	}
	n := 0
	for one, err := range c.Sessions(ctx, client.Query{Text: "trip"}) {
		if n++; err != nil || one.ID != s.ID {
			t.Errorf("listed %v, %v", one.ID, err)
		}
	}
	if n != 1 {
		t.Errorf("listed %d sessions", n)
	}
	all := entries(t, c, s.ID, client.EntryQuery{})
	paged := entries(t, c, s.ID, client.EntryQuery{Limit: 3})
	back := entries(t, c, s.ID, client.EntryQuery{Back: true})
	slices.Reverse(back)
	if len(all) < 5 || len(paged) != 3 || len(back) != len(all) || back[0].At != all[0].At {
		t.Errorf("there are %d entries, %d of a page, %d backwards", len(all), len(paged), len(back))
	}
	if !slices.ContainsFunc(all, func(e wire.Entry) bool { return strings.Contains(string(e.Line), "to <Rome> & back") }) {
		t.Errorf("the lines are not as they were: %v", all)
	}
	if tree := must[wire.Tree](t)(c.Tree(ctx, s.ID, 2, "")); len(tree.Nodes) != 2 || tree.Cursor == "" {
		t.Errorf("the tree is %+v", tree)
	}
	if kids := must[[]wire.Session](t)(c.Children(ctx, s.ID)); len(kids) != 0 {
		t.Errorf("the sub-agents are %+v", kids)
	}
	if d := must[[]wire.Damage](t)(c.Damage(ctx, s.ID)); len(d) != 0 {
		t.Errorf("a sound session has the damage %v", d)
	}
	if w := must[wire.Window](t)(c.Window(ctx, s.ID, "")); w.Count == 0 {
		t.Errorf("the window is %+v", w)
	}
}

func entries(t *testing.T, c *client.Client, id firn.ID, q client.EntryQuery) []wire.Entry {
	t.Helper()
	var all []wire.Entry
	for e, err := range c.Entries(t.Context(), id, q) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func changing(t *testing.T, c *client.Client, s wire.Session) {
	ctx := t.Context()
	title := "a longer trip"
	if s = must[wire.Session](t)(c.Patch(ctx, s.ID, wire.Patch{Title: &title})); s.Title != title {
		t.Errorf("the title is %q", s.Title)
	}
	done := must[wire.Appended](t)(c.Append(ctx, s.ID, s.End, wire.NewEntries{User: "by the way"}))
	_, err := c.Append(ctx, s.ID, s.End, wire.NewEntries{User: "too late"})
	var p *wire.Problem
	if !errors.Is(err, firn.ErrConflict) || !errors.As(err, &p) || p.End != done.End {
		t.Errorf("the error is %#v, the end %d", err, done.End)
	}
	last := string(done.IDs[0])
	must[wire.Appended](t)(c.Label(ctx, s.ID, wire.Label{Entry: last, Name: "aside"}))
	must[wire.Appended](t)(c.Hide(ctx, s.ID, wire.Hide{Entry: "aside"}))
	must[wire.Appended](t)(c.Show(ctx, s.ID, wire.Hide{Entry: "aside"}))
	for range 3 {
		must[wire.Answer](t)(c.Turn(ctx, s.ID, wire.Turn{Text: strings.Repeat("tell me more of it ", 500)}))
	}
	if plan := must[wire.Compacted](t)(c.Compact(ctx, s.ID, wire.Compact{KeepRecent: 1, Plan: true})); plan.Plan == nil {
		t.Errorf("the plan is %+v", plan)
	}
	made := must[wire.Compacted](t)(c.Compact(ctx, s.ID, wire.Compact{KeepRecent: 1}))
	if all := must[[]wire.Compaction](t)(c.Compactions(ctx, s.ID)); len(all) != 1 || all[0].ID != made.ID {
		t.Errorf("the compactions are %+v", all)
	}
	must[wire.Compaction](t)(c.Undo(ctx, s.ID, made.ID))
	must[wire.Compaction](t)(c.Redo(ctx, s.ID, made.ID))
}

func branching(t *testing.T, c *client.Client, s wire.Session) {
	ctx := t.Context()
	must[wire.Moved](t)(c.Rewind(ctx, s.ID, wire.Move{Back: 1}))
	fork := must[wire.Session](t)(c.Fork(ctx, s.ID, wire.Fork{Title: "another trip"}))
	if fork.ID == s.ID || fork.Title != "another trip" {
		t.Errorf("the fork is %+v", fork)
	}
}

func removing(t *testing.T, c *client.Client, s wire.Session) {
	ctx := t.Context()
	for _, bin := range []bool{false, true} {
		must[wire.Removed](t)(c.Remove(ctx, s.ID, wire.Remove{Reason: "done", Bin: bin}))
		must[wire.Session](t)(c.Restore(ctx, s.ID))
	}
	doomed := must[wire.Session](t)(c.NewSession(ctx, wire.NewSession{}))
	must[wire.Answer](t)(c.Turn(ctx, doomed.ID, wire.Turn{Text: "forget this"}))
	if _, err := c.Purge(ctx, doomed.ID, wire.Erase{}); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("purged without being sure: %v", err)
	}
	must[wire.Receipt](t)(c.Purge(ctx, doomed.ID, wire.Erase{Sure: doomed.ID, Reason: "asked for"}))
	if _, err := c.Session(ctx, string(doomed.ID)); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("the error is %v", err)
	}
}

func routing(t *testing.T, c *client.Client) {
	ctx := t.Context()
	in := wire.Inbound{Channel: "telegram", PeerKind: "direct", PeerID: "ann", Text: "hello", Wait: true}
	first := must[wire.Routed](t)(c.Inbound(ctx, in))
	if first.Answer == nil || first.Answer.Text != "re: hello" {
		t.Errorf("the message became %+v", first)
	}
	if found := must[firn.ID](t)(c.Resolve(ctx, "@"+first.Key)); found != first.Session {
		t.Errorf("the key points at %s", found)
	}
	if keys := must[[]wire.Key](t)(c.Keys.List(ctx, "main")); len(keys) != 1 {
		t.Errorf("the keys are %+v", keys)
	}
	second := must[wire.Routed](t)(c.Keys.Reset(ctx, first.Key))
	if second.Session == first.Session {
		t.Error("the reset began no session")
	}
	if key := must[wire.Key](t)(c.Keys.Get(ctx, first.Key)); key.Session != second.Session || len(key.History) != 2 {
		t.Errorf("the key is %+v", key)
	}
	if key := must[wire.Key](t)(c.Keys.ContinuePrevious(ctx, first.Key)); key.Session != first.Session {
		t.Errorf("the key is %+v", key)
	}
	if key := must[wire.Key](t)(c.Keys.Point(ctx, first.Key, second.Session)); key.Session != second.Session {
		t.Errorf("the key is %+v", key)
	}
}

func TestRealGateway(t *testing.T) { callEveryMethod(t, newRealGateway(t).inProcess(nil)) }

// TestRealGatewayOverSockets does the same over sockets, as `firn serve` does.
func TestRealGatewayOverSockets(t *testing.T) {
	h := newRealGateway(t)
	stop := h.serve()
	address, ok := client.Find(t.Context(), h.home, nil)
	if !ok || !strings.HasPrefix(address, "unix:") {
		t.Fatalf("found %q, %v", address, ok)
	}
	c := newClient(t, client.Options{Address: address})
	defer c.Close()
	callEveryMethod(t, c)
	h.tokens(c)
	stop()
	if found, ok := client.Find(t.Context(), h.home, nil); ok {
		t.Errorf("found %s after the end", found)
	}
	var u *client.Unreachable
	if _, err := c.Status(t.Context()); !errors.As(err, &u) {
		t.Errorf("the error is %v", err)
	}
}

// serve serves the home on a socket and over TCP until stop is called.
func (h *realGateway) serve() (stop func()) {
	h.t.Helper()
	if h.socket == "" {
		h.socket = socket(h.t)
	}
	handler, g, shut := h.open()
	ctx, cancel := context.WithCancel(h.t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- api.Serve(ctx, api.ServeOptions{
			Home: h.home, Socket: h.socket, TCP: "127.0.0.1:0", Handler: handler, Close: g.Close,
			Ready: func(a api.Address) { h.at = a; close(ready) },
		})
	}()
	select {
	case <-ready:
	case err := <-done:
		h.t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
		shut()
	})
	h.t.Cleanup(stop)
	return stop
}

// tokens creates a token for TCP, uses it and revokes it.
func (h *realGateway) tokens(owner *client.Client) {
	t, ctx := h.t, h.t.Context()
	url := "http://" + h.at.TCP
	stranger := newClient(t, client.Options{Address: url})
	defer stranger.Close()
	if _, err := stranger.Status(ctx); wire.KindOf(err) != wire.NoToken {
		t.Errorf("accepted with %v", err)
	}
	made := must[wire.Created](t)(owner.Access.CreateToken(ctx, wire.NewToken{Name: "reader", Scope: wire.ScopeRead}))
	reader := newClient(t, client.Options{Address: url, Token: made.Secret})
	defer reader.Close()
	must[wire.Status](t)(reader.Status(ctx))
	if _, err := reader.NewSession(ctx, wire.NewSession{}); wire.KindOf(err) != wire.NotAllowed {
		t.Errorf("wrote with %v", err)
	}
	if all := must[[]wire.Token](t)(owner.Access.Tokens(ctx)); len(all) != 1 || all[0].Name != "reader" {
		t.Errorf("the tokens are %+v", all)
	}
	must[wire.Token](t)(owner.Access.RevokeToken(ctx, made.ID))
	if _, err := reader.Status(ctx); wire.KindOf(err) != wire.NoToken {
		t.Errorf("accepted with %v after the token was revoked", err)
	}
}
