package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recallHome is a home with imported sessions: each has an id, a directory and messages of the
// user and the model in turn.
func recallHome(t *testing.T, sessions map[string][]string) string {
	t.Helper()
	home, from := t.TempDir(), t.TempDir()
	for id, got := range sessions {
		var lines []string
		parent := "null"
		for i, text := range got[1:] {
			role := []string{"user", "assistant"}[i%2]
			uuid := fmt.Sprintf("%s-0000-4000-8000-%012d", id[:8], i+1)
			content, _ := json.Marshal([]map[string]string{{"type": "text", "text": text}})
			lines = append(lines, fmt.Sprintf(`{"parentUuid":%s,"cwd":%q,"sessionId":%q,"version":"2.0.0","type":%q,"message":{"role":%q,"content":%s},"uuid":%q,"timestamp":%q}`,
				parent, got[0], id, role, role, content, uuid, time.Now().Add(time.Duration(i-100)*time.Minute).UTC().Format(time.RFC3339)))
			parent = `"` + uuid + `"`
		}
		if err := os.WriteFile(filepath.Join(from, id+".jsonl"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outputs(t, home, "import", from)
	return home
}

// recalled runs firn recall with stdin and returns its output.
func recalled(t *testing.T, home, stdin string, args ...string) string {
	t.Helper()
	cmd := program(home, append([]string{"recall"}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("firn recall %v: %v", args, err)
	}
	return string(out)
}

// hookContext returns the context in the output of a hook.
func hookContext(t *testing.T, out, event string) string {
	t.Helper()
	var got struct {
		Output map[string]string `json:"hookSpecificOutput"`
	}
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil || got.Output["hookEventName"] != event || len(got.Output) != 2 {
		t.Fatalf("the hook prints %q, %v", out, err)
	}
	return got.Output["additionalContext"]
}

const (
	shopSession = "aaaaaaaa-1111-4111-8111-111111111111"
	boatSession = "bbbbbbbb-2222-4222-8222-222222222222"
)

func shopHome(t *testing.T) string {
	return recallHome(t, map[string][]string{
		shopSession: {"/w/shop",
			"The checkout of the shop fails with ECONNRESET if the payment proxy is restarted.", "Restart the proxy with drain, then checkout works.",
			"In src/pay/charge.go the retry must not run twice, since the bank charges again.", "Noted: charge.go retries once.",
			"My key is ghp_x7Kq2LmN9pR4sT6vW8yZ1aB3cD5eF7gH9jK2 for the warehouse export of parcels.", "Thanks."},
		boatSession: {"/w/boat", "The sails of the boat are stored in the attic of the harbor office.", "Fine.", "See charge.go for the batteries.", "Right."},
	})
}

// TestRecall runs recall as a user, as a hook of Claude Code and as one of Codex.
func TestRecall(t *testing.T) {
	home := shopHome(t)
	prompt := "Why does the checkout fail with ECONNRESET after the payment proxy was restarted?"
	for name, out := range map[string]string{
		"words": recalled(t, home, "", "Why", "does the checkout fail with ECONNRESET after", "the payment proxy was restarted?"),
		"stdin": recalled(t, home, prompt, "--for-prompt"),
		"claude": hookContext(t, recalled(t, home, `{"session_id":"x","transcript_path":"/t","cwd":"/w/shop","permission_mode":"default","hook_event_name":"UserPromptSubmit","prompt":"`+prompt+`"}`,
			"--for-prompt"), "UserPromptSubmit"),
		"codex": hookContext(t, recalled(t, home, `{"session_id":"x","turn_id":"1","transcript_path":null,"cwd":"/w/shop","model":"m","permission_mode":"default","hook_event_name":"UserPromptSubmit","prompt":"`+prompt+`"}`,
			"--for-prompt"), "UserPromptSubmit"),
	} {
		if !strings.Contains(out, "drain") || strings.Contains(out, "sails") || !strings.HasPrefix(out, "<recall>\n") {
			t.Errorf("%s: %q", name, out)
		}
	}
	for _, other := range []string{"hello", "go on", "", "?", "What is the capital of Norway and its population?", `{"hook_event_name":"UserPromptSubmit","prompt":"Write a haiku about autumn leaves"}`,
		`{"hook_event_name":"Stop"}`, `{"hook_event_name":"UserPromptSubmit","session_id":"` + shopSession + `","prompt":"` + prompt + `"}`} {
		if out := recalled(t, home, other, "--for-prompt"); out != "" {
			t.Errorf("%s: %q", other, out)
		}
	}
	if out := recalled(t, home, "Which key is for the warehouse export of parcels?", "--for-prompt"); !strings.Contains(out, "warehouse") || strings.Contains(out, "ghp_x7Kq2LmN9pR4sT6vW8yZ1aB3cD5eF7gH9jK2") {
		t.Errorf("a secret: %q", out)
	}
	if out := recalled(t, home, prompt, "--for-prompt", "--tokens", "60"); len(out) > 240 {
		t.Errorf("%d bytes: %q", len(out), out)
	}
	outputs(t, home, "rm", shopSession, "#2")
	if out := recalled(t, home, prompt, "--for-prompt"); strings.Contains(out, "drain") || !strings.Contains(out, "ECONNRESET") {
		t.Errorf("with a hidden entry: %q", out)
	}
	outputs(t, home, "rm", shopSession)
	if out := recalled(t, home, prompt, "--for-prompt"); out != "" {
		t.Errorf("of a hidden session: %q", out)
	}
	outputs(t, home, "restore", shopSession)
	if out := recalled(t, home, prompt, "--for-prompt"); !strings.Contains(out, "ECONNRESET") {
		t.Errorf("of a restored session: %q", out)
	}
	outputs(t, home, "rm", "--bin", shopSession)
	if out := recalled(t, home, prompt, "--for-prompt"); out != "" {
		t.Errorf("of a removed session: %q", out)
	}
}

// TestRecallForFile runs recall before a tool changes a file.
func TestRecallForFile(t *testing.T) {
	home := shopHome(t)
	hook := func(tool, input string) string {
		return recalled(t, home, `{"session_id":"x","cwd":"/w/shop","hook_event_name":"PreToolUse","tool_name":"`+tool+`","tool_input":`+input+`}`, "--for-file", "-")
	}
	for name, out := range map[string]string{
		"path":  recalled(t, home, "", "--for-file", "/w/shop/src/pay/charge.go"),
		"edit":  hookContext(t, hook("Edit", `{"file_path":"/w/shop/src/pay/charge.go","old_string":"a","new_string":"b"}`), "PreToolUse"),
		"patch": hookContext(t, hook("apply_patch", `{"command":"*** Begin Patch\n*** Update File: src/pay/charge.go\n@@\n*** End Patch"}`), "PreToolUse"),
	} {
		if !strings.Contains(out, "bank charges again") || strings.Contains(out, "batteries") {
			t.Errorf("%s: %q", name, out)
		}
	}
	for name, out := range map[string]string{
		"another file":      recalled(t, home, "", "--for-file", "/w/shop/src/pay/refund.go"),
		"another directory": recalled(t, home, "", "--for-file", "/w/other/charge.go"),
		"a command":         hook("Bash", `{"command":"ls"}`),
		"no input":          hook("Edit", `null`),
	} {
		if out != "" {
			t.Errorf("%s: %q", name, out)
		}
	}
}

// TestRecallHookNeverFails checks that a hook always exits with 0: other codes would block the
// tool's prompt.
func TestRecallHookNeverFails(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "firn.toml"), []byte("nonsense = ["), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := recalled(t, home, `{"hook_event_name":"UserPromptSubmit","prompt":"Why does the checkout of the shop fail?"}`, "--for-prompt"); out != "" {
		t.Errorf("it prints %q", out)
	}
	cmd := program(home, "recall", "--for-prompt")
	cmd.Stdin = strings.NewReader("Why does the checkout of the shop fail?")
	if err := cmd.Run(); err == nil {
		t.Error("broken settings are not reported to a person")
	}
}

// TestRecallInstall installs the hooks, runs them as the tool would, and runs the undo.
func TestRecallInstall(t *testing.T) {
	home := shopHome(t)
	const before = "{\n  \"model\": \"opus\",\n  \"n\": 12345678901234567890,\n  \"hooks\": {\n    \"Stop\": [],\n    \"PreToolUse\": [\n      {\n        \"matcher\": \"Bash\",\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"check <all> & more\"\n          }\n        ]\n      }\n    ]\n  },\n  \"z\": null\n}\n"
	for name, variable := range map[string]string{"claude-code": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"} {
		for _, old := range []string{before, ""} {
			dir := t.TempDir()
			file := filepath.Join(dir, map[string]string{"claude-code": "settings.json", "codex": "hooks.json"}[name])
			if old != "" {
				if err := os.WriteFile(file, []byte(old), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run := func(args ...string) string {
				cmd := program(home, args...)
				cmd.Env = append(cmd.Env, variable+"="+dir)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %v\n%s", args, err, out)
				}
				return string(out)
			}
			out := run("recall", "--install", name)
			run("recall", "--install", name) // again changes nothing
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var settings struct {
				Hooks map[string][]struct {
					Matcher string
					Hooks   []struct{ Type, Command string }
				}
			}
			if err := json.Unmarshal(data, &settings); err != nil || strings.Count(string(data), "--for-prompt") != 1 || strings.Count(string(data), "--for-file") != 1 || old != "" && !strings.Contains(string(data), "check <all> & more") {
				t.Fatalf("%s: %v\n%s", name, err, data)
			}
			hook := settings.Hooks["UserPromptSubmit"][0].Hooks[0]
			cmd := exec.Command("sh", "-c", hook.Command)
			cmd.Env = append(os.Environ(), "FIRN_HOME=", "FIRN_MODEL=", "FIRN_GATEWAY=")
			cmd.Stdin = strings.NewReader(`{"hook_event_name":"UserPromptSubmit","prompt":"Why does the checkout fail with ECONNRESET after the payment proxy restarted?"}`)
			answer, err := cmd.Output()
			if err != nil || !strings.Contains(hookContext(t, string(answer), "UserPromptSubmit"), "drain") {
				t.Errorf("%s: the hook %s prints %q, %v", name, hook.Command, answer, err)
			}
			_, undo, ok := strings.Cut(out, "undo: firn ")
			if !ok {
				t.Fatalf("%s prints %q", name, out)
			}
			run(strings.Fields(undo)...)
			data, err = os.ReadFile(file)
			if string(data) != old || (err != nil) != (old == "") {
				t.Errorf("%s: after the undo\n%s\n%v, want\n%s", name, data, err, old)
			}
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "settings.json")
	if err := os.WriteFile(file, []byte(`{"hooks": [1], // mine`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := program(home, "recall", "--install", "claude-code")
	cmd.Env = append(cmd.Env, "CLAUDE_CONFIG_DIR="+dir)
	if err := cmd.Run(); err == nil {
		t.Error("a file that is not JSON was changed")
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != `{"hooks": [1], // mine` {
		t.Errorf("it has %q, %v", data, err)
	}
}

// TestRecallInPi installs the extension for pi and runs it with the events of pi.
func TestRecallInPi(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("the extension for pi needs node, which make setup installs: %v", err)
	}
	home, dir := shopHome(t), t.TempDir()
	run := func(args ...string) string {
		cmd := program(home, args...)
		cmd.Env = append(cmd.Env, "PI_CODING_AGENT_DIR="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	out := run("recall", "--install", "pi")
	file := filepath.Join(dir, "extensions", "firn-recall.ts")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// The extension has no types, so that node can run it without pi.
	module := filepath.Join(t.TempDir(), "extension.mjs")
	if err := os.WriteFile(module, text, 0o600); err != nil {
		t.Fatal(err)
	}
	script := `const on = {}; (await import(process.argv[1])).default({ on: (name, f) => { on[name] = f; } });
const ctx = { cwd: "/w/shop", sessionManager: { getSessionId: () => "x" } };
const content = [{ type: "text", text: "edited" }];
console.log(JSON.stringify([
  await on.before_agent_start({ prompt: "Why does the checkout fail with ECONNRESET after the payment proxy restarted?" }, ctx),
  await on.before_agent_start({ prompt: "Write a haiku about autumn leaves" }, ctx) ?? null,
  await on.tool_result({ toolName: "edit", input: { path: "src/pay/charge.go" }, content }, ctx),
  await on.tool_result({ toolName: "bash", input: { command: "ls" }, content }, ctx) ?? null,
]));`
	cmd := exec.Command(node, "--input-type=module", "-e", script, module)
	got, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	var all [4]struct {
		Message struct{ CustomType, Content string }
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(got, &all); err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	if !strings.Contains(all[0].Message.Content, "drain") || all[1].Message.Content != "" || len(all[2].Content) != 2 || !strings.Contains(all[2].Content[1].Text, "bank charges again") || len(all[3].Content) != 0 {
		t.Errorf("got %s", got)
	}
	_, undo, _ := strings.Cut(out, "undo: firn ")
	run(strings.Fields(undo)...)
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("after the undo: %v", err)
	}
	if err := os.WriteFile(file, []byte("// mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--install", "--uninstall"} {
		cmd := program(home, "recall", flag, "pi")
		cmd.Env = append(cmd.Env, "PI_CODING_AGENT_DIR="+dir)
		if err := cmd.Run(); err == nil {
			t.Errorf("%s replaced another extension", flag)
		}
	}
}

// TestSearchGroup checks that firn search --group names each session once.
func TestSearchGroup(t *testing.T) {
	home := recallHome(t, map[string][]string{
		shopSession: {"/w/shop", "The walrus of the harbor sleeps.", "A walrus eats clams.", "Another walrus came yesterday."},
		boatSession: {"/w/boat", "One walrus was seen from the boat."},
	})
	plain, grouped := outputs(t, home, "search", "walrus", "-C", "0"), outputs(t, home, "search", "walrus", "-C", "0", "--group")
	if n := strings.Count(plain, shopSession); n != 3 {
		t.Errorf("without --group the session is named %d times:\n%s", n, plain)
	}
	if strings.Count(grouped, shopSession) != 1 || strings.Count(grouped, boatSession) != 1 || strings.Count(grouped, "  > ") != 4 || strings.Count(grouped, "\n  #") != 2 {
		t.Errorf("with --group:\n%s", grouped)
	}
}
