package interop

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// The SDK of Claude Code, and its release. Claude Code itself, 2.1.325, comes
// with it.
const (
	claudeSDK   = "@anthropic-ai/claude-agent-sdk"
	claudeSDKIs = "0.3.325"
)

// claude is a home of Claude Code, and a directory that it works in.
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

// realDir is a new directory by the name that the system itself calls it.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// env is what Claude Code needs to find its home, and the provider.
func (c *claude) env(f *provider) []string {
	env := append(plainEnv(c.user), "CLAUDE_CONFIG_DIR="+c.home)
	if f != nil {
		env = append(env, f.proxied()...)
		env = append(env, "ANTHROPIC_BASE_URL="+f.server.URL, "ANTHROPIC_API_KEY=none",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
	}
	return env
}

// ask asks Claude Code a question, and returns what the provider is told, a
// line for each thing said, without what Claude Code itself puts in. The answer
// is always the same.
func (c *claude) ask(t *testing.T, question string, args ...string) []string {
	t.Helper()
	f := newProvider(t, "It was snow.")
	native := claudeSDK + "-" + runtime.GOOS + "-" + architecture()
	requireVersion(t, native, claudeSDKIs)
	program := installed(t, filepath.FromSlash(native), "claude")
	out := run(t, c.cwd, c.env(f), program, append([]string{"-p", question}, args...)...)
	if !strings.Contains(out, "It was snow.") {
		t.Errorf("claude says %q", out)
	}
	if len(f.wants()) > 0 {
		t.Errorf("claude also wants %q", f.wants())
	}
	return withoutReminders(f.flat(t))
}

// withoutReminders leaves out what Claude Code says itself, and the end of line
// that it puts between two texts of the user.
func withoutReminders(flat []string) []string {
	flat = slices.DeleteFunc(flat, func(line string) bool { return strings.HasPrefix(line, "user: <system-reminder>") })
	for i := range flat[:len(flat)-1] {
		if strings.HasPrefix(flat[i], "user: ") && strings.HasPrefix(flat[i+1], "user: ") {
			flat[i] = strings.TrimSuffix(flat[i], "\n")
		}
	}
	return flat
}

// client is Claude Code as a tool that sessions are handed to.
func (c *claude) client() client {
	return client{tool: "claude", home: c.home, cwd: c.cwd, ask: c.ask, said: withoutReminders}
}

// claudeWords are the words that Claude Code's files have for firn's.
var claudeWords = strings.NewReplacer(
	"user: The conversation history before this point was compacted into the following summary:\n\n<summary>\n",
	"user: This session is being continued from a previous conversation that ran out of context. What was said before is summarized below.\n\n",
	"\n</summary>", "",
	"user: The following is a summary of a branch that this conversation came back from:\n\n<summary>\n", "user: Summary of a branch of this conversation that was left:\n\n",
	"</summary>", "",
)

// TestClaudeCommand hands sessions to Claude Code and goes on with them there:
//
//	claude -p --resume ID "…"
func TestClaudeCommand(t *testing.T) {
	goOn(t, func(t *testing.T) client { return newClaude(t).client() }, claudeWords, map[string][]string{
		// Thinking that Anthropic did not sign is left out, commands are as Claude
		// Code has them, and it sends no pictures with what failed.
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
