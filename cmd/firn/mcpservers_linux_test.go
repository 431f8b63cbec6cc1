package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/acp-go-sdk"

	"firn.dev/client"
	"firn.dev/wire"
)

// callingModel is a model over HTTP that calls the tool that a message names: "call NAME
// ARGUMENTS". It answers with the result of the call.
type callingModel struct {
	*httptest.Server
	mu sync.Mutex
	// tools are the names of the tools of the last request.
	tools []string
}

// namedCall is a call in a message.
var namedCall = regexp.MustCompile(`call (mcp__\S+) (\{[^}]*\})`)

func newCallingModel(t *testing.T) *callingModel {
	t.Helper()
	m := &callingModel{}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

func (m *callingModel) serve(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []struct {
			Role    string
			Content any
		}
		Tools []struct{ Function struct{ Name string } }
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	m.mu.Lock()
	m.tools = nil
	for _, t := range body.Tools {
		m.tools = append(m.tools, t.Function.Name)
	}
	m.mu.Unlock()
	delta := map[string]any{"role": "assistant", "content": "no call"}
	reason := "stop"
	if n := len(body.Messages); n > 0 {
		last := body.Messages[n-1]
		text := fmt.Sprint(last.Content)
		found := namedCall.FindStringSubmatch(text)
		switch {
		case last.Role == "tool":
			delta["content"] = "result: " + text
		case found != nil && last.Role == "user":
			delta = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
				"index": 0, "id": fmt.Sprintf("call_%d", n), "type": "function", "function": map[string]any{"name": found[1], "arguments": found[2]},
			}}}
			reason = "tool_calls"
		}
	}
	chunk, _ := json.Marshal(map[string]any{"id": "1", "object": "chat.completion.chunk", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}}})
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", chunk)
}

// offered returns the names of the tools of the last request.
func (m *callingModel) offered() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.tools, " ")
}

// env is the environment of commands that use the model.
func (m *callingModel) env(home string) []string {
	return append(os.Environ(), "FIRN_HOME="+home, "FIRN_GATEWAY=", "OPENAI_BASE_URL="+m.URL, "OPENAI_API_KEY=x", "FIRN_MODEL=openai/gpt-4o", "FIRN_DEFAULTS__TITLES=false")
}

