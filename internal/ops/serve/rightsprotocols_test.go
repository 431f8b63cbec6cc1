package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/door/acp"
	"firn.dev/wire"
)

// editor is an ACP client that records messages and denies all permissions.
type editor struct {
	mu     sync.Mutex
	answer strings.Builder
}

func (e *editor) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := n.Update.AgentMessageChunk; c != nil && c.Content.Text != nil {
		e.answer.WriteString(c.Content.Text.Text)
	}
	return nil
}

func (e *editor) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.answer.String()
}

func (*editor) RequestPermission(context.Context, sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}, nil
}

func (*editor) ReadTextFile(context.Context, sdk.ReadTextFileRequest) (sdk.ReadTextFileResponse, error) {
	return sdk.ReadTextFileResponse{}, firn.ErrUnsupported
}

func (*editor) WriteTextFile(context.Context, sdk.WriteTextFileRequest) (sdk.WriteTextFileResponse, error) {
	return sdk.WriteTextFileResponse{}, firn.ErrUnsupported
}

func (*editor) CreateTerminal(context.Context, sdk.CreateTerminalRequest) (sdk.CreateTerminalResponse, error) {
	return sdk.CreateTerminalResponse{}, firn.ErrUnsupported
}

func (*editor) KillTerminal(context.Context, sdk.KillTerminalRequest) (sdk.KillTerminalResponse, error) {
	return sdk.KillTerminalResponse{}, firn.ErrUnsupported
}

func (*editor) TerminalOutput(context.Context, sdk.TerminalOutputRequest) (sdk.TerminalOutputResponse, error) {
	return sdk.TerminalOutputResponse{}, firn.ErrUnsupported
}

func (*editor) ReleaseTerminal(context.Context, sdk.ReleaseTerminalRequest) (sdk.ReleaseTerminalResponse, error) {
	return sdk.ReleaseTerminalResponse{}, firn.ErrUnsupported
}

func (*editor) WaitForTerminalExit(context.Context, sdk.WaitForTerminalExitRequest) (sdk.WaitForTerminalExitResponse, error) {
	return sdk.WaitForTerminalExitResponse{}, firn.ErrUnsupported
}

// prompt sends a prompt through ACP with the named token.
func (w *withheld) prompt(token string, id firn.ID) string {
	w.t.Helper()
	c, err := client.New(client.Options{Address: w.url, Token: w.made[token].Secret})
	w.must(err)
	in, toAgent := io.Pipe()
	fromAgent, out := io.Pipe()
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	go func() { done <- acp.Serve(ctx, c, in, out, acp.Options{}) }()
	defer func() {
		toAgent.Close()
		cancel()
		<-done
	}()
	e := &editor{}
	conn := sdk.NewClientSideConnection(e, toAgent, fromAgent)
	conn.SetLogger(slog.New(slog.DiscardHandler))
	_, err = conn.Initialize(ctx, sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber})
	w.must(err)
	_, err = conn.LoadSession(ctx, sdk.LoadSessionRequest{SessionId: sdk.SessionId(id), Cwd: w.dir, McpServers: []sdk.McpServer{}})
	w.must(err)
	_, err = conn.Prompt(ctx, sdk.PromptRequest{SessionId: sdk.SessionId(id), Prompt: []sdk.ContentBlock{sdk.TextBlock("probe")}})
	w.must(err)
	return e.text()
}

// TestOtherProtocolsKeepCallerBounds tests the Responses endpoint and ACP.
func TestOtherProtocolsKeepCallerBounds(t *testing.T) {
	w := withhold(t)
	tokens := map[string]string{"a token bound to a key": "shop", "a token bound to an agent and keys": "only", "a token bound to another key": "desk", "a token bound to an agent": "main", "a token that writes": "write", "an admin": "admin"}
	asked := 0
	for _, who := range w.identities() {
		if strings.Contains(who.key, ":work:") {
			continue // protocols of the default agent
		}
		w.probe(who, "responses", func() (string, firn.ID) {
			id := w.session(who, "responses")
			_, text := w.ask(who, "POST", "/v1/responses", map[string]any{"model": "main", "input": "probe"}, "X-Firn-Session", string(id))
			return text, id
		})
		if token := tokens[who.name]; token != "" {
			asked++
			w.probe(who, "ACP", func() (string, firn.ID) {
				id := w.session(who, "acp")
				return w.prompt(token, id), id
			})
		}
	}
	if asked != len(tokens) {
		t.Errorf("%d of %d called through ACP", asked, len(tokens))
	}
}

// TestInterruptingKeepsTheBounds checks that a caller that interrupts another's turn, and
// the next one, are answered within their own bounds, in all combinations.
func TestInterruptingKeepsTheBounds(t *testing.T) {
	for name, bounded := range map[string]bool{"by a bound token": true, "by the owner": false} {
		t.Run(name, func(t *testing.T) {
			w := withhold(t)
			all := w.identities()
			shop, owner := all[0], all[8]
			first, second, mark, other := owner, shop, "of the owner", within
			if !bounded {
				first, second, mark, other = shop, owner, within, "of the owner"
			}
			id, from := w.session(shop, "interrupt"), w.model.count()
			w.send(first, id, wire.Turn{Text: "probe slowly: one " + mark, ID: "m1"})
			<-w.began
			w.send(second, id, wire.Turn{Text: "probe two " + other, ID: "m2", Queue: "interrupt"})
			w.release() // the model may answer both
			if _, err := w.await(id, "m2", "probe two "+other); err != nil {
				t.Error(err)
			}
			for i, who := range []identity{first, second, shop, owner} {
				text := fmt.Sprintf("probe %d of the owner", i)
				if who.name == shop.name {
					text = fmt.Sprintf("probe %d %s", i, within)
				}
				w.send(who, id, wire.Turn{Text: text, ID: firn.EntryID(fmt.Sprint("n", i))})
				if _, err := w.await(id, fmt.Sprint("n", i), text); err != nil {
					t.Error(err)
				}
			}
			w.holds(shop.may, from)
		})
	}
}
