package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/coder/acp-go-sdk"
)

// editor is a client of the protocol. It records the agent's updates.
type editor struct {
	t    *testing.T
	conn *acp.ClientSideConnection
	quit func()

	mu sync.Mutex
	// received holds the updates in short form; more wakes a waiting reader.
	received []string
	more     chan struct{}
	// choose answers a permission request; nil means that it fails.
	choose func(acp.RequestPermissionRequest) acp.PermissionOptionId
}

// startACP starts firn acp as editors do.
func startACP(t *testing.T, home string, env []string, args ...string) *editor {
	t.Helper()
	cmd := program(home, append([]string{"acp"}, args...)...)
	cmd.Env = append(cmd.Env, env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := &editor{t: t, more: make(chan struct{}, 1)}
	e.conn = acp.NewClientSideConnection(e, in, out)
	e.conn.SetLogger(slog.New(slog.DiscardHandler))
	e.quit = sync.OnceFunc(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("firn acp ended with %v", err)
		}
	})
	t.Cleanup(e.quit)
	got, err := e.conn.Initialize(t.Context(), acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber})
	if err != nil || !got.AgentCapabilities.LoadSession || got.ProtocolVersion != acp.ProtocolVersionNumber {
		t.Fatalf("got %+v, %v", got, err)
	}
	return e
}

// SessionUpdate records an update.
func (e *editor) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	line := ""
	switch u := n.Update; {
	case u.AgentMessageChunk != nil:
		line = "agent: " + u.AgentMessageChunk.Content.Text.Text
	case u.UserMessageChunk != nil:
		line = "user: " + u.UserMessageChunk.Content.Text.Text
	case u.AgentThoughtChunk != nil:
		line = "thought: " + u.AgentThoughtChunk.Content.Text.Text
	case u.ToolCall != nil:
		line = "call: " + u.ToolCall.Title
	case u.ToolCallUpdate != nil:
		line = "result: " + string(*u.ToolCallUpdate.Status)
	case u.UsageUpdate != nil:
		line = "usage"
	}
	e.mu.Lock()
	e.received = append(e.received, line)
	e.mu.Unlock()
	select {
	case e.more <- struct{}{}:
	default:
	}
	return nil
}

// take returns the updates; consecutive text of one author is one line.
func (e *editor) take() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var lines []string
	for _, h := range e.received {
		who, text, _ := strings.Cut(h, ": ")
		if n := len(lines); n > 0 && (who == "agent" || who == "thought") && strings.HasPrefix(lines[n-1], who+": ") {
			lines[n-1] += text
			continue
		}
		lines = append(lines, h)
	}
	e.received = nil
	return strings.Join(lines, "\n")
}

// await waits until an update was received.
func (e *editor) await(text string) {
	e.t.Helper()
	for {
		e.mu.Lock()
		all := strings.Join(e.received, "")
		e.mu.Unlock()
		if strings.Contains(all, text) {
			return
		}
		select {
		case <-e.more:
		case <-e.t.Context().Done():
			e.t.Fatalf("%q was not received", text)
		}
	}
}

// prompt sends a message and returns the stop reason.
func (e *editor) prompt(id acp.SessionId, text string) acp.StopReason {
	e.t.Helper()
	got, err := e.conn.Prompt(e.t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
	if err != nil {
		e.t.Fatal(err)
	}
	return got.StopReason
}

func (e *editor) newSession() acp.SessionId {
	e.t.Helper()
	s, err := e.conn.NewSession(e.t.Context(), acp.NewSessionRequest{Cwd: "/tmp", McpServers: []acp.McpServer{}})
	if err != nil {
		e.t.Fatal(err)
	}
	return s.SessionId
}

var errNot = errors.New("the agent must not call this method")

// ReadTextFile and the methods after it are never called.
func (e *editor) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return acp.ReadTextFileResponse{}, errNot
}

