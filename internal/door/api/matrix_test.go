package api_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev/client"
	"firn.dev/internal/door/api"
	"firn.dev/internal/gateway/metrics"
	"firn.dev/wire"
)

// The authorization matrix: every operation of the route table, requested by every kind of
// caller. The rights of agents during a turn are tested in internal/ops/serve
// (TestTurnsSeeOnlyWhatTheCallerMaySee).

// asker is a kind of caller.
type asker struct {
	name string
	// changes returns the changes that identify the caller in a request.
	changes func() []change
	// socket is set for callers over the socket.
	socket bool
}

// The callers in the order of the table's columns.
const (
	byNobody = iota
	byWrong
	byRevoked
	byHook
	bySync
	byRead
	byWrite
	byAdmin
	byAgent      // write scope, bound to an unrelated agent
	byKey        // write scope, bound to an unrelated key
	byKeyReading // the same with read scope
	byBrowser    // of the token byKey
	byOwner
)

func askers(s *fakeServer) []asker {
	bears := func(secret string) func() []change { return func() []change { return []change{bearing(secret)} } }
	token := func(n wire.NewToken) func() []change { return bears(s.token(n)) }
	gone := s.token(wire.NewToken{Name: "gone", Scope: wire.ScopeAdmin})
	if _, err := s.tokens.Revoke(context.Background(), "gone"); err != nil {
		s.t.Fatal(err)
	}
	key := s.token(wire.NewToken{Name: "key", Scope: wire.ScopeWrite, Keys: []string{"agent:other:x"}})
	return []asker{
		byNobody:     {name: "nobody", changes: func() []change { return nil }},
		byWrong:      {name: "a wrong token", changes: bears("firn_" + strings.Repeat("A", 43))},
		byRevoked:    {name: "a revoked token", changes: bears(gone)},
		byHook:       {name: "hook", changes: token(wire.NewToken{Name: "hook", Scope: wire.ScopeHook})},
		bySync:       {name: "sync", changes: token(wire.NewToken{Name: "sync", Scope: wire.ScopeSync})},
		byRead:       {name: "read", changes: token(wire.NewToken{Name: "read", Scope: wire.ScopeRead})},
		byWrite:      {name: "write", changes: token(wire.NewToken{Name: "write", Scope: wire.ScopeWrite})},
		byAdmin:      {name: "admin", changes: token(wire.NewToken{Name: "admin", Scope: wire.ScopeAdmin})},
		byAgent:      {name: "bound to an agent", changes: token(wire.NewToken{Name: "agent", Scope: wire.ScopeWrite, Agents: []string{"other"}})},
		byKey:        {name: "bound to a key", changes: bears(key)},
		byKeyReading: {name: "bound to a key, reading", changes: token(wire.NewToken{Name: "keyread", Scope: wire.ScopeRead, Keys: []string{"agent:other:x"}})},
		byBrowser:    {name: "a browser of a bound token", changes: func() []change { return []change{page, holding(s.enter(wire.Login{Token: key}))} }},
		byOwner:      {name: "the owner", socket: true, changes: func() []change { return nil }},
	}
}

// rights is the scope required for an operation, and the statuses for callers that have it
// but are bound to an unrelated agent or key.
type rights struct {
	scope      wire.Scope
	agent, key int
}

// matrix lists the rights for all operations. An operation missing here fails the test. For
// bound callers, lists are filtered, figures about all sessions are refused, and a session,
// key or job outside the bounds is not found. Notes are those of the agent that a token is
// bound to. Other protocols call the API again as the caller, so they succeed here. Tokens
// with admin scope are never bound.
var matrix = []struct {
	rights
	names string
}{
	{rights{open, 200, 200}, "health openapi readiness"},
	{rights{wire.ScopeHook, 200, 200}, "me"},
	{rights{wire.ScopeSync, 403, 403}, "getSyncFile listSyncFiles putSyncFile"},
	{rights{wire.ScopeRead, 200, 200}, "allEvents countTokens getConversation getItem getResponse indexState listAgents listBin listFormats listInputItems listItems listJobs listKeys listModels listRunning listSessions mcp orderLogin search status"},
	{rights{wire.ScopeRead, 200, 404}, "getNote listMemoryChanges listNotes recall"},
	{rights{wire.ScopeRead, 403, 403}, "listSettings listSources listTags metrics ops usage usageReport"},
	{rights{wire.ScopeRead, 404, 404}, "exportSession getCompaction getCourse getDamage getEntry getImage getKey getModel getSession getTree getWindow listApprovals listChildren listCompactions listEntries sessionEvents"},
	{rights{wire.ScopeWrite, 200, 200}, "chatCompletion createConversation createItems createMessage createResponse cancelResponse deleteConversation deleteItem deleteResponse patchSessions runAgent runNamedAgent updateConversation"},
	{rights{wire.ScopeWrite, 200, 403}, "answerOnce importSession newSession"},
	{rights{wire.ScopeWrite, 200, 404}, "clearNotes dream editNote forget remember undoMemory"},
	{rights{wire.ScopeWrite, 403, 403}, "inbound"},
	{rights{wire.ScopeWrite, 404, 403}, "fork"},
	{rights{wire.ScopeWrite, 404, 404}, "answerApproval answerCall appendEntries changeQueue compact continuePrevious hide kill label listFileChanges patchSession pointKey redoCompaction removeKey removeSession resetKey restoreSession rewind rewindFiles runJob show turn undoCompaction"},
	{rights{wire.ScopeAdmin, 403, 403}, "blame checkIndex createToken emptyBin listStored listTokens maintain mergeStored purge readStored reindex revokeToken verify"},
}

