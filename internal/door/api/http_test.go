package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/door/api"
	"firn.dev/wire"
)

// TestRoutesReachTheGateway requests every route and checks the resulting gateway calls.
func TestRoutesReachTheGateway(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	cases := []struct {
		method, target string
		body           any
		want           string
	}{
		{"GET", "/v1/sessions?agent=work&text=x&limit=2", nil, `Sessions {Agent:work Key: Sender: Text:x Source: Tag: Directory: Under: Since:0001-01-01 00:00:00 +0000 UTC Until:0001-01-01 00:00:00 +0000 UTC Archived:false Hidden:false Empty:false Live:false Limit:2 Cursor: Count:false State:false Sort: Direction: Group:}`},
		{"GET", "/v1/sessions?archived&hidden=true&empty&live=1&key=k&cursor=c&sender=ann&state", nil, `Sessions {Agent: Key:k Sender:ann Text: Source: Tag: Directory: Under: Since:0001-01-01 00:00:00 +0000 UTC Until:0001-01-01 00:00:00 +0000 UTC Archived:true Hidden:true Empty:true Live:true Limit:0 Cursor:c Count:false State:true Sort: Direction: Group:}`},
		{"POST", "/v1/sessions", wire.NewSession{Agent: "main"}, `NewSession {Key: Agent:main CWD: Title: Fresh:false Defaults:false}`},
		{"GET", "/v1/sessions/aaaa-1", nil, `Session aaaa-1`},
		{"GET", "/v1/sessions/a%20plan", nil, `Session a plan`},
		{"GET", "/v1/sessions/@agent:main:main", nil, `Session @agent:main:main`},
		{"PATCH", "/v1/sessions/aaaa-1", wire.Patch{}, `Patch aaaa-1`},
		{"DELETE", "/v1/sessions/aaaa-1?reason=old&bin=true", nil, `Remove aaaa-1 {Reason:old Bin:true}`},
		{"GET", "/v1/sessions/aaaa-1/entries?view=branch&after=10&before=20&back=1&limit=5000", nil, `Entries aaaa-1 {View:branch After:10 Before:20 Limit:1000 Back:true Cursor: Head: HTML:false}`},
		{"POST", "/v1/sessions/aaaa-1/entries", wire.NewEntries{User: "hello"}, `Append aaaa-1 18446744073709551614 0 "hello"`},
		{"GET", "/v1/sessions/aaaa-1/tree?limit=3&cursor=x", nil, `Tree aaaa-1 3 x`},
		{"GET", "/v1/sessions/aaaa-1/damage", nil, `Damage aaaa-1`},
		{"GET", "/v1/sessions/aaaa-1/window?as=openai", nil, `Window aaaa-1 openai`},
		{"GET", "/v1/sessions/aaaa-1/compactions", nil, `Compactions aaaa-1`},
		{"POST", "/v1/sessions/aaaa-1/compactions", wire.Compact{Hint: "h"}, `Compact aaaa-1 {Hint:h KeepRecent:0 Model: Plan:false}`},
		{"DELETE", "/v1/sessions/aaaa-1/compactions/c1", nil, `Undo aaaa-1 c1`},
		{"POST", "/v1/sessions/aaaa-1/compactions/c1/redo", nil, `Redo aaaa-1 c1`},
		{"POST", "/v1/sessions/aaaa-1/compactions/c1:redo", struct{}{}, `Redo aaaa-1 c1`},
		{"POST", "/v1/sessions/aaaa-1/fork", wire.Fork{Title: "t"}, `Fork aaaa-1 {At: Title:t Key:}`},
		{"POST", "/v1/sessions/aaaa-1:fork", nil, `Fork aaaa-1 {At: Title: Key:}`},
		{"POST", "/v1/sessions/a%20plan:fork", nil, `Fork aaaa-1 {At: Title: Key:}`},
		{"POST", "/v1/sessions/@agent:main:main:fork", nil, `Fork aaaa-1 {At: Title: Key:}`},
		{"POST", "/v1/sessions/aaaa-1:rewind", wire.Move{Back: 2}, `Rewind aaaa-1 {To: Back:2 Summary:false}`},
		{"GET", "/v1/sessions/aaaa-1/files?diff=true", nil, `FileChanges aaaa-1 true`},
		{"POST", "/v1/sessions/aaaa-1/files/rewind", wire.FileRewind{Back: 2, Plan: true}, `RewindFiles aaaa-1 2 true`},
		{"GET", "/v1/blame?path=/a", nil, `Blame /a`},
		{"POST", "/v1/sessions/aaaa-1:label", wire.Label{Entry: "#1", Name: "x"}, `Label aaaa-1 {Entry:#1 Name:x}`},
		{"POST", "/v1/sessions/aaaa-1:hide", wire.Hide{Entry: "#1"}, `Hide aaaa-1 {Entry:#1 Reason:}`},
		{"POST", "/v1/sessions/aaaa-1:show", wire.Hide{Entry: "#1"}, `Show aaaa-1 {Entry:#1 Reason:}`},
		{"POST", "/v1/sessions/aaaa-1:restore", nil, `Restore aaaa-1`},
		{"POST", "/v1/sessions/in-the-bin:restore", nil, `Restore in-the-bin`},
		{"POST", "/v1/sessions/aaaa-1:purge", wire.Erase{Sure: "aaaa-1"}, `Purge aaaa-1 {Entries:[] Reason: Sure:aaaa-1 Plan:false}`},
		{"GET", "/v1/bin?limit=1", nil, `Bin`},
		{"POST", "/v1/bin/empty", wire.EmptyBin{Sessions: []firn.ID{"bbbb-1"}, Sure: true}, `EmptyBin [bbbb-1] true`},
		{"GET", "/v1/sessions/aaaa-1/approvals", nil, `Approvals aaaa-1`},
		{"POST", "/v1/sessions/aaaa-1/calls/c%2F1%7Cx", wire.ClientResult{Digest: "d", Text: "t"}, `AnswerCall aaaa-1 c/1|x d t`},
		{"POST", "/v1/sessions/aaaa-1/approvals/c%2F1%7Cx", wire.ApprovalAnswer{Decision: "allow", Digest: "d"}, `AnswerApproval aaaa-1 c/1|x {Call: Decision:allow Scope: Digest:d Rule: Reason:}`},
		{"POST", "/v1/sessions/aaaa-1:kill", nil, `Stop aaaa-1`},
		{"PATCH", "/v1/sessions/aaaa-1/queue", wire.QueueChange{Order: []firn.EntryID{"m2"}, Remove: []firn.EntryID{"m1"}}, `ChangeQueue aaaa-1 [m2] [m1]`},
		{"POST", "/v1/sessions/aaaa-1/turns", wire.Turn{Text: "hi", ID: "m1"}, `Turn aaaa-1 "hi" m1`},
		{"POST", "/v1/inbound", wire.Inbound{Channel: "telegram", PeerKind: "direct", PeerID: "1", Text: "hi", ID: "m"}, `Inbound  "hi" m`},
		{"GET", "/v1/keys?agent=main", nil, `Keys main`},
		{"GET", "/v1/keys/agent:main:main", nil, `Key agent:main:main`},
		{"GET", "/v1/keys/agent:main:a%2Fb", nil, `Key agent:main:a/b`},
		{"DELETE", "/v1/keys/agent:main:x", nil, `RemoveKey agent:main:x`},
		{"PUT", "/v1/keys/agent:main:x", wire.Key{Session: "aaaa-1"}, `PointKey agent:main:x aaaa-1`},
		{"POST", "/v1/keys/agent:main:x/reset", nil, `ResetKey agent:main:x`},
		{"POST", "/v1/keys/agent:main:x/continue-previous", struct{}{}, `ContinuePrevious agent:main:x`},
		{"GET", "/v1/jobs", nil, `Jobs`},
		{"POST", "/v1/jobs/daily/run", nil, `RunJob daily`},
		{"POST", "/v1/maintenance", nil, `MaintainNow false`},
		{"POST", "/v1/maintenance", wire.Maintain{Enforce: true}, `MaintainNow true`},
		{"GET", "/v1/usage?by=day&since=2026-03-01", nil, `Usage day  2026-03-01`},
		{"GET", "/v1/usage?since=2026-03-01", nil, `Usage day  2026-03-01`},
		{"GET", "/v1/usage/report?since=2026-03-01", nil, `UsageReport 2026-03-01`},
	}
	for _, c := range cases {
		var changes []change
		if c.body != nil {
			changes = append(changes, sending(c.body))
		}
		s.fake.was()
		got := s.owner(c.method, c.target, changes...)
		if got.status != 200 || !strings.HasPrefix(got.head.Get("Content-Type"), "application/json") {
			t.Errorf("%s %s: %d %s", c.method, c.target, got.status, got.body)
		}
		if asked := s.fake.was(); !slices.Contains(asked, c.want) {
			t.Errorf("%s %s asked %q, want %q", c.method, c.target, asked, c.want)
		}
		if got.head.Get("X-Request-Id") == "" || got.head.Get("X-Content-Type-Options") != "nosniff" || got.head.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s has the header %v", c.method, c.target, got.head)
		}
	}
}

