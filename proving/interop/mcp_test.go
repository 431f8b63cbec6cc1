package interop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"firn.dev/internal/base/basetest"
)

// mcpPackages are the servers of the Model Context Protocol that agents are tried with, and
// the suite that firn's own server is tried with.
var mcpPackages = map[string]string{
	"@modelcontextprotocol/server-filesystem": "2026.8.31",
	"@modelcontextprotocol/server-everything": "2026.8.31",
	"@modelcontextprotocol/conformance":       "0.1.16",
}

// namedCall is a call that a message asks for.
var namedCall = regexp.MustCompile(`call (mcp__\S+) (\{.*\})`)

// callingProvider is a model that makes the call that the message names, and answers with the
// result of the call.
func callingProvider(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Messages []struct {
				Role    string
				Content json.RawMessage
			}
		}
		_ = json.NewDecoder(r.Body).Decode(&body) // firn's requests are valid JSON
		delta, reason := map[string]any{"role": "assistant", "content": "no call"}, "stop"
		for _, m := range body.Messages {
			text := contentText(m.Content)
			found := namedCall.FindStringSubmatch(text)
			switch {
			case m.Role == "tool":
				delta, reason = map[string]any{"role": "assistant", "content": "result: " + text}, "stop"
			case found != nil && m.Role == "user" && reason == "stop":
				delta, reason = map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
					"index": 0, "id": "call_1", "type": "function", "function": map[string]any{"name": found[1], "arguments": found[2]},
				}}}, "tool_calls"
			}
		}
		chunk, _ := json.Marshal(map[string]any{"id": "1", "object": "chat.completion.chunk", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}}})
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", chunk)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// contentText returns the text of a message.
func contentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(raw, &parts) // neither is an error
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// mcpFirn runs firn.
func mcpFirn(t *testing.T, home string, args ...string) string {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{"--home", home}, args...)...)
	cmd.Dir = home
	cmd.Env = plainEnv(home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("firn %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestAgentUsesRealMCPServers lets an agent use the protocol's own servers: files over stdio,
// and everything else over stdio and HTTP. Then it runs the protocol's own suite against the
// same gateway, as a server.
func TestAgentUsesRealMCPServers(t *testing.T) {
	for name, version := range mcpPackages {
		requireVersion(t, name, version)
	}
	home, files := t.TempDir(), t.TempDir()
	settings := fmt.Sprintf("[defaults]\nmodel = \"calling/x\"\ntitles = false\n[providers.calling]\nkind = \"openai-chat\"\nurl = %q\n", callingProvider(t))
	if err := os.WriteFile(filepath.Join(home, "firn.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	if real, err := filepath.EvalSymlinks(files); err == nil {
		files = real
	}
	everything := installed(t, "@modelcontextprotocol", "server-everything", "dist", "index.js")
	mcpFirn(t, home, "mcp", "add", "files", "--", node(t), installed(t, "@modelcontextprotocol", "server-filesystem", "dist", "index.js"), files)
	mcpFirn(t, home, "mcp", "add", "every", "--", node(t), everything)
	mcpFirn(t, home, "mcp", "add", "web", "--url", startEverything(t, everything)+"/mcp")
	waitForServers(t, home)
	gateway := serve(t, home)
	ask := func(call, want string) {
		t.Helper()
		if out := mcpFirn(t, home, "chat", "-p", "call "+call); !strings.Contains(out, want) {
			t.Errorf("%s: got %s, want %q", call, out, want)
		}
	}
	ask(fmt.Sprintf(`mcp__files__write_file {"path":%q,"content":"from an agent"}`, filepath.Join(files, "a.txt")), "Successfully wrote")
	if data, err := os.ReadFile(filepath.Join(files, "a.txt")); err != nil || string(data) != "from an agent" {
		t.Errorf("the file has %q, %v", data, err)
	}
	ask(fmt.Sprintf(`mcp__files__read_text_file {"path":%q}`, filepath.Join(files, "a.txt")), "from an agent")
	ask(`mcp__files__read_text_file {"path":"/etc/hostname"}`, "Access denied")
	for _, server := range []string{"every", "web"} {
		ask("mcp__"+server+`__echo {"message":"hello there"}`, "hello there")
		ask("mcp__"+server+`__get-sum {"a":2,"b":40}`, "42")
	}
	if out := mcpFirn(t, home, "mcp", "test", "every", "--json"); !strings.Contains(out, "mcp__every__get-tiny-image") {
		t.Errorf("the tools are %s", out)
	}
	t.Run("conformance", func(t *testing.T) { checkConformance(t, home, gateway.url) })
}

// waitForServers lets turns wait for slow servers: the programs start slowly on a busy
// machine.
func waitForServers(t *testing.T, home string) {
	t.Helper()
	file := filepath.Join(home, "firn.toml")
	settings, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	added := regexp.MustCompile(`(?m)^\w+ = \{ `).ReplaceAll(settings, []byte(`${0}wait = "5m", start_timeout = "5m", `))
	if strings.Count(string(added), "wait = ") != 3 {
		t.Fatalf("the settings are %s", added)
	}
	if err := os.WriteFile(file, added, 0o600); err != nil {
		t.Fatal(err)
	}
}

// startEverything starts the server over HTTP and returns its address.
func startEverything(t *testing.T, script string) string {
	t.Helper()
	port := strconv.Itoa(basetest.FreePorts(t, 1)[0])
	cmd := exec.Command(node(t), script, "streamableHttp")
	cmd.Env = append(plainEnv(t.TempDir()), "PORT="+port)
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	ready := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "listening") {
				ready <- true
			}
		}
		close(ready)
	}()
	select {
	case ok := <-ready:
		if !ok {
			t.Fatal("the server ended")
		}
	case <-time.After(patience):
		t.Fatal("the server did not start")
	}
	return "http://127.0.0.1:" + port
}