// runs runs firn with the model.
func (m *callingModel) runs(t *testing.T, home, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("firn", args...)
	cmd.Dir, cmd.Env = dir, m.env(home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("firn %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// servedHome returns a home with one session, which firn mcp serves, and the command for it.
func servedHome(t *testing.T) (command []string, title string) {
	t.Helper()
	other := t.TempDir()
	outputs(t, other, "new", "--title", "about penguins")
	firn, err := exec.LookPath("firn")
	if err != nil {
		t.Fatal(err)
	}
	return []string{firn, "--home", other, "mcp", "--read-only"}, "about penguins"
}

// TestAgentsUseMCPServers adds an MCP server, tries it, and lets agents call it: in this
// process, with a gateway, and for tokens with bounds.
func TestAgentsUseMCPServers(t *testing.T) {
	command, title := servedHome(t)
	m := newCallingModel(t)
	home, dir := t.TempDir(), t.TempDir()
	added := m.runs(t, home, dir, append([]string{"mcp", "add", "past", "--"}, command...)...)
	if !strings.Contains(added, "undo: firn mcp rm past") {
		t.Errorf("added: %s", added)
	}
	if out := m.runs(t, home, dir, "mcp", "ls"); !strings.Contains(out, "past  settings") {
		t.Errorf("the list is %s", out)
	}
	if out := m.runs(t, home, dir, "mcp", "test", "past"); !strings.Contains(out, "mcp__past__list_sessions") || !strings.Contains(out, "past works: ") {
		t.Errorf("the test prints %s", out)
	}
	const call = "call mcp__past__list_sessions {}"
	if out := m.runs(t, home, dir, "chat", "-p", call); !strings.Contains(out, "result: ") || !strings.Contains(out, title) {
		t.Errorf("without a gateway: %s", out)
	}
	if out := m.runs(t, home, dir, "chat", "-p", "--approve", "read-only", call); !strings.Contains(out, "only reading is allowed") {
		t.Errorf("a server's tool runs in the mode read-only: %s", out)
	}
	if m.runs(t, home, dir, "chat", "-p", "--no-tools", "hello"); strings.Contains(m.offered(), "mcp__") {
		t.Errorf("--no-tools offers %s", m.offered())
	}
	m.serveGateway(t, home, dir)
	if out := m.runs(t, home, dir, "chat", "-p", call); !strings.Contains(out, title) {
		t.Errorf("with a gateway: %s", out)
	}
	if out := m.runs(t, home, dir, "status"); !strings.Contains(out, "past, ready, ") {
		t.Errorf("the status is %s", out)
	}
	m.checkBounds(t, home, dir)
}

// serveGateway runs a gateway of a home until the test ends.
func (m *callingModel) serveGateway(t *testing.T, home, dir string) {
	t.Helper()
	cmd := exec.Command("firn", "serve", "--json")
	cmd.Dir, cmd.Env = dir, m.env(home)
	runGateway(t, cmd)
}

// checkBounds checks that a token with bounds has the tools of shared servers only.
func (m *callingModel) checkBounds(t *testing.T, home, dir string) {
	t.Helper()
	owner := dialHome(t, home)
	made, err := owner.Access.CreateToken(t.Context(), wire.NewToken{Name: "bound", Scope: "write", Agents: []string{"main"}})
	if err != nil {
		t.Fatal(err)
	}
	bound, err := client.New(client.Options{Address: "unix:" + filepath.Join(home, "gateway.sock"), Token: made.Secret})
	if err != nil {
		t.Fatal(err)
	}
	defer bound.Close()
	says := func() {
		t.Helper()
		s, err := bound.NewSession(t.Context(), wire.NewSession{Key: "agent:main:bound"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bound.Turn(t.Context(), s.ID, wire.Turn{Text: "hello"}); err != nil {
			t.Fatal(err)
		}
	}
	if says(); strings.Contains(m.offered(), "mcp__") || m.offered() == "" {
		t.Errorf("a token with bounds is offered %s", m.offered())
	}
	if status, err := bound.Status(t.Context()); err != nil || len(status.MCP) > 0 {
		t.Errorf("it sees the servers %v, %v", status.MCP, err)
	}
}

// TestProjectServersNeedApproval checks that a repository's .mcp.json starts nothing before the
// user approves it, and nothing after it changed.
func TestProjectServersNeedApproval(t *testing.T) {
	command, title := servedHome(t)
	m := newCallingModel(t)
	for _, served := range []bool{false, true} {
		home, dir := t.TempDir(), realDir(t)
		write := func(more string) {
			data, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"past": map[string]any{"command": command[0], "args": command[1:], "env": map[string]string{"X": more}}}})
			if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("1")
		if served {
			m.serveGateway(t, home, t.TempDir())
		}
		const call = "call mcp__past__list_sessions {}"
		fails := func(when string) {
			t.Helper()
			if out := m.runs(t, home, dir, "chat", "-p", call); strings.Contains(out, title) || strings.Contains(m.offered(), "mcp__") || !strings.Contains(out, "firn mcp approve") {
				t.Errorf("%s, served %v: %s", when, served, out)
			}
		}
		fails("before the approval")
		if out := m.runs(t, home, dir, "mcp", "ls"); !strings.Contains(out, "not approved") {
			t.Errorf("the list is %s", out)
		}
		if out := m.approves(t, home, dir); !strings.Contains(out, "undo: firn mcp revoke") || !strings.Contains(out, command[0]) {
			t.Errorf("the approval prints %s", out)
		}
		if out := m.runs(t, home, dir, "chat", "-p", call); !strings.Contains(out, title) {
			t.Errorf("after the approval, served %v: %s", served, out)
		}
		write("2")
		fails("after a change")
		m.approves(t, home, dir)
		if out := m.runs(t, home, dir, "mcp", "revoke"); !strings.Contains(out, "undo: firn mcp approve --sure ") {
			t.Errorf("the revocation prints %s", out)
		}
		fails("after the revocation")
	}
}

// approves approves the servers of a project with the command that the plan prints.
func (m *callingModel) approves(t *testing.T, home, dir string) string {
	t.Helper()
	plan := m.runs(t, home, dir, "mcp", "approve", "--plan")
	_, sure, ok := strings.Cut(plan, "to approve them: firn mcp approve --sure ")
	if !ok {
		t.Fatalf("the plan is %s", plan)
	}
	return m.runs(t, home, dir, "mcp", "approve", "--sure", strings.TrimSpace(sure))
}

// TestApprovalShowsEverything checks that firn mcp approve shows all that would run before it
// stores anything, that it asks, and that values of variables are not shown.
func TestApprovalShowsEverything(t *testing.T) {
	home, dir := t.TempDir(), realDir(t)
	long := strings.Repeat("long ", 30) + "end"
	data, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"run": map[string]any{"command": "sh", "args": []string{"-c", long, "\x1b[2J\u202e", "${SECRET_THING}"}, "env": map[string]string{"LD_PRELOAD": "/tmp/x.so"}},
		"web": map[string]any{"url": "https://example.org/${SECRET_THING}", "headers": map[string]string{"X-Key": "${OTHER_THING:-none}"}},
	}})
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		cmd := exec.Command("firn", append([]string{"mcp"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "FIRN_HOME="+home, "FIRN_GATEWAY=", "SECRET_THING=hush-hush")
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "hush-hush") || strings.Contains(string(out), "\x1b") {
			t.Errorf("firn mcp %v prints %q", args, out)
		}
		return string(out), err
	}
	approved := func() bool {
		out, err := run("ls")
		if err != nil || !strings.Contains(out, "${SECRET_THING}") {
			t.Errorf("the list is %s, %v", out, err)
		}
		return !strings.Contains(out, "not approved")
	}
	for _, args := range [][]string{{"approve"}, {"approve", "--json"}, {"approve", "--sure", "0"}} {
		if out, err := run(args...); err == nil || !strings.Contains(out, "firn mcp approve --plan") {
			t.Errorf("%v: %s, %v", args, out, err)
		}
	}
	plan, err := run("approve", "--plan")
	for _, want := range []string{"'" + long + "'", `"\x1b[2J\u202e"`, "LD_PRELOAD=/tmp/x.so", "X-Key: ${OTHER_THING:-none}", "OTHER_THING SECRET_THING", dir, "no changes made"} {
		if err != nil || !strings.Contains(plan, want) {
			t.Errorf("the plan lacks %s: %s, %v", want, plan, err)
		}
	}
	if approved() {
		t.Error("the servers are approved before a confirmation")
	}
	for answer, want := range map[string]string{"": "not approved; no changes made", "y": "undo: firn mcp revoke"} {
		cmd := exec.Command("firn", "mcp", "approve")
		cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "FIRN_GATEWAY=", "TERM=xterm-256color")
		w := runInWindow(t, dir, cmd, 200, 40)
		w.sees("LD_PRELOAD=/tmp/x.so")
		w.sees("[y/N]")
		w.press(answer + "\r")
		w.sees(want)
		if err := cmd.Wait(); err != nil { // it does not change the modes of the terminal, which ends compares
			t.Error(err)
		}
		<-w.seen
		if approved() != (answer == "y") {
			t.Errorf("after the answer %q: approved %v", answer, approved())
		}
		if _, err := run("revoke"); err != nil {
			t.Error(err)
		}
	}
}