// TestBadRequests checks that invalid requests are rejected in firn's format without any
// effect.
func TestBadRequests(t *testing.T) {
	s := newFakeServer(t, api.Config{MaxBody: 1000})
	huge := strings.Repeat("x", 1000)
	cases := []struct {
		name, method, target string
		change               change
		status               int
		kind                 wire.Kind
	}{
		{"unknown address", "GET", "/v2/sessions", nil, 404, wire.NotFound},
		{"root", "GET", "/", nil, 404, wire.NotFound},
		{"slash at the end", "GET", "/v1/sessions/", nil, 404, wire.NotFound},
		{"two slashes", "GET", "/v1//sessions", nil, 404, wire.NotFound},
		{"wrong method", "PUT", "/v1/sessions", nil, 405, wire.Invalid},
		{"strange method", "FROB", "/v1/sessions", nil, 405, wire.Invalid},
		{"no such session", "GET", "/v1/sessions/nobody", nil, 404, wire.NotFound},
		{"several sessions", "GET", "/v1/sessions/aaaa", nil, 409, wire.Ambiguous},
		{"traversal", "GET", "/v1/sessions/../../etc/passwd", nil, 404, wire.NotFound},
		{"hidden traversal", "GET", "/v1/sessions/..%2F..%2Fetc%2Fpasswd", nil, 404, wire.NotFound},
		{"encoded dots", "GET", "/v1/sessions/%2e%2e", nil, 404, wire.NotFound},
		{"restoring a traversal", "POST", "/v1/sessions/..%2F..%2Fx:restore", nil, 404, wire.NotFound},
		{"purging a traversal", "POST", "/v1/sessions/..%2Fx:purge", sending(wire.Erase{Sure: "../x"}), 404, wire.NotFound},
		{"NUL in a name", "GET", "/v1/sessions/a%00b", nil, 400, wire.Invalid},
		{"line break in a name", "GET", "/v1/sessions/a%0Ab", nil, 400, wire.Invalid},
		{"no UTF-8 in a name", "GET", "/v1/sessions/%ff%fe", nil, 400, wire.Invalid},
		{"long name", "GET", "/v1/sessions/" + strings.Repeat("a", 2000), nil, 400, wire.Invalid},
		{"unknown verb", "POST", "/v1/sessions/aaaa-1:frob", nil, 405, wire.Invalid},
		{"unknown parameter", "GET", "/v1/sessions?limt=3", nil, 400, wire.Invalid},
		{"parameter twice", "GET", "/v1/sessions?limit=3&limit=4", nil, 400, wire.Invalid},
		{"negative limit", "GET", "/v1/sessions?limit=-3", nil, 400, wire.Invalid},
		{"no flag", "GET", "/v1/sessions?live=perhaps", nil, 400, wire.Invalid},
		{"not a position", "GET", "/v1/sessions/aaaa-1/entries?after=x", nil, 400, wire.Invalid},
		{"no time", "GET", "/v1/usage?since=yesterday", nil, 400, wire.Invalid},
		{"broken parameters", "GET", "/v1/sessions?a=%zz", nil, 400, wire.Invalid},
		{"no body", "PATCH", "/v1/sessions/aaaa-1", nil, 400, wire.Invalid},
		{"no JSON", "PATCH", "/v1/sessions/aaaa-1", withBody("application/json", "{title"), 400, wire.Invalid},
		{"half a JSON", "PATCH", "/v1/sessions/aaaa-1", withBody("application/json", `{"title":"a`), 400, wire.Invalid},
		{"two JSONs", "PATCH", "/v1/sessions/aaaa-1", withBody("application/json", `{}{}`), 400, wire.Invalid},
		{"trailing rubbish", "PATCH", "/v1/sessions/aaaa-1", withBody("application/json", `{} x`), 400, wire.Invalid},
		{"a list", "PATCH", "/v1/sessions/aaaa-1", withBody("application/json", `[]`), 400, wire.Invalid},
		{"wrong type of member", "PATCH", "/v1/sessions/aaaa-1", withBody("application/json", `{"title":1}`), 400, wire.Invalid},
		{"unknown member", "PATCH", "/v1/sessions/aaaa-1", withBody("application/json", `{"titel":"x"}`), 400, wire.Invalid},
		{"deep JSON", "PATCH", "/v1/sessions/aaaa-1", withBody("application/json", strings.Repeat("[", 900)), 400, wire.Invalid},
		{"text", "PATCH", "/v1/sessions/aaaa-1", withBody("text/plain", `{"title":"x"}`), 415, wire.Invalid},
		{"a form", "POST", "/v1/sessions/aaaa-1/turns", withBody("application/x-www-form-urlencoded", `text=x`), 415, wire.Invalid},
		{"packed", "PATCH", "/v1/sessions/aaaa-1", both(withBody("application/json", `{}`), with("Content-Encoding", "gzip")), 415, wire.Invalid},
		{"too large", "PATCH", "/v1/sessions/aaaa-1", withBody("application/json", `{"title":"`+huge+`"}`), 413, wire.TooLarge},
		{"too large, of no known length", "PATCH", "/v1/sessions/aaaa-1", both(withBody("application/json", `{"title":"`+huge+`"}`), func(r *http.Request) { r.ContentLength = -1 }), 413, wire.TooLarge},
		{"no position in If-Match", "POST", "/v1/sessions/aaaa-1/entries", both(sending(wire.NewEntries{User: "x"}), with("If-Match", "70")), 400, wire.Invalid},
		{"conflict", "POST", "/v1/sessions/aaaa-1/entries", both(sending(wire.NewEntries{User: "x"}), with("If-Match", `"60"`)), 412, wire.Conflict},
		{"two ids", "POST", "/v1/sessions/aaaa-1/turns", both(sending(wire.Turn{Text: "x", ID: "a"}), with("Idempotency-Key", "b")), 400, wire.Invalid},
		{"strange id", "POST", "/v1/sessions/aaaa-1/turns", both(sending(wire.Turn{Text: "x"}), with("Idempotency-Key", "a\x01b")), 400, wire.Invalid},
		{"no Last-Event-ID", "GET", "/v1/sessions/aaaa-1/events", with("Last-Event-ID", "soon"), 400, wire.Invalid},
		{"another key", "PUT", "/v1/keys/agent:main:x", sending(wire.Key{Key: "agent:main:y", Session: "aaaa-1"}), 400, wire.Invalid},
		{"key to nowhere", "PUT", "/v1/keys/agent:main:x", sending(wire.Key{}), 400, wire.Invalid},
		{"no scope", "POST", "/v1/tokens", sending(wire.NewToken{Name: "x", Scope: "all"}), 400, wire.Invalid},
		{"no token to revoke", "DELETE", "/v1/tokens/nobody", nil, 404, wire.NotFound},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s.t = t
			var changes []change
			if c.change != nil {
				changes = append(changes, c.change)
			}
			got := s.owner(c.method, c.target, changes...)
			if got.status != c.status || got.kind() != c.kind {
				t.Errorf("%d %s, want %d %s", got.status, got.body, c.status, c.kind)
			}
			var f wire.Failure
			if err := json.Unmarshal([]byte(got.body), &f); err != nil || f.Error.Request != got.head.Get("X-Request-Id") || f.Error.Message == "" {
				t.Errorf("the problem is %s (%v)", got.body, err)
			}
			if asked := s.fake.was(); len(asked) > 0 {
				t.Errorf("the gateway received %q", asked)
			}
		})
	}
}

