package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// codexVersion is the tested version of Codex.
const codexVersion = "0.166.0"

// codex is a home of Codex and a working directory.
type codex struct {
	user, home, cwd string
}

func newCodex(t *testing.T) *codex {
	t.Helper()
	requireVersion(t, codexPackage(), codexVersion+"-"+strings.TrimPrefix(codexPackage(), "codex-"))
	user := t.TempDir()
	c := &codex{user: user, home: filepath.Join(user, ".codex"), cwd: realDir(t)}
	if err := os.Mkdir(c.home, 0o700); err != nil {
		t.Fatal(err)
	}
	return c
}

func codexPackage() string { return "codex-" + runtime.GOOS + "-" + architecture() }

// codexBinary returns the command that npm installed for this machine.
func codexBinary(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(installed(t, codexPackage(), "vendor", "*", "bin", "codex"))
	if err != nil || len(found) != 1 {
		t.Fatalf("there is no command codex in the package: %q, %v", found, err)
	}
	return found[0]
}

// ask asks Codex a question, and returns the request that the provider receives, one line
// per part, without Codex's own messages. The answer is always the same.
func (c *codex) ask(t *testing.T, question string, args ...string) []string {
	t.Helper()
	f := newProvider(t, "It was snow.")
	settings := fmt.Sprintf(`model = "fake-1"
model_provider = "fake"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.fake]
name = "fake"
base_url = %q
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
`, f.server.URL+"/v1")
	if err := os.WriteFile(filepath.Join(c.home, "config.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(append(plainEnv(c.user), f.proxied()...), "CODEX_HOME="+c.home, "FAKE_KEY=none")
	args = append(append([]string{"exec", "--skip-git-repo-check"}, args...), question)
	if out := run(t, c.cwd, env, codexBinary(t), args...); !strings.Contains(out, "It was snow.") {
		t.Errorf("codex printed %q", out)
	}
	if len(f.wants()) > 0 {
		t.Errorf("codex also wants %q", f.wants())
	}
	return f.flatInput(t)
}

// client returns Codex as a target of handoffs.
func (c *codex) client() client {
	return client{tool: "codex", home: c.home, cwd: c.cwd, ask: c.ask, withoutOwnMessages: withoutPlace}
}

// codexWords translates firn's texts to those in Codex's files.
var codexWords = strings.NewReplacer(
	"user: The conversation history before this point was compacted into the following summary:", "user: The conversation before this point was compacted into this summary:",
	"user: The following is a summary of a branch that this conversation came back from:\n\n<summary>\n", "user: Summary of a branch that this conversation came back from:\n\n",
	"\n</summary>", "\n</summary>", // unchanged in a compaction
	"</summary>", "",
)

// TestCodexCommand hands sessions to Codex and continues them there:
//
//	codex exec resume ID "…"
func TestCodexCommand(t *testing.T) {
	continueIn(t, func(t *testing.T) client { return newCodex(t).client() }, codexWords, map[string][]string{
		// Thinking that OpenAI did not encrypt is omitted, and commands are in Codex's
		// form.
		"one line of every kind": {
			"user: What is in a.txt?",
			"assistant: Reading it.",
			"call toolu_1 read map[limit:1.5 path:a.txt]",
			"call toolu_2 read map[limit:1.5 path:a.txt]",
			"result toolu_1: alpha\n",
			"result toolu_2: no such file+[image/png]",
			"assistant: Alpha.",
			"user: And here?",
			"user: [image/png]",
			"user: <user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 0\nOutput:\na.txt\n\n</result>\n</user_shell_command>",
			"user: <user_shell_command>\n<command>\ntrue\n</command>\n<result>\nExit code: 0\nOutput:\n\n</result>\n</user_shell_command>",
			"user: The user is away.",
			"user: Summary of a branch that this conversation came back from:\n\nTried another file; nothing there.",
			"user: Summary of a branch that this conversation came back from:\n\n",
			"assistant: A dot.",
		},
	})
}

// flatInput formats the only request to the Responses API, one line per part, without
// instructions and Codex's environment context.
func (f *provider) flatInput(t *testing.T) []string {
	t.Helper()
	var items []wireItem
	request := f.only(t)
	if err := json.Unmarshal(request["input"], &items); err != nil {
		t.Fatalf("the request has an input that is none: %v\n%s", err, request["input"])
	}
	var flat []string
	for _, item := range items {
		if item.Role != "developer" && item.Role != "system" {
			flat = append(flat, item.flat(t)...)
		}
	}
	return withoutPlace(flat)
}

// withoutPlace removes Codex's environment context.
func withoutPlace(flat []string) []string {
	return slices.DeleteFunc(flat, func(line string) bool {
		for _, tag := range []string{"environment_context", "permissions instructions", "skills_instructions"} {
			if strings.HasPrefix(line, "user: <"+tag+">") {
				return true
			}
		}
		return false
	})
}

// wireItem is an item of the Responses API.
type wireItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Input     string          `json:"input"`
	Output    json.RawMessage `json:"output"`
	Encrypted string          `json:"encrypted_content"`
	Summary   []struct {
		Text string `json:"text"`
	} `json:"summary"`
}

func (i wireItem) flat(t *testing.T) []string {
	t.Helper()
	var flat []string
	switch i.Type {
	case "message", "":
		for _, b := range blocks(t, i.Content) {
			flat = append(flat, i.Role+": "+b.flat(t))
		}
	case "function_call":
		flat = append(flat, flatCall(i.CallID, i.Name, json.RawMessage(i.Arguments)))
	case "function_call_output", "custom_tool_call_output":
		var content []string
		for _, b := range blocks(t, i.Output) {
			content = append(content, b.flat(t))
		}
		flat = append(flat, flatResult(i.CallID, strings.Join(content, "+")))
	case "custom_tool_call":
		flat = append(flat, fmt.Sprintf("call %s %s %s", i.CallID, i.Name, i.Input))
	case "reasoning":
		var texts []string
		for _, s := range i.Summary {
			texts = append(texts, s.Text)
		}
		flat = append(flat, flatThinking(strings.Join(texts, "+"), i.Encrypted))
	default:
		flat = append(flat, "unknown item "+i.Type)
	}
	return flat
}
