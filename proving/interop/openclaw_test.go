package interop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// openClawReleases maps names in openclaw/package.json to versions of OpenClaw: the last
// one that stores sessions in files like pi, and one that stores them in a database and
// imports such files.
var openClawReleases = map[string]string{"openclaw-files": "2026.5.7", "openclaw-sqlite": "2026.9.6"}

// openClaw is a home of OpenClaw and a working directory.
type openClaw struct {
	name, user, home, cwd, api string
}

func newOpenClaw(t *testing.T, name, api string) *openClaw {
	t.Helper()
	requireVersion(t, filepath.Join("..", "openclaw", "node_modules", name), openClawReleases[name])
	user := t.TempDir()
	c := &openClaw{name: name, user: user, home: filepath.Join(user, ".openclaw"), cwd: realDir(t), api: api}
	if err := os.Mkdir(c.home, 0o700); err != nil {
		t.Fatal(err)
	}
	return c
}

// run runs a command of OpenClaw with the fake provider as the only one.
func (c *openClaw) run(t *testing.T, f *provider, args ...string) string {
	t.Helper()
	settings := filepath.Join(c.home, "openclaw.json")
	writeJSON(t, settings, map[string]any{
		"models": map[string]any{"providers": map[string]any{"fake": map[string]any{
			"baseUrl": f.url(c.api), "api": c.api, "apiKey": "none",
			"models": []any{map[string]any{"id": "fake-1", "name": "fake-1", "input": []string{"text", "image"}, "contextWindow": 200000, "maxTokens": 8192}},
		}}},
		"agents": map[string]any{"defaults": map[string]any{"model": map[string]any{"primary": "fake/fake-1"}, "workspace": c.cwd, "skipBootstrap": true}},
	})
	packages := installed(t, "..", "openclaw", "node_modules")
	env := append(append(plainEnv(c.user), f.proxied()...), "OPENCLAW_STATE_DIR="+c.home, "OPENCLAW_CONFIG_PATH="+settings,
		"OPENCLAW_SKIP_CHANNELS=1", "OPENCLAW_SKIP_CRON=1", "OPENCLAW_NO_RESPAWN=1")
	args = append([]string{"--require", absolute(t, "openclaw.cjs"), filepath.Join(packages, c.name, "openclaw.mjs")}, args...)
	return run(t, c.cwd, env, filepath.Join(packages, "node-"+runtime.GOOS+"-"+architecture(), "bin", "node"), args...)
}

// ask asks OpenClaw a question in a session, and returns the request. The release with a
// database imports the files first, as its doctor does.
func (c *openClaw) ask(t *testing.T, question string, args ...string) []string {
	t.Helper()
	f := newProvider(t, "It was snow.")
	if c.name == "openclaw-sqlite" {
		c.run(t, f, "doctor", "--session-sqlite", "import", "--session-sqlite-all-agents")
	}
	args[len(args)-1] = question
	if out := c.run(t, f, args...); !strings.Contains(out, "It was snow.") {
		t.Errorf("OpenClaw printed %q", out)
	}
	return openClawSaid(f.flatAny(t))
}

// client returns OpenClaw as a target of handoffs.
func (c *openClaw) client() client {
	return client{tool: "openclaw", home: c.home, cwd: c.cwd, ask: c.ask, withoutOwnMessages: openClawSaid}
}

// stamped matches the time that OpenClaw prepends to user messages.
var stamped = regexp.MustCompile(`^user: \[[A-Z][a-z]{2} \d{4}-\d{2}-\d{2} \d{2}:\d{2} [^\]]*\] `)

// openClawSaid removes OpenClaw's own messages.
func openClawSaid(flat []string) []string {
	for i, line := range flat {
		flat[i] = stamped.ReplaceAllString(line, "user: ")
	}
	return flat
}

// flatAny formats the only request, regardless of the API.
func (f *provider) flatAny(t *testing.T) []string {
	t.Helper()
	request := f.only(t)
	if request["input"] != nil {
		return f.flatInput(t)
	}
	var messages []wireMessage
	if err := json.Unmarshal(request["messages"], &messages); err != nil {
		t.Fatal(err)
	}
	return flatMessages(t, messages)
}