// WriteTextFile is never called.
func (e *editor) WriteTextFile(context.Context, acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, errNot
}

// RequestPermission chooses the option that the test set.
func (e *editor) RequestPermission(_ context.Context, q acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.choose == nil {
		return acp.RequestPermissionResponse{}, errNot
	}
	id := e.choose(q)
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(id)}, nil
}

// CreateTerminal is never called.
func (e *editor) CreateTerminal(context.Context, acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	return acp.CreateTerminalResponse{}, errNot
}

// KillTerminal is never called.
func (e *editor) KillTerminal(context.Context, acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	return acp.KillTerminalResponse{}, errNot
}

// TerminalOutput is never called.
func (e *editor) TerminalOutput(context.Context, acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	return acp.TerminalOutputResponse{}, errNot
}

// ReleaseTerminal is never called.
func (e *editor) ReleaseTerminal(context.Context, acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return acp.ReleaseTerminalResponse{}, errNot
}

// WaitForTerminalExit is never called.
func (e *editor) WaitForTerminalExit(context.Context, acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	return acp.WaitForTerminalExitResponse{}, errNot
}

// TestACP uses an agent from an editor: its messages and calls are sent, and replayed after a
// restart.
func TestACP(t *testing.T) {
	home := t.TempDir()
	e := startACP(t, home, nil)
	id := e.newSession()
	if why := e.prompt(id, "what is 6*7?"); why != acp.StopReasonEndTurn {
		t.Errorf("it ended with %s", why)
	}
	output := e.take()
	for _, want := range []string{"call: calc 6*7\n", "result: completed\n", "42", "usage"} {
		if !strings.Contains(output, want) {
			t.Errorf("there is no %q in\n%s", want, output)
		}
	}
	_, err := e.conn.Prompt(t.Context(), acp.PromptRequest{SessionId: "nobody-here", Prompt: []acp.ContentBlock{acp.TextBlock("x")}})
	var refused *acp.RequestError
	if !errors.As(err, &refused) || refused.Code != -32002 || !strings.Contains(refused.Message, "nobody-here") {
		t.Errorf("in a session that does not exist: %v", err)
	}
	e.quit()

	e = startACP(t, home, nil)
	if _, err := e.conn.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: id, Cwd: "/tmp", McpServers: []acp.McpServer{}}); err != nil {
		t.Fatal(err)
	}
	again := e.take()
	for _, want := range []string{"user: what is 6*7?\n", "call: calc 6*7\n", "result: completed\n", "42"} {
		if !strings.Contains(again, want) {
			t.Errorf("there is no %q in\n%s", want, again)
		}
	}
	e.prompt(id, "my name is Ada")
	list, err := e.conn.ListSessions(t.Context(), acp.ListSessionsRequest{})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionId != id || list.Sessions[0].Cwd != "/tmp" {
		t.Errorf("the list is %+v, %v", list, err)
	}
	e.quit()
	if out := outputs(t, home, "cat", string(id)); !strings.Contains(out, "my name is Ada") || !strings.Contains(out, "6*7") {
		t.Errorf("the session has\n%s", out)
	}
	verifies(t, home)
}

// TestACPWithGateway uses an agent of a running gateway, which has its own tools.
func TestACPWithGateway(t *testing.T) {
	home := t.TempDir()
	startServe(t, home)
	e := startACP(t, home, nil)
	id := e.newSession()
	if why := e.prompt(id, "what is 6*7?"); why != acp.StopReasonEndTurn || !strings.Contains(e.take(), "42") {
		t.Errorf("it ended with %s", why)
	}
	e.quit()
	cmd := program(home, "acp", "--no-tools")
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("the client's tools were accepted although a gateway runs: %v", err)
	}
}