func both(changes ...change) change {
	return func(r *http.Request) {
		for _, c := range changes {
			c(r)
		}
	}
}

func TestConflictReportsTheEnd(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	got := s.owner("POST", "/v1/sessions/aaaa-1/entries", sending(wire.NewEntries{User: "x"}), with("If-Match", `"60"`))
	var f wire.Failure
	if err := json.Unmarshal([]byte(got.body), &f); err != nil || f.Error.End != 70 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	got = s.owner("POST", "/v1/sessions/aaaa-1/entries", sending(wire.NewEntries{User: "x"}), with("If-Match", `"70"`))
	if got.status != 200 || got.head.Get("ETag") != `"80"` {
		t.Errorf("%d %s %v", got.status, got.body, got.head)
	}
	if got := s.owner("GET", "/v1/sessions/aaaa-1"); got.head.Get("ETag") != `"70"` {
		t.Errorf("the session's ETag is %s", got.head.Get("ETag"))
	}
}

func TestIdempotencyKeyNamesTheMessage(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	s.owner("POST", "/v1/sessions/aaaa-1/turns", sending(wire.Turn{Text: "hi"}), with("Idempotency-Key", "m7"))
	s.owner("POST", "/v1/inbound", sending(wire.Inbound{Text: "hi"}), with("Idempotency-Key", "m8"))
	want := []string{`Turn aaaa-1 "hi" m7`, `Inbound  "hi" m8`}
	if got := s.fake.was(); !slices.Equal(got, want) {
		t.Errorf("received %q, want %q", got, want)
	}
}

