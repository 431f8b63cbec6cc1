package api_test

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"firn.dev"
	"firn.dev/internal/door/api"
	"firn.dev/internal/gateway/metrics"
	"firn.dev/wire"
)

var update = flag.Bool("update-openapi", false, "write docs/openapi.json")

// document parses the served description with an independent library.
func document(t *testing.T, data []byte) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background(), openapi3.IsOpenAPI31OrLater()); err != nil {
		t.Fatalf("the description is not valid: %v", err)
	}
	return doc
}

func TestOpenAPIIsCheckedIn(t *testing.T) {
	const path = "../../../docs/openapi.json"
	data := api.OpenAPI("0")
	document(t, data)
	if *update {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if err != nil || string(kept) != string(data) {
		t.Errorf("docs/openapi.json does not match the gateway (%v): run go test ./internal/door/api -run OpenAPI -update-openapi", err)
	}
}

// bodies are valid request bodies by operation.
var bodies = map[string]any{
	"newSession": wire.NewSession{}, "patchSession": wire.Patch{}, "appendEntries": wire.NewEntries{User: "x"}, "compact": wire.Compact{},
	"answerApproval": wire.ApprovalAnswer{Decision: "allow", Digest: "d"},
	"changeQueue":    wire.QueueChange{},
	"answerCall":     wire.ClientResult{Digest: "d"},
	"fork":           wire.Fork{}, "rewind": wire.Move{Back: 1}, "label": wire.Label{Entry: "#1", Name: "x"}, "hide": wire.Hide{Entry: "#1"}, "show": wire.Hide{Entry: "#1"},
	"purge": wire.Erase{Sure: "aaaa-1"}, "turn": wire.Turn{Text: "x"}, "answerOnce": wire.Once{Entries: []json.RawMessage{json.RawMessage("{}")}}, "inbound": wire.Inbound{Channel: "c", PeerKind: "direct", PeerID: "1", Text: "x"},
	"pointKey": wire.Key{Session: "aaaa-1"}, "createToken": wire.NewToken{Name: "x", Scope: wire.ScopeRead},
	"maintain": wire.Maintain{}, "emptyBin": wire.EmptyBin{Sure: true}, "rewindFiles": wire.FileRewind{Back: 1, Plan: true}, "remember": wire.NewNote{Text: "x"}, "dream": wire.DreamOrder{Plan: true}, "undoMemory": wire.UndoMemory{},
	"patchSessions": wire.Batch{IDs: []firn.ID{"aaaa-1"}, AddTags: []string{"x"}}, "editNote": wire.NoteText{Text: "x"},
}

// TestEveryOperationAnswers requests every operation of the description. Requests and
// responses must match it, and a caller with too small a scope must be rejected.
func TestEveryOperationAnswers(t *testing.T) {
	s := newFakeServer(t, api.Config{Metrics: metrics.New(time.Now()), Version: "1.2.3", OpenAI: foreign, Anthropic: foreign, AGUI: foreign, MCP: foreign, Web: http.NotFoundHandler(), Settings: someSettings, SyncFiles: someFiles{}})
	doc := document(t, []byte(s.ask("GET", "/openapi.json").body))
	if doc.OpenAPI != "3.1.0" || doc.Info.Version != "1.2.3" {
		t.Errorf("it is %s of %s", doc.OpenAPI, doc.Info.Version)
	}
	s.fake.stream = nil
	made, err := s.tokens.Create(context.Background(), wire.NewToken{Name: "old", Scope: wire.ScopeRead})
	if err != nil {
		t.Fatal(err)
	}
	read := bearing(s.token(wire.NewToken{Name: "reader", Scope: wire.ScopeRead}))
	fill := strings.NewReplacer("{id}", "aaaa-1", "{cid}", "c1", "{call}", "c1", "{key}", "agent:main:main", "{token}", made.ID, "{hook}", "deploy", "{job}", "daily",
		"{model}", "main", "{agent}", "main", "{note}", "tea", "{change}", "c1", "{response}", "resp_1", "{conversation}", "conv_1", "{entry}", "e1", "{n}", "1", "{file}", "a")
	bodies := maps.Clone(bodies)
	bodies["orderLogin"] = wire.LoginOrder{Scope: wire.ScopeRead}
	bodies["login"] = wire.Login{Token: s.token(wire.NewToken{Scope: wire.ScopeRead})}
	asked := 0
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			asked++
			schema := responseSchema(t, op)
			changes := []change{}
			if body, ok := bodies[op.OperationID]; ok {
				changes = append(changes, sending(body))
				conforms(t, op.OperationID+" sends", op.RequestBody.Value.Content.Get("application/json").Schema, body)
			} else if op.RequestBody != nil && op.RequestBody.Value.Content["*/*"] == nil {
				t.Errorf("%s has a body that no test sends", op.OperationID)
			}
			as := s.owner
			if tag := op.Tags[0]; tag == "login" || tag == "logins" {
				as, changes = s.ask, append(changes, with("X-Firn", "web"), read) // browsers do not use the socket
			}
			if method == http.MethodGet && op.Responses.Status(200).Value.Content["text/event-stream"] != nil && schema == nil {
				s.streams(t, fill.Replace(path))
			} else {
				got := as(method, fill.Replace(path), changes...)
				if got.status != 200 {
					t.Errorf("%s %s: %d %s", method, path, got.status, got.body)
				} else if schema != nil {
					conforms(t, op.OperationID+" answers", schema, json.RawMessage(got.body))
				}
			}
			if alias, ok := op.Extensions["x-alias"].(string); ok {
				if got := s.owner(method, fill.Replace(alias), changes...); got.status != 200 {
					t.Errorf("%s %s: %d %s", method, alias, got.status, got.body)
				}
			}
			s.scopes(t, op, method, fill.Replace(path), read)
		}
	}
	if least := 77; asked < least {
		t.Errorf("%d operations were asked, want %d at least", asked, least)
	}
}

