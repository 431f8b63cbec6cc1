package client_test

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/door/api"
	"firn.dev/wire"
)

// routed is a method of the client and the request that it makes.
type routed struct {
	method string
	call   func(c *client.Client) error
	want   string
}

// first returns the error of the first element of a sequence.
func first[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		return err
	}
	return nil
}

var routeTable = routes()

func routes() []routed {
	ctx := context.Background()
	title, since := "trip", time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	no := false
	type c = client.Client
	return []routed{
		{"Session", func(c *c) error { _, err := c.Session(ctx, "a/b c?:x"); return err }, "GET /v1/sessions/a%2Fb%20c%3F:x"},
		{"Resolve", func(c *c) error { _, err := c.Resolve(ctx, "@agent:main:main"); return err }, "GET /v1/sessions/@agent:main:main"},
		{"SessionsPage", func(c *c) error { _, err := c.SessionsPage(ctx, client.Query{}); return err }, "GET /v1/sessions"},
		{"SessionsPage", func(c *c) error {
			_, err := c.SessionsPage(ctx, client.Query{Agent: "a", Key: "k", Text: "x y", Archived: true, Hidden: true, Live: true, Limit: 3, Cursor: "c"})
			return err
		}, "GET /v1/sessions?agent=a&archived=true&cursor=c&hidden=true&key=k&limit=3&live=true&text=x+y"},
		{"SessionsPage", func(c *c) error {
			_, err := c.SessionsPage(ctx, client.Query{Source: "pi", Tag: "x", Since: since, Until: since.Add(time.Hour)})
			return err
		}, "GET /v1/sessions?since=2026-03-01T12%3A00%3A00Z&source=pi&tag=x&until=2026-03-01T13%3A00%3A00Z"},
		{"Course", func(c *c) error { _, err := c.Course(ctx, session); return err }, "GET /v1/sessions/0199-test/course"},
		{"Compaction", func(c *c) error { _, err := c.Compaction(ctx, session, "latest"); return err }, "GET /v1/sessions/0199-test/compactions/latest"},
		{"Batch", func(c *c) error {
			_, err := c.Batch(ctx, wire.Batch{IDs: []firn.ID{session}, AddTags: []string{"x"}})
			return err
		}, `POST /v1/sessions/batch {"ids":["0199-test"],"patch":{},"addTags":["x"]}`},
		{"Tags", func(c *c) error { _, err := c.Tags(ctx); return err }, "GET /v1/tags"},
		{"Sources", func(c *c) error { _, err := c.Sources(ctx); return err }, "GET /v1/sources"},
		{"Ops", func(c *c) error { _, err := c.Ops(ctx); return err }, "GET /v1/ops"},
		{"Stored", func(c *c) error { return first(c.Stored(ctx)) }, "GET /v1/store"},
		{"StoredLines", func(c *c) error { return first(c.StoredLines(ctx, session)) }, "GET /v1/store/0199-test"},
		{"Merge", func(c *c) error {
			_, err := c.Transfer.Merge(ctx, session, wire.Merge{Expect: 7, Head: "e1"}, strings.NewReader("{}\n"))
			return err
		}, "POST /v1/store/0199-test/merge?expect=7&head=e1 {}"},
		{"SyncFiles", func(c *c) error { _, err := c.Transfer.SyncFiles(ctx); return err }, "GET /v1/sync"},
		{"OpenSyncFile", func(c *c) error { _, err := c.Transfer.OpenSyncFile(ctx, "pieces/aa/b"); return err }, "GET /v1/sync/pieces%2Faa%2Fb"},
		{"PutSyncFile", func(c *c) error {
			_, err := c.Transfer.PutSyncFile(ctx, "pieces/aa/b", strings.NewReader("x"))
			return err
		}, "PUT /v1/sync/pieces%2Faa%2Fb x"},
		{"OpenStored", func(c *c) error { _, err := c.OpenStored(ctx, session); return err }, "GET /v1/store/0199-test"},
		{"Verify", func(c *c) error { _, err := c.Verify(ctx); return err }, "POST /v1/verify {}"},
		{"EditNote", func(c *c) error {
			_, err := c.Memory.Edit(ctx, wire.MemoryPlace{Agent: "a"}, "user/tea", "green")
			return err
		}, `PUT /v1/memory/notes/user%2Ftea?agent=a {"text":"green"}`},
		{"UsageOf", func(c *c) error {
			_, err := c.UsageOf(ctx, client.UsageQuery{By: "day", And: "model", Since: since})
			return err
		}, "GET /v1/usage?and=model&by=day&since=2026-03-01T12%3A00%3A00Z"},
		{"UsageTable", func(c *c) error { return c.UsageTable(ctx, client.UsageQuery{By: "day"}, io.Discard) }, "GET /v1/usage?by=day&format=csv"},
		{"NewSession", func(c *c) error { _, err := c.NewSession(ctx, wire.NewSession{Key: "k"}); return err }, `POST /v1/sessions {"key":"k"}`},
		{"Patch", func(c *c) error { _, err := c.Patch(ctx, session, wire.Patch{Title: &title}); return err }, `PATCH /v1/sessions/0199-test {"title":"trip"}`},
		{"Remove", func(c *c) error { _, err := c.Remove(ctx, session, wire.Remove{Reason: "old", Bin: true}); return err }, "DELETE /v1/sessions/0199-test?bin=true&reason=old"},
		{"Restore", func(c *c) error { _, err := c.Restore(ctx, session); return err }, "POST /v1/sessions/0199-test/restore {}"},
		{"Purge", func(c *c) error { _, err := c.Purge(ctx, session, wire.Erase{Sure: session}); return err }, `POST /v1/sessions/0199-test/purge {"sure":"0199-test"}`},
		{"EntriesPage", func(c *c) error {
			_, err := c.EntriesPage(ctx, session, client.EntryQuery{View: wire.ViewBranch, After: 1, Before: 9, Back: true, Limit: 2, Cursor: "c"})
			return err
		}, "GET /v1/sessions/0199-test/entries?after=1&back=true&before=9&cursor=c&limit=2&view=branch"},
		{"EntriesPage", func(c *c) error {
			_, err := c.EntriesPage(ctx, session, client.EntryQuery{Head: "e1", HTML: true})
			return err
		}, "GET /v1/sessions/0199-test/entries?as=html&head=e1"},
		{"Entry", func(c *c) error { _, err := c.Entry(ctx, session, "#3", true); return err }, "GET /v1/sessions/0199-test/entries/%233?as=html"},
		{"Image", func(c *c) error { _, _, err := c.Image(ctx, session, "e1", 2); return err }, "GET /v1/sessions/0199-test/entries/e1/images/2"},
		{"Append", func(c *c) error { _, err := c.Append(ctx, session, 7, wire.NewEntries{User: "hi"}); return err }, `POST /v1/sessions/0199-test/entries {"user":"hi"} If-Match "7"`},
		{"Append", func(c *c) error {
			_, err := c.Append(ctx, session, client.Any, wire.NewEntries{User: "hi"})
			return err
		}, `POST /v1/sessions/0199-test/entries {"user":"hi"}`},
		{"Formats", func(c *c) error { _, err := c.Transfer.Formats(ctx); return err }, "GET /v1/formats"},
		{"Import", func(c *c) error {
			_, err := c.Transfer.Import(ctx, wire.Import{From: "pi", ID: session, Agent: "a", Title: "t", Name: "n.jsonl"}, strings.NewReader("{}"))
			return err
		}, "POST /v1/import?agent=a&from=pi&id=0199-test&name=n.jsonl&title=t {}"},
		{"Export", func(c *c) error { return c.Transfer.Export(ctx, session, "codex", io.Discard) }, "GET /v1/sessions/0199-test/export?format=codex"},
		{"ExportTo", func(c *c) error { return c.Transfer.ExportTo(ctx, session, "codex", "/home/u", io.Discard) }, "GET /v1/sessions/0199-test/export?cwd=%2Fhome%2Fu&format=codex"},
		{"ExportAs", func(c *c) error {
			return c.Transfer.ExportAs(ctx, session, wire.Export{Format: "codex", Mask: true}, io.Discard)
		}, "GET /v1/sessions/0199-test/export?format=codex&mask=true"},
		{"ExportPage", func(c *c) error { return c.Transfer.ExportPage(ctx, session, "disk", io.Discard) }, "GET /v1/sessions/0199-test/export?format=html&view=disk"},
		{"FidelityAs", func(c *c) error {
			_, err := c.Transfer.FidelityAs(ctx, session, wire.Export{Format: "pi", Mask: true})
			return err
		}, "GET /v1/sessions/0199-test/export?format=pi&mask=true&report=true"},
		{"Fidelity", func(c *c) error { _, err := c.Transfer.Fidelity(ctx, session, "codex"); return err }, "GET /v1/sessions/0199-test/export?format=codex&report=true"},
		{"Bin", func(c *c) error { _, err := c.Bin(ctx, 5); return err }, "GET /v1/bin?limit=5"},
		{"EmptyBin", func(c *c) error { _, err := c.EmptyBin(ctx, wire.EmptyBin{Sure: true}); return err }, `POST /v1/bin/empty {"sure":true}`},
		{"FileChanges", func(c *c) error { _, err := c.Files.Changes(ctx, session, true); return err }, "GET /v1/sessions/0199-test/files?diff=true"},
		{"RewindFiles", func(c *c) error {
			_, err := c.Files.Rewind(ctx, session, wire.FileRewind{Back: 1, Plan: true})
			return err
		}, `POST /v1/sessions/0199-test/files/rewind {"back":1,"plan":true}`},
		{"Blame", func(c *c) error { _, err := c.Files.Blame(ctx, "/a b"); return err }, "GET /v1/blame?path=%2Fa+b"},
		{"Tree", func(c *c) error { _, err := c.Tree(ctx, session, 5, "c"); return err }, "GET /v1/sessions/0199-test/tree?cursor=c&limit=5"},
		{"Children", func(c *c) error { _, err := c.Children(ctx, session); return err }, "GET /v1/sessions/0199-test/children"},
		{"Damage", func(c *c) error { _, err := c.Damage(ctx, session); return err }, "GET /v1/sessions/0199-test/damage"},
		{"Window", func(c *c) error { _, err := c.Window(ctx, session, "openai"); return err }, "GET /v1/sessions/0199-test/window?as=openai"},
		{"Compactions", func(c *c) error { _, err := c.Compactions(ctx, session); return err }, "GET /v1/sessions/0199-test/compactions"},
		{"Compact", func(c *c) error { _, err := c.Compact(ctx, session, wire.Compact{Hint: "h"}); return err }, `POST /v1/sessions/0199-test/compactions {"hint":"h"}`},
		{"Undo", func(c *c) error { _, err := c.Undo(ctx, session, "e1"); return err }, "DELETE /v1/sessions/0199-test/compactions/e1"},
		{"Redo", func(c *c) error { _, err := c.Redo(ctx, session, "e1"); return err }, "POST /v1/sessions/0199-test/compactions/e1/redo {}"},
		{"Fork", func(c *c) error { _, err := c.Fork(ctx, session, wire.Fork{At: "e1"}); return err }, `POST /v1/sessions/0199-test/fork {"at":"e1"}`},
		{"Rewind", func(c *c) error { _, err := c.Rewind(ctx, session, wire.Move{Back: 2}); return err }, `POST /v1/sessions/0199-test/rewind {"back":2}`},
		{"Label", func(c *c) error { _, err := c.Label(ctx, session, wire.Label{Entry: "e1", Name: "n"}); return err }, `POST /v1/sessions/0199-test/label {"entry":"e1","name":"n"}`},
		{"Hide", func(c *c) error { _, err := c.Hide(ctx, session, wire.Hide{Entry: "#1"}); return err }, `POST /v1/sessions/0199-test/hide {"entry":"#1"}`},
		{"Show", func(c *c) error { _, err := c.Show(ctx, session, wire.Hide{Entry: "#1"}); return err }, `POST /v1/sessions/0199-test/show {"entry":"#1"}`},
		{"Turn", func(c *c) error {
			_, err := c.Turn(ctx, session, wire.Turn{ID: "e1", Text: "hi", Wait: &no})
			return err
		}, `POST /v1/sessions/0199-test/turns {"text":"hi","id":"e1","wait":false}`},
		{"Approvals", func(c *c) error { _, err := c.Approvals.List(ctx, session); return err }, "GET /v1/sessions/0199-test/approvals"},
		{"AnswerApproval", func(c *c) error {
			_, err := c.Approvals.Answer(ctx, session, "c/1", wire.ApprovalAnswer{Decision: "allow", Digest: "d"})
			return err
		}, `POST /v1/sessions/0199-test/approvals/c%2F1 {"decision":"allow","digest":"d"}`},
		{"Queues.Change", func(c *c) error {
			_, err := c.Queues.Change(ctx, session, wire.QueueChange{Order: []firn.EntryID{"b", "a"}})
			return err
		}, `PATCH /v1/sessions/0199-test/queue {"order":["b","a"]}`},
		{"Stop", func(c *c) error { _, err := c.Stop(ctx, session); return err }, "POST /v1/sessions/0199-test/kill {}"},
		{"Inbound", func(c *c) error {
			_, err := c.Inbound(ctx, wire.Inbound{Channel: "mail", PeerKind: "direct", PeerID: "ann", Text: "hi", ID: "m1"})
			return err
		}, `POST /v1/inbound {"channel":"mail","peerKind":"direct","peerId":"ann","text":"hi","id":"m1"}`},
		{"Keys", func(c *c) error { _, err := c.Keys.List(ctx, "main"); return err }, "GET /v1/keys?agent=main&limit=1000"},
		{"KeysPage", func(c *c) error { _, err := c.Keys.Page(ctx, "main", 5, "c"); return err }, "GET /v1/keys?agent=main&cursor=c&limit=5"},
		{"Key", func(c *c) error { _, err := c.Keys.Get(ctx, "agent:main:x/y"); return err }, "GET /v1/keys/agent:main:x%2Fy"},
		{"RemoveKey", func(c *c) error { _, err := c.Keys.Remove(ctx, "k"); return err }, `DELETE /v1/keys/k`},
		{"PointKey", func(c *c) error { _, err := c.Keys.Point(ctx, "k", session); return err }, `PUT /v1/keys/k {"key":"k","agent":"","session":"0199-test"}`},
		{"ResetKey", func(c *c) error { _, err := c.Keys.Reset(ctx, "k"); return err }, "POST /v1/keys/k/reset {}"},
		{"ContinuePrevious", func(c *c) error { _, err := c.Keys.ContinuePrevious(ctx, "k"); return err }, "POST /v1/keys/k/continue-previous {}"},
		{"Running", func(c *c) error { _, err := c.Running(ctx); return err }, "GET /v1/running"},
		{"UsageOf", func(c *c) error { _, err := c.UsageOf(ctx, client.UsageQuery{}); return err }, "GET /v1/usage"},
		{"UsageReport", func(c *c) error { _, err := c.UsageReport(ctx, since); return err }, "GET /v1/usage/report?since=2026-03-01T12%3A00%3A00Z"},
		{"Search", func(c *c) error {
			two := 2
			_, err := c.Search(ctx, wire.SearchQuery{Query: "a b", Role: "user", Tool: "t", Agent: "g", Key: "k", Source: "s", Path: "p", Session: "0199", Since: "7d", Until: "1d", In: "all", Before: &two, After: &two, Limit: 3, Cursor: "c"})
			return err
		}, "GET /v1/search?after=2&agent=g&before=2&cursor=c&in=all&key=k&limit=3&path=p&q=a+b&role=user&session=0199&since=7d&source=s&tool=t&until=1d"},
		{"IndexState", func(c *c) error { _, err := c.Index.State(ctx); return err }, "GET /v1/index"},
		{"Reindex", func(c *c) error { _, err := c.Index.Rebuild(ctx); return err }, "POST /v1/index/rebuild {}"},
		{"CheckIndex", func(c *c) error { _, err := c.Index.Check(ctx); return err }, "POST /v1/index/check {}"},
		{"Status", func(c *c) error { _, err := c.Status(ctx); return err }, "GET /v1/status"},
		{"Settings.List", func(c *c) error { _, err := c.Settings.List(ctx); return err }, "GET /v1/settings"},
		{"Agents", func(c *c) error { _, err := c.Agents(ctx); return err }, "GET /v1/agents"},
		{"Models", func(c *c) error { _, err := c.Models(ctx); return err }, "GET /v1/models"},
		{"Jobs", func(c *c) error { _, err := c.Jobs(ctx); return err }, "GET /v1/jobs"},
		{"RunJob", func(c *c) error { _, err := c.RunJob(ctx, "daily"); return err }, "POST /v1/jobs/daily/run {}"},
		{"CallHook", func(c *c) error { _, err := c.CallHook(ctx, "deploy", map[string]int{"n": 1}); return err }, `POST /v1/hooks/deploy {"n":1}`},
		{"Maintain", func(c *c) error { _, err := c.Maintain(ctx, wire.Maintain{Enforce: true}); return err }, `POST /v1/maintenance {"enforce":true}`},
		{"Notes", func(c *c) error {
			_, err := c.Memory.Notes(ctx, wire.MemoryPlace{Agent: "main", Scope: "agent"})
			return err
		}, "GET /v1/memory?agent=main&scope=agent"},
		{"Note", func(c *c) error { _, err := c.Memory.Note(ctx, wire.MemoryPlace{}, "agent/tea"); return err }, "GET /v1/memory/notes/agent%2Ftea"},
		{"Recall", func(c *c) error {
			_, err := c.Memory.Recall(ctx, wire.MemoryPlace{Key: "k"}, "green tea", 3)
			return err
		}, "GET /v1/memory/search?key=k&limit=3&q=green+tea"},
		{"Remember", func(c *c) error {
			_, err := c.Memory.Remember(ctx, wire.MemoryPlace{Project: "/w"}, wire.NewNote{Text: "t"})
			return err
		}, `POST /v1/memory?project=%2Fw {"text":"t"}`},
		{"Forget", func(c *c) error { _, err := c.Memory.Forget(ctx, wire.MemoryPlace{}, "extracted#1a2b"); return err }, "DELETE /v1/memory/notes/extracted%231a2b"},
		{"ClearMemory", func(c *c) error { _, err := c.Memory.Clear(ctx, wire.MemoryPlace{}); return err }, "DELETE /v1/memory"},
		{"Dream", func(c *c) error {
			_, err := c.Memory.Dream(ctx, wire.MemoryPlace{}, wire.DreamOrder{Plan: true})
			return err
		}, `POST /v1/memory/dream {"plan":true}`},
		{"MemoryChanges", func(c *c) error { _, err := c.Memory.Changes(ctx, wire.MemoryPlace{}); return err }, "GET /v1/memory/changes"},
		{"UndoMemory", func(c *c) error {
			_, err := c.Memory.Undo(ctx, wire.MemoryPlace{}, "c1", wire.UndoMemory{Edits: []int{2}})
			return err
		}, `POST /v1/memory/changes/c1/undo {"edits":[2]}`},
		{"Tokens", func(c *c) error { _, err := c.Access.Tokens(ctx); return err }, "GET /v1/tokens"},
		{"CreateToken", func(c *c) error {
			_, err := c.Access.CreateToken(ctx, wire.NewToken{Name: "n", Scope: wire.ScopeRead})
			return err
		}, `POST /v1/tokens {"name":"n","scope":"read"}`},
		{"OrderLogin", func(c *c) error {
			_, err := c.Access.OrderLogin(ctx, wire.LoginOrder{Scope: wire.ScopeRead})
			return err
		}, `POST /v1/logins {"scope":"read"}`},
		{"Login", func(c *c) error { _, err := c.Access.Login(ctx, wire.Login{Code: "c"}); return err }, `POST /v1/login {"code":"c"}`},
		{"Logout", func(c *c) error { _, err := c.Access.Logout(ctx); return err }, "POST /v1/logout {}"},
		{"Me", func(c *c) error { _, err := c.Access.Me(ctx); return err }, "GET /v1/me"},
		{"RevokeToken", func(c *c) error { _, err := c.Access.RevokeToken(ctx, "t1"); return err }, "DELETE /v1/tokens/t1"},
		{"Events", func(c *c) error {
			for _, err := range c.Events(ctx, session, 7) {
				return err
			}
			return nil
		}, "GET /v1/sessions/0199-test/events Last-Event-ID 7"},
		{"PageEvents", func(c *c) error {
			for _, err := range c.PageEvents(ctx, session, 7) {
				return err
			}
			return nil
		}, "GET /v1/sessions/0199-test/events?as=html Last-Event-ID 7"},
		{"AllEvents", func(c *c) error {
			for _, err := range c.AllEvents(ctx) {
				return err
			}
			return nil
		}, "GET /v1/events"},
		{"Once", func(c *c) error {
			for _, err := range c.Answers.Once(ctx, wire.Once{Agent: "a", Entries: []json.RawMessage{json.RawMessage("{}")}}) {
				return err
			}
			return nil
		}, `POST /v1/answers {"agent":"a","entries":[{}]}`},
		{"StreamTurn", func(c *c) error {
			for _, err := range c.StreamTurn(ctx, session, wire.Turn{ID: "e1", Text: "hi"}) {
				return err
			}
			return nil
		}, `POST /v1/sessions/0199-test/turns {"text":"hi","id":"e1"}`},
		{"Sessions", func(c *c) error {
			for _, err := range c.Sessions(ctx, client.Query{Agent: "a"}) {
				return err
			}
			return nil
		}, "GET /v1/sessions?agent=a"},
		{"Entries", func(c *c) error {
			for _, err := range c.Entries(ctx, session, client.EntryQuery{}) {
				return err
			}
			return nil
		}, "GET /v1/sessions/0199-test/entries"},
	}
}

