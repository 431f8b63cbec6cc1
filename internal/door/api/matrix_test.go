package api_test

import (
	"cmp"
	"context"
	"crypto/rand"
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

// The auth matrix: every operation of the table of routes, asked by everybody there is.
// What an agent does in between is tested in internal/ops/serve (TestTurnsSeeWhatTheAskerMaySee).

// asker is who asks.
type asker struct {
	name string
	// changes are how a request shows who it is from.
	changes func() []change
	// socket says that they come through the socket.
	socket bool
}

// Who asks, in the order of the columns of the table.
const (
	byNobody = iota
	byWrong
	byRevoked
	byHook
	byRead
	byWrite
	byAdmin
	byAgent      // writes, bound to an agent that has nothing to do with it
	byKey        // writes, bound to a key that has nothing to do with it
	byKeyReading // the same, reads
	byBrowser    // of the token byKey
	byOwner
)

func askers(s *stand) []asker {
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

// rights is what who asks must have for an operation, and what somebody is answered who
// has that, and is bound to an agent, or a key, that has nothing to do with what is
// asked for.
type rights struct {
	scope      wire.Scope
	agent, key int
}

// matrix is who may what. An operation that is not in it fails the test. Lists are
// answered to who is bound, without what is not theirs; numbers about all sessions are
// refused, and a session, key or job of somebody else is not there. Notes are those of
// the agent that a token is bound to. The addresses of other protocols ask again in the
// name of who asks, so here they answer. Tokens with the scope admin are never bound.
var matrix = []struct {
	rights
	names string
}{
	{rights{open, 200, 200}, "health openapi readiness"},
	{rights{wire.ScopeHook, 200, 200}, "me"},
	{rights{wire.ScopeRead, 200, 200}, "allEvents getConversation getResponse indexState listAgents listBin listFormats listItems listJobs listKeys listModels listRunning listSessions mcp orderLogin search status"},
	{rights{wire.ScopeRead, 200, 404}, "getNote listMemoryChanges listNotes recall"},
	{rights{wire.ScopeRead, 403, 403}, "listSources listTags metrics ops usage"},
	{rights{wire.ScopeRead, 404, 404}, "exportSession getCompaction getCourse getDamage getEntry getImage getKey getModel getSession getTree getWindow listChildren listCompactions listEntries sessionEvents"},
	{rights{wire.ScopeWrite, 200, 200}, "chatCompletion createConversation createItems createResponse deleteConversation deleteResponse patchSessions"},
	{rights{wire.ScopeWrite, 200, 403}, "importSession newSession"},
	{rights{wire.ScopeWrite, 200, 404}, "clearNotes dream editNote forget remember undoMemory"},
	{rights{wire.ScopeWrite, 403, 403}, "inbound"},
	{rights{wire.ScopeWrite, 404, 403}, "fork"},
	{rights{wire.ScopeWrite, 404, 404}, "appendEntries compact continuePrevious hide kill label patchSession pointKey redoCompaction removeKey removeSession resetKey restoreSession rewind runJob show turn undoCompaction"},
	{rights{wire.ScopeAdmin, 403, 403}, "checkIndex createToken emptyBin listStored listTokens maintain purge readStored reindex revokeToken verify"},
}

// open is for everybody.
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

// doors are the operations that have rules of their own: who lets browsers in and out,
// which are not let in through the socket, and hooks, which name their token.
func doors(name string, who int) (status int, ok bool) {
	switch name {
	case "login": // of our own page alone
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
		return http.StatusNotFound, true // as if there were none
	}
	return 0, false
}

// want is the status that somebody is answered with.
func (r rights) want(who int) int {
	has := map[int]wire.Scope{
		byHook: wire.ScopeHook, byRead: wire.ScopeRead, byWrite: wire.ScopeWrite, byAdmin: wire.ScopeAdmin, byAgent: wire.ScopeWrite,
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

// TestAuthMatrix asks everything as everybody.
func TestAuthMatrix(t *testing.T) {
	s := newStand(t, api.Config{Metrics: metrics.New(time.Now()), OpenAI: foreign, MCP: foreign, Web: http.NotFoundHandler()})
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
					t.Errorf("%s is not in the matrix: say who may do it", op.OperationID)
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

// status asks for an operation as somebody, and returns the status. A stream is ended as
// soon as it has begun.
func (s *stand) status(who asker, method, path, name string, streams bool) int {
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
	fill := strings.NewReplacer("{id}", "aaaa-1", "{cid}", "c1", "{key}", "agent:main:main", "{token}", cmp.Or(made.ID, "none"), "{hook}", "deploy", "{job}", "daily",
		"{model}", "main", "{note}", "tea", "{change}", "c1", "{response}", "resp_1", "{conversation}", "conv_1", "{entry}", "e1", "{n}", "1")
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
