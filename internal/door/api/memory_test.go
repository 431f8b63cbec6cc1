package api_test

import (
	"net/http"
	"strings"
	"testing"

	"firn.dev/internal/door/api"
	"firn.dev/wire"
)

// TestNotesOfBoundTokens checks that a bound token has access only to the notes of its
// agents or keys, and never to those of a project, which all agents share.
func TestNotesOfBoundTokens(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	work := bearing(s.token(wire.NewToken{Name: "work", Scope: wire.ScopeWrite, Agents: []string{"work"}}))
	ann := bearing(s.token(wire.NewToken{Name: "ann", Scope: wire.ScopeWrite, Keys: []string{"agent:main:telegram:direct:ann"}}))
	tests := []struct {
		who    change
		query  string
		status int
		asked  string
	}{
		{work, "", 200, "Agent:work Key: Project: Scope:"},
		{work, "?agent=work", 200, "Agent:work"},
		{work, "?agent=main", 404, ""},
		{work, "?agent=work&project=/w", 404, ""},
		{work, "?key=agent:work:telegram:direct:1", 200, "Key:agent:work:telegram:direct:1 Project: Scope:user"},
		{work, "?key=agent:main:telegram:direct:ann", 404, ""},
		{ann, "", 404, ""},
		{ann, "?agent=main", 404, ""},
		{ann, "?key=agent:main:telegram:direct:ann", 200, "Scope:user"},
		{ann, "?key=AGENT:main:telegram:direct:ann", 200, "Key:agent:main:telegram:direct:ann"},
		{ann, "?key=agent:main:telegram:direct:ann&scope=agent", 404, ""},
		{ann, "?key=agent:main:telegram:direct:annabel", 404, ""},
		{ann, "?key=agent:main:telegram:direct:ann&project=/w", 404, ""},
	}
	routes := map[string]any{"GET /v1/memory": nil, "GET /v1/memory/notes/tea": nil, "GET /v1/memory/search": nil, "GET /v1/memory/changes": nil, "DELETE /v1/memory": nil,
		"DELETE /v1/memory/notes/tea": nil, "POST /v1/memory": wire.NewNote{Text: "x"}, "POST /v1/memory/dream": wire.DreamOrder{}, "POST /v1/memory/changes/c1/undo": wire.UndoMemory{}}
	for route, body := range routes {
		method, path, _ := strings.Cut(route, " ")
		for _, test := range tests {
			s.fake.was()
			changes := []change{test.who}
			if body != nil {
				changes = append(changes, sending(body))
			}
			got := s.ask(method, path+test.query, changes...)
			asked := strings.Join(s.fake.was(), "; ")
			if got.status != test.status || !strings.Contains(asked, test.asked) || test.status == http.StatusNotFound && strings.Contains(asked, "{Agent:") {
				t.Errorf("%s%s: %d %s, received %q", route, test.query, got.status, got.body, asked)
			}
		}
	}
}