// foreign is a protocol without content.
func foreign(string, http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, "{}")
	})
}

// scopes sends the request without a token and with a read-only token.
func (s *fakeServer) scopes(t *testing.T, op *openapi3.Operation, method, target string, read change) {
	t.Helper()
	if op.Security != nil {
		if len(*op.Security) != 0 || !slices.Contains([]string{"health", "readiness", "openapi", "login", "logout"}, op.OperationID) {
			t.Errorf("%s is open to all", op.OperationID)
		}
		return
	}
	if got := s.ask(method, target); got.status != http.StatusUnauthorized {
		t.Errorf("%s without a token: %d", op.OperationID, got.status)
	}
	if scope := op.Extensions["x-scope"]; (scope != "read" && scope != "hook") != (s.refused(method, target, read)) {
		t.Errorf("%s with the scope %v: a token that reads is refused: %v", op.OperationID, scope, s.refused(method, target, read))
	}
}

// refused reports whether a request is rejected for its scope. An accepted one fails
// because of an unknown parameter, so that it has no effect.
func (s *fakeServer) refused(method, target string, who change) bool {
	switch got := s.ask(method, target+"?nonsense=1", who); got.status {
	case http.StatusForbidden:
		return true
	case http.StatusBadRequest:
		return false
	default:
		s.t.Errorf("%s %s: %d %s", method, target, got.status, got.body)
		return false
	}
}

// streams opens a stream and ends it.
func (s *fakeServer) streams(t *testing.T, target string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	response := s.listen(ctx, "GET", target)
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%s: %d %v", target, response.StatusCode, response.Header)
	}
	response.Body.Close()
}

func responseSchema(t *testing.T, op *openapi3.Operation) *openapi3.SchemaRef {
	t.Helper()
	if op.Summary == "" || op.Responses.Default() == nil {
		t.Errorf("%s is not described", op.OperationID)
	}
	media := op.Responses.Status(200).Value.Content["application/json"]
	if media == nil {
		return nil
	}
	return media.Schema
}

// conforms checks a value against a schema.
func conforms(t *testing.T, what string, schema *openapi3.SchemaRef, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		t.Fatal(err)
	}
	if err := schema.Value.VisitJSON(plain, openapi3.EnableJSONSchema2020()); err != nil {
		t.Errorf("%s %s: %v", what, data, err)
	}
}
