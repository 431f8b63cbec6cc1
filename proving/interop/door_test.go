package interop

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// served is a running gateway with a TCP port.
type served struct {
	url string
	cmd *exec.Cmd
}

// serve starts a gateway on a home and waits until it is ready.
func serve(t *testing.T, home string) *served {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	address := filepath.Join(home, "gateway", "address.json")
	_ = os.Remove(address) // of a gateway that was killed
	var log strings.Builder
	cmd := exec.Command(program, "--home", home, "serve", "--listen", "127.0.0.1:0")
	cmd.Env, cmd.Stderr = plainEnv(t.TempDir()), &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &served{cmd: cmd}
	t.Cleanup(s.kill)
	var at struct{ TCP string }
	for end := time.Now().Add(patience); at.TCP == ""; time.Sleep(20 * time.Millisecond) {
		if data, err := os.ReadFile(address); err == nil {
			_ = json.Unmarshal(data, &at) // not complete yet
		}
		if time.Now().After(end) {
			s.kill()
			t.Fatalf("the gateway did not start\n%s", &log)
		}
	}
	s.url = "http://" + at.TCP
	return s
}

// kill kills the gateway, once.
func (s *served) kill() {
	if s.cmd.ProcessState == nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
}

// TestClaudeCodeUsesFirn points the real Claude Code at firn's Messages API, kills the
// gateway between two questions and continues: it is one session, with everything in it.
func TestClaudeCodeUsesFirn(t *testing.T) {
	c, home := newClaude(t), t.TempDir()
	var token struct{ Secret string }
	askFirn(t, &token, home, "token", "create", "claude-code", "--scope", "write")
	ask := func(question string, args ...string) string {
		s := serve(t, home)
		defer s.kill()
		env := append(c.env(nil), "ANTHROPIC_BASE_URL="+s.url, "ANTHROPIC_API_KEY="+token.Secret,
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
		return run(t, c.cwd, env, c.program(t), append([]string{"-p", question, "--model", "main"}, args...)...)
	}
	const greeting = "hello, my name is Ada"
	first := ask(greeting)
	second := ask("what is my name?", "--continue")
	if first == "" || !strings.Contains(second, "Ada") {
		t.Errorf("the answers are %q and %q", first, second)
	}
	var list struct {
		Items []struct {
			ID, Title string
			Counts    struct{ Turns int }
		}
	}
	askFirn(t, &list, home, "ls")
	if len(list.Items) != 1 || list.Items[0].Counts.Turns != 2 || list.Items[0].Title != greeting {
		t.Fatalf("the sessions are %+v", list.Items)
	}
	text := runFirn(t, home, "cat", list.Items[0].ID)
	for _, want := range []string{greeting, strings.TrimSpace(first), "what is my name?", strings.TrimSpace(second)} {
		if !strings.Contains(text, want) {
			t.Errorf("the session lacks %q:\n%s", want, text)
		}
	}
}
