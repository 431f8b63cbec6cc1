package api_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/gateway"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// bearer returns a client with a token.
func (h *realServer) bearer(t *testing.T, n wire.NewToken) *client.Client {
	t.Helper()
	made, err := h.tokens.Create(context.Background(), n)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Options{Address: "http://" + h.TCP, Token: made.Secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestData requests all data of the pages from a real gateway over HTTP.
func TestData(t *testing.T) {
	h := openRealServer(t, shortDir(t))
	ctx := t.Context()
	var ids []firn.ID
	for _, key := range []string{"agent:main:one", "agent:work:two"} {
		s := must(h.owner.NewSession(ctx, wire.NewSession{Key: key, Title: "=cmd of " + key}))(t)
		must(h.owner.Turn(ctx, s.ID, wire.Turn{Text: "hello"}))(t)
		ids = append(ids, s.ID)
	}
	bound := h.bearer(t, wire.NewToken{Name: "main", Scope: wire.ScopeWrite, Agents: []string{"main"}})

	results := must(bound.Batch(ctx, wire.Batch{IDs: append(ids, "nobody"), AddTags: []string{"red"}}))(t)
	if len(results) != 3 || results[0].Error != "" || results[0].Before == nil || len(*results[0].Before.Tags) != 0 || results[1].Error == "" || results[2].Error == "" {
		t.Errorf("a bound batch gives %+v", results)
	}
	if strings.ReplaceAll(results[1].Error, string(ids[1]), "nobody") != results[2].Error {
		t.Errorf("a session of another owner differs from a missing one: %q, %q", results[1].Error, results[2].Error)
	}
	results = must(h.owner.Batch(ctx, wire.Batch{IDs: ids, AddTags: []string{"blue"}, DropTags: []string{"red"}}))(t)
	if len(results) != 2 || results[0].Error+results[1].Error != "" || !slices.Equal(*results[0].Before.Tags, []string{"red"}) {
		t.Errorf("a batch gives %+v", results)
	}
	page := must(h.owner.SessionsPage(ctx, client.Query{Tag: "blue", Limit: 1}))(t)
	if len(page.Items) != 1 || page.Cursor == "" || !slices.Equal(page.Items[0].Tags, []string{"blue"}) {
		t.Errorf("listed: %+v", page)
	}
	for _, q := range []client.Query{{Tag: "red"}, {Source: "pi"}, {Since: time.Now().Add(time.Hour)}, {Until: time.Unix(1, 0)}} {
		if page := must(h.owner.SessionsPage(ctx, q))(t); len(page.Items) != 0 || page.Total != 0 {
			t.Errorf("%+v lists %+v", q, page)
		}
	}
	must(h.owner.Patch(ctx, ids[0], *results[0].Before))(t)
	if page := must(h.owner.SessionsPage(ctx, client.Query{Tag: "red", Source: "firn"}))(t); len(page.Items) != 1 {
		t.Errorf("undone, listed: %+v", page)
	}

	course := must(bound.Course(ctx, ids[0]))(t)
	if course.Turns != 1 || len(course.Episodes) != 1 || course.Episodes[0].Preview != "hello" {
		t.Errorf("the course is %+v", course)
	}
	_, err := bound.Course(ctx, ids[1])
	refused(t, "another's course", err, wire.NotFound)
	_, err = h.owner.Compaction(ctx, ids[0], "latest")
	refused(t, "no compaction", err, wire.NotFound)

	sources := must(h.owner.Sources(ctx))(t)
	if len(sources) != 1 || sources[0].Name != "firn" || sources[0].Sessions != 2 || sources[0].Bytes == 0 {
		t.Errorf("the sources are %+v", sources)
	}
	ops := must(h.owner.Ops(ctx))(t)
	if !ops.Ready || ops.Append.Count < 4 || ops.Append.Max <= 0 || ops.Append.P50 > ops.Append.P99 || ops.Append.P99 > ops.Append.Max || ops.Sync.Count == 0 ||
		ops.Status.Sessions != 2 || ops.Storage.Sessions == 0 || ops.Memory == 0 || ops.Goroutines == 0 || ops.Verified != nil {
		t.Errorf("ops are %+v", ops)
	}
	_, err = h.owner.Verify(ctx)
	refused(t, "without a verifier", err, wire.Unsupported)
	tags := []string{"work", "urgent"}
	must(h.owner.Patch(ctx, ids[0], wire.Patch{Tags: &tags}))(t)
	if all := must(h.owner.Tags(ctx))(t); fmt.Sprint(all) != "[{blue 1} {red 1}]" { // cached from a moment ago
		t.Errorf("the tags are %+v", all)
	}
	_, err = bound.Tags(ctx)
	refused(t, "bound tags", err, wire.NotAllowed)
	_, err = bound.Sources(ctx)
	refused(t, "bound sources", err, wire.NotAllowed)
	_, err = bound.Ops(ctx)
	refused(t, "bound ops", err, wire.NotAllowed)
	_, err = bound.Verify(ctx)
	refused(t, "bound verify", err, wire.NotAllowed)
	for _, q := range []client.Query{{Sort: "title"}, {Order: "asc"}, {Group: "project"}} {
		_, err = bound.SessionsPage(ctx, q)
		refused(t, "bound order of sessions", err, wire.NotAllowed)
	}
	_, err = bound.UsageOf(ctx, client.UsageQuery{By: "day"})
	refused(t, "bound usage", err, wire.NotAllowed)

	spent := must(h.owner.UsageOf(ctx, client.UsageQuery{By: "session", And: "agent"}))(t)
	if len(spent.Rows) != 2 || spent.And != "agent" || spent.Rows[0].And == spent.Rows[1].And {
		t.Errorf("used was %+v", spent)
	}
	var table strings.Builder
	if err := h.owner.UsageTable(ctx, client.UsageQuery{By: "session", And: "agent"}, &table); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(table.String())).ReadAll()
	if err != nil || len(rows) != 3 || strings.Join(rows[0], " ") != "session agent title answers input output cacheRead cacheWrite cost" || !strings.HasPrefix(rows[1][2], "'=cmd") {
		t.Errorf("the table is %q, %v", rows, err)
	}
	for _, q := range []client.UsageQuery{{By: "day", And: "day"}, {By: "day", And: "week"}} {
		_, err = h.owner.UsageOf(ctx, q)
		refused(t, q.And, err, wire.Invalid)
	}
}

// must returns a value or fails the test.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestSessionCalledBatch checks that a session named batch can be found.
func TestSessionCalledBatch(t *testing.T) {
	h := openRealServer(t, shortDir(t))
	s, err := h.owner.NewSession(t.Context(), wire.NewSession{Title: "batch"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := h.owner.Session(t.Context(), "batch"); err != nil || got.ID != s.ID {
		t.Errorf("it is %s, %v", got.ID, err)
	}
	for _, b := range []wire.Batch{{}, {IDs: []firn.ID{s.ID}}, {IDs: make([]firn.ID, 501), AddTags: []string{"x"}}, {IDs: []firn.ID{s.ID}, AddTags: []string{"a b"}}} {
		_, err := h.owner.Batch(t.Context(), b)
		refused(t, "a batch that makes no sense", err, wire.Invalid)
	}
}

func refused(t *testing.T, what string, err error, kind wire.Kind) {
	t.Helper()
	if wire.KindOf(err) != kind {
		t.Errorf("%s: %v", what, err)
	}
}

// TestVerifyRuns checks that a verification runs in the background, reports progress and
// ends with the gateway.
func TestVerifyRuns(t *testing.T) {
	steps, begun := make(chan int), make(chan bool)
	st := memstore.New(memstore.Options{})
	defer st.Close()
	verify := func(ctx context.Context, report func(gateway.VerifyStep)) error {
		begun <- true
		for n := range steps {
			report(gateway.VerifyStep{Done: n, Of: 3, Faults: []wire.VerifyFault{{Session: "s", What: "torn"}}})
			begun <- true
		}
		<-ctx.Done()
		return ctx.Err()
	}
	g, err := gateway.New(gateway.Options{Store: st, Setup: echoing(st), Verify: verify})
	if err != nil {
		t.Fatal(err)
	}
	if ops, err := g.Ops(t.Context()); err != nil || ops.Verified != nil {
		t.Errorf("before it is %+v, %v", ops.Verified, err)
	}
	first, err := g.Verify(t.Context())
	if err != nil || first.Begun.IsZero() || !first.Done.IsZero() {
		t.Fatalf("it started with %+v, %v", first, err)
	}
	<-begun
	again, err := g.Verify(t.Context())
	if err != nil || !again.Begun.Equal(first.Begun) {
		t.Errorf("a second one begins: %+v, %v", again, err)
	}
	for n := range 120 {
		steps <- n
		<-begun
	}
	close(steps)
	ops, err := g.Ops(t.Context())
	if err != nil || ops.Verified == nil || ops.Verified.Sessions != 119 || ops.Verified.Of != 3 || len(ops.Verified.Faults) != 100 || !ops.Verified.Done.IsZero() {
		t.Errorf("under way it is %+v, %v", ops.Verified, err)
	}
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ops, err = g.Ops(t.Context()); err != nil || ops.Verified.Done.IsZero() || ops.Verified.Error == "" {
		t.Errorf("broken off it is %+v, %v", ops.Verified, err)
	}
	if _, err := g.Verify(t.Context()); wire.KindOf(err) != wire.Closing {
		t.Errorf("closed it verifies: %v", err)
	}
}