// TestMCPServersAtTerminal lets a user approve a call of a server's tool, with and without the
// gateway, and checks /status. A server that does not start does not delay the chat.
func TestMCPServersAtTerminal(t *testing.T) {
	command, _ := servedHome(t)
	m := newCallingModel(t)
	home, dir := t.TempDir(), t.TempDir()
	m.runs(t, home, dir, append([]string{"mcp", "add", "past", "--"}, command...)...)
	m.runs(t, home, dir, "mcp", "add", "broken", "--", "sh", "-c", "echo no license >&2; exit 3")
	for _, served := range []bool{false, true} {
		if served {
			m.serveGateway(t, home, dir)
		}
		cmd := exec.Command("firn", "chat")
		cmd.Env = append(m.env(home), "TERM=xterm-256color", "NO_COLOR=")
		w := runInWindow(t, dir, cmd, 120, 40)
		w.sees("›")
		w.press("call mcp__past__list_sessions {}\r")
		w.sees("the MCP server broken did not start: it exited with exit status 3: no license")
		w.sees("Allow mcp__past__list_sessions")
		w.press("y\r")
		w.sees("· allowed")
		w.sees("result:")
		w.press("/status\r")
		w.sees("past, ready, ")
		w.sees("broken, failed: ")
		w.press("/quit\r")
		w.ends(0)
	}
}

// TestMCPServersOfEditors checks that a session of an editor has the tools of the MCP servers
// that the editor names, besides its own, and only that session.
func TestMCPServersOfEditors(t *testing.T) {
	command, title := servedHome(t)
	m := newCallingModel(t)
	for _, served := range []bool{false, true} {
		home := t.TempDir()
		if served {
			m.serveGateway(t, home, home)
		}
		e := startACP(t, home, m.env(home))
		servers := []acp.McpServer{{Stdio: &acp.McpServerStdio{Name: "past", Command: command[0], Args: command[1:], Env: []acp.EnvVariable{}}}}
		s, err := e.conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/tmp", McpServers: servers})
		if err != nil {
			t.Fatal(err)
		}
		e.prompt(s.SessionId, "call mcp__past__list_sessions {}")
		if got := e.take(); !strings.Contains(got, "result: completed") || !strings.Contains(got, title) {
			t.Errorf("served %v: %s", served, got)
		}
		m.mu.Lock()
		if !slices.Contains(m.tools, "calc") || !served && !slices.Contains(m.tools, "read_file") {
			t.Errorf("the agent's own tools are gone: %s", m.tools)
		}
		m.mu.Unlock()
		other := e.newSession()
		e.prompt(other, "hello")
		if strings.Contains(m.offered(), "mcp__") {
			t.Errorf("another session is offered %s", m.offered())
		}
		_, err = e.conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/tmp", McpServers: []acp.McpServer{{Sse: &acp.McpServerSseInline{Name: "x", Url: "http://x", Type: "sse", Headers: []acp.HttpHeader{}}}}})
		if err == nil || !strings.Contains(err.Error(), "neither stdio nor HTTP") {
			t.Errorf("a server over SSE: %v", err)
		}
		e.quit()
	}
}