// open marks operations without a required scope.
const open wire.Scope = ""

// rightsOf finds an operation in the matrix.
func rightsOf(name string) (rights, bool) {
	for _, m := range matrix {
		if slices.Contains(strings.Fields(m.names), name) {
			return m.rights, true
		}
	}
	return rights{}, false
}

// doors returns the status of operations with special rules: login and logout, which are
// not available over the socket, and hooks, which name their token.
func doors(name string, who int) (status int, ok bool) {
	switch name {
	case "login": // from our own page only
		if who == byBrowser {
			return http.StatusOK, true
		}
		return http.StatusForbidden, true
	case "logout":
		return http.StatusOK, true
	case "orderLogin":
		if who == byOwner {
			return http.StatusNotImplemented, true
		}
	case "callHook":
		switch {
		case who <= byRevoked:
			return http.StatusUnauthorized, true
		case who == byAdmin || who == byOwner:
			return http.StatusOK, true
		}
		return http.StatusNotFound, true // as if it did not exist
	}
	return 0, false
}

// want returns the expected status for a caller.
func (r rights) want(who int) int {
	has := map[int]wire.Scope{
		byHook: wire.ScopeHook, bySync: wire.ScopeSync, byRead: wire.ScopeRead, byWrite: wire.ScopeWrite, byAdmin: wire.ScopeAdmin, byAgent: wire.ScopeWrite,
		byKey: wire.ScopeWrite, byKeyReading: wire.ScopeRead, byBrowser: wire.ScopeWrite, byOwner: wire.ScopeAdmin,
	}
	switch {
	case r.scope == open:
		return http.StatusOK
	case who <= byRevoked:
		return http.StatusUnauthorized
	case !has[who].Includes(r.scope):
		return http.StatusForbidden
	case who == byAgent:
		return r.agent
	case who == byKey, who == byKeyReading, who == byBrowser:
		return r.key
	}
	return http.StatusOK
}

// someFiles keeps every file of a sync, and forgets it.
type someFiles struct{}

func (someFiles) All(context.Context) ([]string, error) { return []string{"a"}, nil }

func (someFiles) OpenFile(context.Context, string) (io.ReadCloser, int64, error) {
	return io.NopCloser(strings.NewReader("x")), 1, nil
}

func (someFiles) PutFile(_ context.Context, _ string, body io.Reader) (int64, error) {
	return io.Copy(io.Discard, body)
}

// TestAuthMatrix requests every operation as every caller.
func TestAuthMatrix(t *testing.T) {
	s := newFakeServer(t, api.Config{Metrics: metrics.New(time.Now()), OpenAI: foreign, Anthropic: foreign, AGUI: foreign, MCP: foreign, Web: http.NotFoundHandler(), Settings: someSettings, SyncFiles: someFiles{}})
	s.fake.stream = nil
	doc := document(t, []byte(s.ask("GET", "/openapi.json").body))
	all := askers(s)
	var names []string
	asked := 0
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			names = append(names, op.OperationID)
			r, known := rightsOf(op.OperationID)
			content := op.Responses.Status(200).Value.Content
			streams := content["text/event-stream"] != nil && content["application/json"] == nil
			for i, who := range all {
				want, special := doors(op.OperationID, i)
				if !known && !special {
					t.Errorf("%s is not in the matrix: add who may use it", op.OperationID)
					break
				}
				if !special {
					want = r.want(i)
				}
				asked++
				if got := s.status(who, method, path, op.OperationID, streams); got != want {
					t.Errorf("%s by %s: %d, want %d", op.OperationID, who.name, got, want)
				}
			}
		}
	}
	for _, m := range matrix {
		for _, name := range strings.Fields(m.names) {
			if !slices.Contains(names, name) {
				t.Errorf("%s is in the matrix and is no operation", name)
			}
		}
	}
	t.Logf("%d operations, %d askers, %d requests", len(names), len(all), asked)
}

// status requests an operation as a caller and returns the status. A stream is ended as
// soon as it begins.
func (s *fakeServer) status(who asker, method, path, name string, streams bool) int {
	s.t.Helper()
	var h http.Handler = s.http
	if who.socket {
		h = api.Owner(h)
	}
	var made wire.Created
	if name == "revokeToken" || name == "login" {
		var err error
		if made, err = s.tokens.Create(s.t.Context(), wire.NewToken{Name: "t" + rand.Text(), Scope: wire.ScopeRead}); err != nil {
			s.t.Fatal(err)
		}
	}
	body := bodies[name]
	switch name {
	case "createToken":
		body = wire.NewToken{Name: "made " + rand.Text(), Scope: wire.ScopeRead}
	case "orderLogin":
		body = wire.LoginOrder{}
	case "login":
		body = wire.Login{Token: made.Secret}
	}
	fill := strings.NewReplacer("{id}", "aaaa-1", "{cid}", "c1", "{call}", "c1", "{key}", "agent:main:main", "{token}", cmp.Or(made.ID, "none"), "{hook}", "deploy", "{job}", "daily",
		"{model}", "main", "{agent}", "main", "{note}", "tea", "{change}", "c1", "{response}", "resp_1", "{conversation}", "conv_1", "{entry}", "e1", "{n}", "1", "{file}", "a")
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost:7766"+fill.Replace(path), http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	if body != nil {
		sending(body)(r)
	}
	for _, c := range who.changes() {
		c(r)
	}
	if !streams {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	local := client.InProcess(h)
	defer local.Close()
	response, err := local.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// someSettings returns the settings of a gateway.
func someSettings() []wire.Setting { return []wire.Setting{{}} }