// TestRoutes compares the request of every method with its route.
func TestRoutes(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range routeTable {
		t.Run(r.method, func(t *testing.T) {
			var got string
			l := local(t, func(w http.ResponseWriter, req *http.Request) {
				got = formatRequest(t, req)
				refuse(w, wire.Problem{Kind: wire.NotFound, Message: "no"})
			})
			if err := r.call(newClient(t, client.Options{Transport: l})); wire.KindOf(err) != wire.NotFound {
				t.Errorf("the error is %v", err)
			}
			if got != r.want {
				t.Errorf("received %s, want %s", got, r.want)
			}
			seen[r.method] = true
		})
	}
	for method := range reflect.TypeFor[*client.Client]().Methods() {
		if name := method.Name; !seen[name] && name != "Address" && name != "Close" {
			t.Errorf("%s is not in the table", name)
		}
	}
}

// formatRequest returns a request in short form.
func formatRequest(t *testing.T, r *http.Request) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	words := []string{r.Method, r.RequestURI}
	if len(body) > 0 {
		want := "application/json"
		if r.URL.Path == "/v1/import" || strings.HasSuffix(r.URL.Path, "/merge") {
			want = "application/x-ndjson"
		} else if r.Method == http.MethodPut && strings.HasPrefix(r.URL.Path, "/v1/sync/") {
			want = "application/octet-stream"
		}
		if r.Header.Get("Content-Type") != want {
			t.Errorf("the body is of type %q", r.Header.Get("Content-Type"))
		}
		words = append(words, strings.TrimSpace(string(body)))
	}
	for _, name := range []string{"If-Match", "Last-Event-ID"} {
		if value := r.Header.Get(name); value != "" {
			words = append(words, name, value)
		}
	}
	return strings.Join(words, " ")
}

