package api_test

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev/wire"
)

// TestPathsAreForTheOwner requests everything that could reveal the path of the home.
// Only the owner and tokens with admin scope may see it.
func TestPathsAreForTheOwner(t *testing.T) {
	home := shortDir(t)
	h := openRealServer(t, home)
	session := must(h.owner.NewSession(t.Context(), wire.NewSession{Key: "agent:main:main"}))(t)
	must(h.owner.Turn(t.Context(), session.ID, wire.Turn{Text: "hello"}))(t)
	secrets := map[wire.Scope]string{}
	for _, scope := range []wire.Scope{wire.ScopeRead, wire.ScopeWrite, wire.ScopeAdmin} {
		secrets[scope] = must(h.tokens.Create(t.Context(), wire.NewToken{Name: string(scope), Scope: scope}))(t).Secret
	}
	ask := func(scope wire.Scope, path string) string {
		r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.TCP+path, nil))(t)
		r.Header.Set("Authorization", "Bearer "+secrets[scope])
		answer := must(http.DefaultClient.Do(r))(t)
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s answers %s to %s", path, answer.Status, scope)
		}
		return string(must(io.ReadAll(answer.Body))(t))
	}
	one := "/v1/sessions/" + string(session.ID)
	for path, tells := range map[string]bool{"/v1/status": true, "/v1/ops": true, "/v1/sources": false, one: true, "/v1/sessions": false, "/v1/running": false, "/v1/keys": false} {
		for _, scope := range []wire.Scope{wire.ScopeRead, wire.ScopeWrite} {
			if text := ask(scope, path); strings.Contains(text, home) {
				t.Errorf("%s reveals the path of the home to a token of scope %s: %s", path, scope, text)
			}
		}
		if text := ask(wire.ScopeAdmin, path); tells && !strings.Contains(text, home) {
			t.Errorf("%s does not give the owner the paths: %s", path, text)
		}
	}
	if text := ask(wire.ScopeRead, one); !strings.Contains(text, `"files":["…/`+filepath.Base(string(session.ID))) {
		t.Errorf("files lost their names: %s", text)
	}
	if s := must(h.owner.Status(t.Context()))(t); s.TCP != h.TCP || s.Home != home {
		t.Errorf("the owner receives %+v", s)
	}
}