// TestACPSessionOptions sets options of a session, forks it, lists it by its directory and
// deletes it. The test's SDK has no method to delete sessions, so the request is sent as raw
// JSON.
func TestACPSessionOptions(t *testing.T) {
	home := t.TempDir()
	e := startACP(t, home, nil)
	id := e.newSession()
	e.prompt(id, "my name is Ada")
	values := func(options []acp.SessionConfigOption) string {
		var all []string
		for _, o := range options {
			all = append(all, fmt.Sprintf("%s=%s", o.Select.Id, o.Select.CurrentValue))
		}
		return strings.Join(all, " ")
	}
	resumed, err := e.conn.ResumeSession(t.Context(), acp.ResumeSessionRequest{SessionId: id, Cwd: "/tmp"})
	if got := values(resumed.ConfigOptions); err != nil || got != "model=firn/offline thinking=off approval=default" {
		t.Errorf("the options are %s, %v", got, err)
	}
	for option, c := range map[acp.SessionConfigId]struct{ value, want string }{
		"thinking": {"high", "thinking=high"}, "approval": {"read-only", "approval=read-only"}, "model": {"firn/offline", "model=firn/offline"},
	} {
		set, err := e.conn.SetSessionConfigOption(t.Context(), acp.SetSessionConfigOptionRequest{ValueId: &acp.SetSessionConfigOptionValueId{SessionId: id, ConfigId: option, Value: acp.SessionConfigValueId(c.value)}})
		if got := values(set.ConfigOptions); err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, %v", option, got, err)
		}
		_, err = e.conn.SetSessionConfigOption(t.Context(), acp.SetSessionConfigOptionRequest{ValueId: &acp.SetSessionConfigOptionValueId{SessionId: id, ConfigId: option, Value: "no such value"}})
		if refused := new(acp.RequestError); !errors.As(err, &refused) || refused.Code != -32602 {
			t.Errorf("%s with an unknown value: %v", option, err)
		}
	}
	e.prompt(id, "remember that in a note: tea")
	fork, err := e.conn.UnstableForkSession(t.Context(), acp.UnstableForkSessionRequest{SessionId: id, Cwd: "/tmp"})
	if err != nil || fork.SessionId == id || !strings.Contains(outputs(t, home, "cat", string(fork.SessionId)), "Ada") {
		t.Fatalf("forked to %s, %v", fork.SessionId, err)
	}
	cwd := "/tmp"
	list := func() string {
		page, err := e.conn.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: &cwd})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, s := range page.Sessions {
			ids = append(ids, string(s.SessionId))
		}
		return strings.Join(ids, " ")
	}
	if got := list(); !strings.Contains(got, string(id)) || !strings.Contains(got, string(fork.SessionId)) {
		t.Errorf("the list is %q", got)
	}
	e.quit()

	requests := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}
{"jsonrpc":"2.0","id":2,"method":"session/delete","params":{"sessionId":"` + string(fork.SessionId) + `"}}
{"jsonrpc":"2.0","id":3,"method":"session/delete","params":{"sessionId":"` + string(fork.SessionId) + `"}}
{"jsonrpc":"2.0","id":4,"method":"session/delete","params":{"sessionId":"not-a-session"}}
{"jsonrpc":"2.0","id":5,"method":"session/delete","params":{}}
`
	cmd := program(home, "acp")
	cmd.Stdin = strings.NewReader(requests)
	out, err := cmd.Output()
	for _, want := range []string{`"delete":{}`, `"fork":{}`, `"id":2,"result":{}`, `"id":3,"result":{}`, `"id":4,"result":{}`, `"code":-32602`} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("there is no %s in\n%s%v", want, out, err)
		}
	}
	if ls := outputs(t, home, "ls", "--json"); strings.Contains(ls, string(fork.SessionId)) || !strings.Contains(ls, string(id)) {
		t.Errorf("after deleting the fork there are\n%s", ls)
	}
	outputs(t, home, "restore", string(fork.SessionId))
	verifies(t, home)
}

// verifies checks that the home is sound.
func verifies(t *testing.T, home string) {
	t.Helper()
	outputs(t, home, "verify")
}