// TestEveryRouteIsAMethod checks that the client has a method for every route that the gateway
// describes.
func TestEveryRouteIsAMethod(t *testing.T) {
	handler, _, shut := newRealGateway(t).open()
	defer shut()
	transport := local(t, api.Owner(handler).ServeHTTP)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/openapi.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.NewDecoder(response.Body).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	notOurs := []string{"GET /healthz", "GET /readyz", "GET /metrics", "GET /openapi.json"} // for operators
	duringTurns := []string{"POST /v1/sessions/{id}/calls/{call}"}                          // results of the client's tools, sent by the methods that begin a turn
	routes := 0
	for path, methods := range doc.Paths {
		maps.DeleteFunc(methods, func(_ string, op json.RawMessage) bool {
			var described struct {
				Foreign bool `json:"x-foreign"`
			}
			return json.Unmarshal(op, &described) == nil && described.Foreign // for clients of other protocols
		})
		shape := regexp.MustCompile("^" + regexp.MustCompile(`\\\{[a-z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(path), "[^/?]+") + `(\?|$)`)
		for method := range methods {
			method = strings.ToUpper(method)
			routes++
			if !slices.Contains(notOurs, method+" "+path) && !slices.Contains(duringTurns, method+" "+path) && !slices.ContainsFunc(routeTable, func(r routed) bool {
				words := strings.Fields(r.want)
				return words[0] == method && shape.MatchString(words[1])
			}) {
				t.Errorf("no method of the client requests %s %s", method, path)
			}
		}
	}
	if routes < 40 {
		t.Errorf("the gateway describes %d routes", routes)
	}
}
