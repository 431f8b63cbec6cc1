//go:build unix

package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"firn.dev"
)

// TestACPPermission checks that an editor is asked about a call, with its change, and that
// its answer counts. An editor that cannot ask refuses.
func TestACPPermission(t *testing.T) {
	home, work := approvalHome(t, "[defaults.approvals]\nmode = 'ask'\n")
	e := startACP(t, home, nil, "--workspace", work, "--allow-shell")
	id := e.newSession()
	file := filepath.Join(work, "a.txt")
	answer := func(text string, choose func(acp.RequestPermissionRequest) acp.PermissionOptionId) {
		t.Helper()
		e.mu.Lock()
		e.choose = choose
		e.mu.Unlock()
		if why := e.prompt(id, text); why != acp.StopReasonEndTurn {
			t.Errorf("it ended with %s", why)
		}
	}
	answer("write one to a.txt", nil)
	answer("write two to a.txt", func(q acp.RequestPermissionRequest) acp.PermissionOptionId { return "refuse" })
	if _, err := os.Stat(file); err == nil {
		t.Error("the file was written without permission")
	}
	var asked []string
	always := func(q acp.RequestPermissionRequest) acp.PermissionOptionId {
		asked = append(asked, *q.ToolCall.Title)
		if len(q.Options) != 3 || len(q.ToolCall.Content) != 1 || !strings.Contains(q.ToolCall.Content[0].Content.Content.Text.Text, "+three") {
			t.Errorf("it asks %+v", q)
		}
		return "allow-session"
	}
	answer("write three to a.txt", always)
	answer("write three more to a.txt", always) // not asked again
	if data, err := os.ReadFile(file); err != nil || string(data) != "three more" || len(asked) != 1 {
		t.Errorf("the file has %q, %v; asked %q", data, err, asked)
	}
	e.quit()
	output := outputs(t, home, "approvals", "rules")
	if !strings.Contains(output, "--session "+string(id)) || !strings.Contains(output, "edit(a.txt)") {
		t.Errorf("the rules are %s", output)
	}
}

// TestApprovalRules removes a rule and undoes that.
func TestApprovalRules(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	if output := outputs(t, home, "approvals", "rules"); output != "no rules\n" {
		t.Errorf("the rules are %q", output)
	}
	rule := []string{"--project", work, "shell(make *)"}
	outputs(t, home, append([]string{"approvals", "rules", "add"}, rule...)...)
	before := outputs(t, home, "approvals", "rules")
	output := outputs(t, home, append([]string{"approvals", "rules", "remove"}, rule...)...)
	if !strings.Contains(output, "undo: firn approvals rules add --project ") || outputs(t, home, "approvals", "rules") != "no rules\n" {
		t.Errorf("remove returned %s", output)
	}
	outputs(t, home, append([]string{"approvals", "rules", "add"}, rule...)...)
	if after := outputs(t, home, "approvals", "rules"); after != before {
		t.Errorf("the rules are %q, were %q", after, before)
	}
	for _, args := range [][]string{{"remove", "--project", work, "shell(rm *)"}, {"remove", "shell(make *)"}, {"add", "--project", work, "nonsense("}, {"add", "--project", work, "shel(make *)"}} {
		if out, err := program(home, append([]string{"approvals", "rules"}, args...)...).CombinedOutput(); err == nil {
			t.Errorf("%v says %s", args, out)
		}
	}
}

// TestApprovalOverOtherProtocols checks that a call which needs approval does not hang: over
// MCP and OpenAI's API the request ends with the command that answers it, and the turn
// continues after the answer. MCP without a gateway refuses the call.
func TestApprovalOverOtherProtocols(t *testing.T) {
	home, work := approvalHome(t, "[defaults.approvals]\nmode = 'ask'\n")
	alone := mcpClient(t, &mcp.CommandTransport{Command: program(home, "mcp")})
	text, _ := well(t, alone, "send_message", map[string]any{"text": "write one to one.txt", "key": "agent:main:alone"})
	if strings.Contains(text, "waits for approval") {
		t.Errorf("without a gateway: %s", text)
	}
	alone.Close()
	if _, err := os.Stat(filepath.Join(work, "one.txt")); err == nil {
		t.Error("the file was written without approval")
	}
	ready := startServe(t, home)
	c := dialHome(t, home)
	s := mcpClient(t, &mcp.CommandTransport{Command: program(home, "mcp")})
	text, data := well(t, s, "send_message", map[string]any{"text": "write two to two.txt", "key": "agent:main:mcp"})
	id, _ := data["session"].(string)
	if !strings.Contains(text, "waits for approval") || !strings.Contains(text, "firn approvals allow "+id) || !strings.Contains(text, "firn approvals deny "+id) || data["pending"] != true {
		t.Fatalf("over MCP: %s", text)
	}
	outputs(t, home, "approvals", "allow", id)
	awaitAnswer(t, c, firn.ID(id), "Done: created two.txt")

	token := strings.TrimSpace(outputs(t, home, "token", "create", "api", "--scope", "write"))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+ready.TCP+"/v1/chat/completions", bytes.NewReader([]byte(`{"model":"main","messages":[{"role":"user","content":"write three to three.txt"}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || response.StatusCode == http.StatusOK || !strings.Contains(string(body), "waits for approval in session") || !strings.Contains(string(body), "firn approvals allow") {
		t.Fatalf("over OpenAI's API: %d %s, %v", response.StatusCode, body, err)
	}
	_, rest, _ := strings.Cut(string(body), "firn approvals allow ")
	words := strings.Fields(strings.ReplaceAll(rest, ",", " "))
	outputs(t, home, "approvals", "allow", words[0], words[1])
	awaitAnswer(t, c, firn.ID(words[0]), "Done: created three.txt")
}