// TestErrorsOfTheGateway checks the status of each error kind, and that internal errors are
// revealed only to the owner.
func TestErrorsOfTheGateway(t *testing.T) {
	var log bytes.Buffer
	s := newFakeServer(t, api.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	secret := s.token(wire.NewToken{Name: "owner", Scope: wire.ScopeRead}) // by name only
	for _, c := range []struct {
		err    error
		status int
	}{
		{fmt.Errorf("read it: %w", firn.ErrNotFound), 404},
		{firn.ErrLocked, 423}, {firn.ErrCorrupt, 500}, {firn.ErrTooLarge, 413}, {firn.ErrUnsupported, 501}, {firn.ErrNotSaved, 507}, {errors.Join(firn.ErrNotSaved, firn.ErrUnavailable), 503},
		{firn.ErrInvalid, 400}, {firn.ErrClosed, 503}, {&wire.Problem{Kind: wire.Busy}, 429}, {&wire.Problem{Kind: wire.Upstream}, 502},
		{errors.New("/home/me/secret is broken"), 500},
	} {
		s.fake.fail = c.err
		if got := s.owner("GET", "/v1/sessions/aaaa-1/tree"); got.status != c.status {
			t.Errorf("%v is %d %s", c.err, got.status, got.body)
		}
	}
	if got := s.owner("GET", "/v1/sessions/aaaa-1/tree"); !strings.Contains(got.body, "/home/me/secret") {
		t.Errorf("the owner receives %s", got.body)
	}
	if got := s.ask("GET", "/v1/sessions/aaaa-1/tree", bearing(secret)); got.kind() != wire.Internal || strings.Contains(got.body, "secret") {
		t.Errorf("others receive %s", got.body)
	}
	if !strings.Contains(log.String(), "/home/me/secret is broken") {
		t.Errorf("the log is %s", log.String())
	}
}

// TestPanics checks that a panicking handler produces a response and a log line without the
// panic value.
func TestPanics(t *testing.T) {
	var log bytes.Buffer
	s := newFakeServer(t, api.Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
	s.fake.turn = func(context.Context, firn.ID, wire.Turn) (wire.Answer, error) { panic("what the user said") }
	got := s.owner("POST", "/v1/sessions/aaaa-1/turns", sending(wire.Turn{Text: "hi"}))
	if got.status != 500 || got.kind() != wire.Internal || strings.Contains(got.body, "user said") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if l := log.String(); !strings.Contains(l, "request panicked") || strings.Contains(l, "user said") || !strings.Contains(l, "http_test.go") {
		t.Errorf("the log is %s", l)
	}
	if got := s.owner("GET", "/v1/models"); got.status != 200 {
		t.Errorf("afterwards: %d", got.status)
	}
}

// TestAccessLog checks that each request is logged with its route pattern and without any
// content.
func TestAccessLog(t *testing.T) {
	var log bytes.Buffer
	s := newFakeServer(t, api.Config{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	secret := s.token(wire.NewToken{Name: "phone", Scope: wire.ScopeWrite})
	s.ask("POST", "/v1/sessions/aaaa-1/turns", sending(wire.Turn{Text: "tell nobody"}), bearing(secret), with("X-Request-Id", "r-1"))
	s.ask("GET", "/v1/sessions?text=nobody", bearing(secret))
	s.ask("GET", "/v1/sessions/nobody%20knows", bearing(secret))
	s.ask("GET", "/nobody/home", bearing(secret))
	s.ask("GET", "/v1/models", bearing("firn_nobody"))
	l := log.String()
	for _, want := range []string{
		`method=POST route=/v1/sessions/{id}/turns status=200 ms=`, `request=r-1 who=phone`, `method=GET route=/v1/sessions status=200`,
		`route=/v1/sessions/{id} status=404`, `route=- status=404`, `route=/v1/models status=401`,
	} {
		if !strings.Contains(l, want) {
			t.Errorf("the log lacks %s:\n%s", want, l)
		}
	}
	if strings.Contains(l, "nobody") || strings.Contains(l, secret) {
		t.Errorf("the log contains too much:\n%s", l)
	}
}

func TestRequestIDs(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	for sent, kept := range map[string]bool{"abc-1.2_X": true, "with space": false, "": false, "a\"b": false, strings.Repeat("x", 65): false} {
		got := s.owner("GET", "/healthz", with("X-Request-Id", sent)).head.Get("X-Request-Id")
		if (got == sent) != kept || got == "" {
			t.Errorf("%q became %q", sent, got)
		}
	}
}

func TestHead(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	if got := s.owner("HEAD", "/v1/models"); got.status != 200 {
		t.Errorf("HEAD is %d", got.status)
	}
	got := s.owner("PUT", "/v1/keys")
	if got.status != 405 || got.head.Get("Allow") != "GET" {
		t.Errorf("%d, Allow: %s", got.status, got.head.Get("Allow"))
	}
}
