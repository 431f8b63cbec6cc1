package api_test

import (
	"context"
	"errors"
	"iter"
	"net/http/httptest"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/door/api"
	"firn.dev/internal/gateway"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// broken is a source whose session s-broken fails in the middle.
type broken struct{ long string }

var errBroken = errors.New("a read failed")

func (b broken) Holdings(context.Context) ([]store.Holding, error) {
	return []store.Holding{{ID: "s-broken", Bytes: 2}, {ID: "s-a", Bytes: 5, Archived: true}, {ID: "s-gone", Receipt: &store.Receipt{Session: "s-gone", Reason: "asked for"}}}, nil
}

func (b broken) Lines(_ context.Context, id firn.ID) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		switch id {
		case "s-a":
			_ = yield([]byte(`{"a":1}`), nil) && yield(nil, nil) && yield([]byte(b.long), nil)
		case "s-broken":
			_ = yield([]byte(b.long), nil) && yield(nil, errBroken)
		default:
			yield(nil, firn.ErrNotFound)
		}
	}
}

func (b broken) Bindings(context.Context) (map[string]firn.ID, error) {
	return map[string]firn.ID{"agent:main:b": "s-a", "agent:main:a": "s-broken"}, nil
}

// TestStored reads the contents of a store over HTTP byte for byte, including removed
// sessions. A failing read is an error and never a normal end.
func TestStored(t *testing.T) {
	st := memstore.New(memstore.Options{})
	long := strings.Repeat("x", 300<<10) // longer than any buffer
	g, err := gateway.New(gateway.Options{Store: st, Setup: echoing(st), Source: broken{long}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close(context.Background()) })
	handler := api.Owner(api.Handler(g, api.Config{}))
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	local := client.InProcess(handler)
	t.Cleanup(func() { local.Close() })
	for name, o := range map[string]client.Options{"over HTTP": {Address: server.URL}, "in process": {Transport: local}} {
		t.Run(name, func(t *testing.T) {
			c, err := client.New(o)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			readStored(t, c, long)
		})
	}
}

// readStored reads the whole store.
func readStored(t *testing.T, c *client.Client, long string) {
	t.Helper()
	var texts []string
	for line, err := range c.Stored(t.Context()) {
		switch {
		case err != nil:
			t.Fatal(err)
		case line.StoredSession != nil && line.Receipt != nil:
			texts = append(texts, string(line.ID)+" "+line.Receipt.Reason)
		case line.StoredSession != nil:
			texts = append(texts, string(line.ID))
		default:
			texts = append(texts, line.Key+">"+string(line.To))
		}
	}
	if got := strings.Join(texts, ", "); got != "s-a, s-broken, s-gone asked for, agent:main:a>s-broken, agent:main:b>s-a" {
		t.Errorf("it contains %s", got)
	}
	var lines []string
	for line, err := range c.StoredLines(t.Context(), "s-a") {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	if len(lines) != 3 || lines[0] != `{"a":1}` || lines[1] != "" || lines[2] != long {
		t.Errorf("the lines are %.40q", lines)
	}
	var last error
	for _, err := range c.StoredLines(t.Context(), "s-broken") {
		last = err
	}
	if last == nil {
		t.Error("a session that broke off ended as if it were whole")
	}
	for id, kind := range map[firn.ID]wire.Kind{"s-none": wire.NotFound, "a b": wire.Invalid} {
		for _, err := range c.StoredLines(t.Context(), id) {
			refused(t, string(id), err, kind)
		}
	}
}

// TestStoredIsForAdmins checks that only administrators can read the store.
func TestStoredIsForAdmins(t *testing.T) {
	h := openRealServer(t, shortDir(t))
	for name, n := range map[string]wire.NewToken{
		"read": {Scope: wire.ScopeRead}, "write": {Scope: wire.ScopeWrite}, "bound": {Scope: wire.ScopeWrite, Agents: []string{"main"}},
	} {
		n.Name = name
		c := h.bearer(t, n)
		for _, err := range c.Stored(t.Context()) {
			refused(t, name, err, wire.NotAllowed)
		}
		for _, err := range c.StoredLines(t.Context(), "s-a") {
			refused(t, name, err, wire.NotAllowed)
		}
		_, err := c.OpenStored(t.Context(), "s-a")
		refused(t, name, err, wire.NotAllowed)
	}
	for _, err := range h.owner.Stored(t.Context()) {
		refused(t, "a gateway that cannot", err, wire.Unsupported)
	}
}
