package interop

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// TestEditorSDK uses firn from an editor that is made with the TypeScript SDK of the Agent
// Client Protocol, and checks all that firn sends against the protocol's schema.
func TestEditorSDK(t *testing.T) {
	requireVersion(t, filepath.Join("..", "adapters", "node_modules", "@agentclientprotocol/sdk"), "2.4.0")
	a := newAdapters(t)
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(answerEndlessly))
	t.Cleanup(server.Close)
	home, cwd := t.TempDir(), t.TempDir()
	out := run(t, a.dir, append(plainEnv(t.TempDir()), "FIRN="+program), node(t), "acp.mjs", home, cwd, server.URL)
	if strings.TrimSpace(out) != "passed" {
		t.Errorf("it prints %s", out)
	}
	runFirn(t, home, "verify")
}

// answerEndlessly streams the start of an answer, and ends it when the client goes away.
func answerEndlessly(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the request does not matter
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"one two \"}}]}\n\n")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}
