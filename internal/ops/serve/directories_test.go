package serve

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"firn.dev/internal/door/acp"
)

// TestEditorsDirectory checks that a session of an editor knows the directory that the
// editor names, and those in which it is resumed later, and that relative paths are
// rejected.
func TestEditorsDirectory(t *testing.T) {
	s := speak(t, func(w http.ResponseWriter, _ []message) { says(w, "I see") })
	l := listenIn(t, Options{Settings: load(t, s.settings("")), Env: env()})
	in, toAgent := io.Pipe()
	fromAgent, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- acp.Serve(ctx, l.own, in, out, acp.Options{}) }()
	defer func() {
		toAgent.Close()
		cancel()
		<-done
	}()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	conn := sdk.NewClientSideConnection(&editor{}, toAgent, fromAgent)
	conn.SetLogger(slog.New(slog.DiscardHandler))
	_, err := conn.Initialize(ctx, sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber})
	must(err)
	if _, err := conn.NewSession(ctx, sdk.NewSessionRequest{Cwd: "somewhere", McpServers: []sdk.McpServer{}}); err == nil {
		t.Error("a relative directory is accepted")
	}
	first, second := t.TempDir(), t.TempDir()
	made, err := conn.NewSession(ctx, sdk.NewSessionRequest{Cwd: first, McpServers: []sdk.McpServer{}})
	must(err)
	prompt := func(want ...string) {
		t.Helper()
		_, err := conn.Prompt(ctx, sdk.PromptRequest{SessionId: made.SessionId, Prompt: []sdk.ContentBlock{sdk.TextBlock("hello")}})
		must(err)
		session, err := l.own.Session(ctx, string(made.SessionId))
		must(err)
		if session.CWD != first || !slices.Equal(session.Directories, want) {
			t.Errorf("it began in %q and was used in %q, want %q and %q", session.CWD, session.Directories, first, want)
		}
	}
	prompt()
	_, err = conn.LoadSession(ctx, sdk.LoadSessionRequest{SessionId: made.SessionId, Cwd: second, McpServers: []sdk.McpServer{}})
	must(err)
	prompt(second)
	if _, err := conn.LoadSession(ctx, sdk.LoadSessionRequest{SessionId: made.SessionId, Cwd: "somewhere", McpServers: []sdk.McpServer{}}); err == nil {
		t.Error("a relative directory is accepted")
	}
}
