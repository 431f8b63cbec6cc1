package interop

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// The SDK of Claude Code and its version. It contains Claude Code 2.1.325.
const (
	claudeSDK   = "@anthropic-ai/claude-agent-sdk"
	claudeSDKIs = "0.3.325"
)

// claude is a home of Claude Code and a working directory.
type claude struct {
	user, home, cwd string
}

func newClaude(t *testing.T) *claude {
	t.Helper()
	requireVersion(t, claudeSDK, claudeSDKIs)
	user := t.TempDir()
	c := &claude{user: user, home: filepath.Join(user, ".claude"), cwd: realDir(t)}
	if err := os.Mkdir(c.home, 0o700); err != nil {
		t.Fatal(err)
	}
	return c
}

// realDir returns a new directory with symbolic links resolved.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// env returns the environment with Claude Code's home and the provider.
func (c *claude) env(f *provider) []string {
	env := append(plainEnv(c.user), "CLAUDE_CONFIG_DIR="+c.home)
	if f != nil {
		env = append(env, f.proxied()...)
		env = append(env, "ANTHROPIC_BASE_URL="+f.server.URL, "ANTHROPIC_API_KEY=none",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
	}
	return env
}

// ask asks Claude Code a question, and returns the request that the provider receives, one
// line per part, without Claude Code's own reminders. The answer is always the same.
func (c *claude) ask(t *testing.T, question string, args ...string) []string {
	t.Helper()
	f := newProvider(t, "It was snow.")
	out := run(t, c.cwd, c.env(f), c.program(t), append([]string{"-p", question}, args...)...)
	if !strings.Contains(out, "It was snow.") {
		t.Errorf("claude printed %q", out)
	}
	if len(f.wants()) > 0 {
		t.Errorf("claude also wants %q", f.wants())
	}
	return withoutReminders(f.flat(t))
}

// program returns the path of Claude Code.
func (c *claude) program(t *testing.T) string {
	t.Helper()
	native := claudeSDK + "-" + runtime.GOOS + "-" + architecture()
	requireVersion(t, native, claudeSDKIs)
	return installed(t, filepath.FromSlash(native), "claude")
}

// withoutReminders removes Claude Code's own reminders, and the line break that it adds
// between two texts of the user.
func withoutReminders(flat []string) []string {
	flat = slices.DeleteFunc(flat, func(line string) bool { return strings.HasPrefix(line, "user: <system-reminder>") })
	for i := range flat[:len(flat)-1] {
		if strings.HasPrefix(flat[i], "user: ") && strings.HasPrefix(flat[i+1], "user: ") {
			flat[i] = strings.TrimSuffix(flat[i], "\n")
		}
	}
	return flat
}

// client returns Claude Code as a target of handoffs.
func (c *claude) client() client {
	return client{tool: "claude", home: c.home, cwd: c.cwd, ask: c.ask, withoutOwnMessages: withoutReminders}
}

// claudeWords translates firn's texts to those in Claude Code's files.
var claudeWords = strings.NewReplacer(
	"user: The conversation history before this point was compacted into the following summary:\n\n<summary>\n",
	"user: This session is being continued from a previous conversation that ran out of context. What was said before is summarized below.\n\n",
	"\n</summary>", "",
	"user: The following is a summary of a branch that this conversation came back from:\n\n<summary>\n", "user: Summary of a branch of this conversation that was left:\n\n",
	"</summary>", "",
)

// TestClaudeCommand hands sessions to Claude Code and continues them there:
//
//	claude -p --resume ID "…"
func TestClaudeCommand(t *testing.T) {
	continueIn(t, func(t *testing.T) client { return newClaude(t).client() }, claudeWords, map[string][]string{
		// Thinking without Anthropic's signature is omitted, commands are in Claude Code's
		// form, and failed results have no images.
		"one line of every kind": {
			"user: What is in a.txt?",
			"assistant: Reading it.",
			"call toolu_1 read map[limit:1.5 path:a.txt]",
			"call toolu_2 read map[limit:1.5 path:a.txt]",
			"result toolu_1: alpha\n",
			"result toolu_2: no such file",
			"assistant: Alpha.",
			"user: And here?",
			"user: [image/png]",
			"user: <bash-input>ls</bash-input>",
			"user: <bash-stdout>a.txt\n</bash-stdout><bash-stderr></bash-stderr>",
			"user: <bash-input>true</bash-input>",
			"user: <bash-stdout></bash-stdout><bash-stderr></bash-stderr>",
			"user: The user is away.",
			"user: Summary of a branch of this conversation that was left:\n\nTried another file; nothing there.",
			"user: Summary of a branch of this conversation that was left:\n\n",
			"assistant: A dot.",
		},
	})
}
