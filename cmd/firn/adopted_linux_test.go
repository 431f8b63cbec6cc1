package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// writeTools writes a session of Claude Code, Codex and pi in a directory, below the tools'
// own directories in a user's home.
func writeTools(t *testing.T, user, dir string) {
	t.Helper()
	name := regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(dir, "-")
	pi := "--" + strings.ReplaceAll(strings.TrimPrefix(dir, "/"), "/", "-") + "--"
	for path, text := range map[string]string{
		".claude/projects/" + name + "/11111111-2222-4333-8444-555555555555.jsonl": `{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"DIR","sessionId":"11111111-2222-4333-8444-555555555555","version":"2.0.1","type":"user","message":{"role":"user","content":"Our lighthouse is red."},"uuid":"a0000000-0000-4000-8000-000000000001","timestamp":"2026-11-15T10:00:00.000Z"}
{"parentUuid":"a0000000-0000-4000-8000-000000000001","isSidechain":false,"userType":"external","cwd":"DIR","sessionId":"11111111-2222-4333-8444-555555555555","version":"2.0.1","type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"Red it is."}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4}},"requestId":"req_1","uuid":"a0000000-0000-4000-8000-000000000002","timestamp":"2026-11-15T10:00:02.000Z"}
`,
		".codex/sessions/2026/11/15/rollout-2026-11-15T11-00-00-019a0000-0000-7000-8000-000000000001.jsonl": `{"timestamp":"2026-11-15T11:00:00.000Z","type":"session_meta","payload":{"id":"019a0000-0000-7000-8000-000000000001","timestamp":"2026-11-15T11:00:00.000Z","cwd":"DIR","originator":"codex_cli_rs","cli_version":"0.60.0","instructions":null,"source":"cli","model_provider":"openai"}}
{"timestamp":"2026-11-15T11:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"The harbor has nine berths."}]}}
{"timestamp":"2026-11-15T11:00:02.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Nine, noted."}]}}
`,
		".pi/agent/sessions/" + pi + "/2026-11-15T12-00-00-000Z_019b0000-0000-7000-8000-0000000000aa.jsonl": `{"type":"session","version":3,"id":"019b0000-0000-7000-8000-0000000000aa","timestamp":"2026-11-15T12:00:00.000Z","cwd":"DIR"}
{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-11-15T12:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"The ferry leaves at dawn."}],"timestamp":1794744001000}}
{"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-11-15T12:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"At dawn, understood."}],"api":"anthropic-messages","provider":"anthropic","model":"claude-sonnet-4-5","usage":{"input":1,"output":2,"cacheRead":0,"cacheWrite":0,"totalTokens":3,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":1794744002000}}
`,
	} {
		path = filepath.Join(user, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestResumeAdopted chooses sessions of other tools in the picker and continues them. What is
// typed while the picker closes is not lost, and the copied messages are not shown as those of
// another client.
func TestResumeAdopted(t *testing.T) {
	for name, served := range map[string]bool{"with a gateway": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			home, user, dir := t.TempDir(), t.TempDir(), t.TempDir()
			dir, err := filepath.EvalSymlinks(dir)
			if err != nil {
				t.Fatal(err)
			}
			writeTools(t, user, dir)
			adopt := firnCommand(home, "adopt", "--yes")
			adopt.Env = append(adopt.Env, "HOME="+user, "CLAUDE_CONFIG_DIR=", "CODEX_HOME=")
			if out, err := adopt.CombinedOutput(); err != nil || strings.Count(string(out), "1 new") != 3 {
				t.Fatalf("%v\n%s", err, out)
			}
			if served {
				serveHome(t, home)
			}
			for _, c := range [][2]string{{"lighthouse", "Red it is."}, {"berths", "Nine, noted."}, {"ferry", "At dawn, understood."}} {
				cmd := exec.Command("firn", "chat", "-r")
				cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=firn/offline", "TERM=xterm-256color", "NO_COLOR=1")
				w := runInWindow(t, dir, cmd, 80, 24)
				w.Await(t, "3, this project")
				w.press(c[0])
				w.Await(t, "agent: "+c[1])
				w.press("\rwhat is 6*7\r") // also typed ahead
				w.Await(t, "Resumed: 1 previous turn")
				w.Await(t, "6*7 = 42")
				w.Await(t, "on disk")
				w.press("what is 6*8\r")
				w.Await(t, "6*8 = 48")
				w.AwaitThat(t, "the second turn is over", func() bool { return strings.Count(w.All(), "on disk") == 2 })
				if all := w.All(); strings.Contains(all, "another client") || strings.Count(all, c[1]) > 2 {
					t.Errorf("copied messages are shown again:\n%s", all)
				}
				w.press("\x04")
				w.ends(0)
			}
			verify(t, home)
		})
	}
}
