package interop

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
)

// releases maps the names in package.json to the tested versions of pi.
var releases = map[string]string{"pi": "0.73.1", "pi-new": "0.87.1"}

// piCommands are the releases whose command is tested: of the newest only the bundle can be
// installed, without the modules for the driver.
var piCommands = map[string]string{"pi": releases["pi"], "pi-new": releases["pi-new"], "pi-next": "1.5.0"}

// eachRelease runs a test with every release of pi.
func eachRelease(t *testing.T, test func(t *testing.T, p *pi)) {
	for name, version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, startPi(t, name))
		})
	}
}

// old reports whether it is the old line of pi.
func (p *pi) old() bool { return p.name == "pi" }

// pi is the session code of an installed pi in a separate process.
type pi struct{ *driver }

// startPi starts the driver of an installed release. It ends with the test.
func startPi(t *testing.T, name string) *pi {
	t.Helper()
	requireInstalled(t, name)
	return &pi{startDriver(t, name, piEnv(t.TempDir()), "pi.mjs", name)}
}

// requireInstalled fails the test if this version is not installed.
func requireInstalled(t *testing.T, name string) {
	t.Helper()
	requireVersion(t, name, piCommands[name])
}

// piEnv returns an environment for pi.
func piEnv(home string) []string { return append(plainEnv(home), "PI_OFFLINE=1") }

// call is a method of pi's SessionManager with its arguments.
type call []any

// request is a request to pi.mjs.
type request struct {
	Open   string `json:"open,omitempty"`
	Create string `json:"create,omitempty"`
	List   string `json:"list,omitempty"`
	CWD    string `json:"cwd,omitempty"`
	Calls  []call `json:"calls,omitempty"`
}

// reply is a response of pi.mjs.
type reply struct {
	Error    string            `json:"error"`
	Returned []json.RawMessage `json:"returned"`
	State    piState           `json:"state"`
	Sessions []piSession       `json:"sessions"`
	Recent   string            `json:"recent"`
}

// piState is pi's view of a session.
type piState struct {
	File    string            `json:"file"`
	Session string            `json:"session"`
	Header  map[string]any    `json:"header"`
	Leaf    string            `json:"leaf"`
	Entries []map[string]any  `json:"entries"`
	Branch  []string          `json:"branch"`
	Roots   []string          `json:"roots"`
	Labels  map[string]string `json:"labels"`
	Name    string            `json:"name"`
	// Context is pi's context in memory, and Sent the messages for the model.
	Context       []map[string]any `json:"context"`
	Sent          []map[string]any `json:"sent"`
	ThinkingLevel string           `json:"thinkingLevel"`
	Model         *struct {
		Provider string `json:"provider"`
		ModelID  string `json:"modelId"`
	} `json:"model"`
}

// piSession is a session in pi's list.
type piSession struct {
	Path         string `json:"path"`
	ID           string `json:"id"`
	CWD          string `json:"cwd"`
	Name         string `json:"name"`
	FirstMessage string `json:"firstMessage"`
	MessageCount int    `json:"messageCount"`
}

// try sends a request and returns the response, which may be an error.
func (p *pi) try(t *testing.T, r request) reply {
	t.Helper()
	var got reply
	p.exchange(t, r, &got)
	return got
}

// ask sends a request that must succeed.
func (p *pi) ask(t *testing.T, r request) reply {
	t.Helper()
	got := p.try(t, r)
	if got.Error != "" {
		t.Fatalf("%s: %s", p.name, got.Error)
	}
	return got
}

// open lets pi open a file and call methods, and returns the resulting state.
func (p *pi) open(t *testing.T, file string, calls ...call) piState {
	t.Helper()
	return p.ask(t, request{Open: file, Calls: calls}).State
}

// openUnchanged lets pi open a file and checks that the directory did not change.
func (p *pi) openUnchanged(t *testing.T, file string) piState {
	t.Helper()
	before := snapshot(t, filepath.Dir(file))
	state := p.open(t, file)
	if after := snapshot(t, filepath.Dir(file)); after != before {
		t.Fatalf("%s changed the directory by opening %s:\n%s\nwas\n%s", p.name, file, after, before)
	}
	return state
}

// entryIDs returns the IDs of entries as pi sees them.
func entryIDs(entries []map[string]any) []string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = fmt.Sprint(e["id"])
	}
	return ids
}

// The messages that pi's own agent would pass to appendMessage.

func piUser(text string) map[string]any {
	return map[string]any{"role": "user", "content": text, "timestamp": 1794710747206}
}

func piAssistant(text string, calls ...map[string]any) map[string]any {
	content, stop := []map[string]any{{"type": "text", "text": text}}, "stop"
	if len(calls) > 0 {
		content, stop = append(content, calls...), "toolUse"
	}
	return map[string]any{
		"role": "assistant", "content": content, "stopReason": stop, "timestamp": 1794710747452,
		"api": "anthropic-messages", "provider": "anthropic", "model": "claude-test",
		"usage": map[string]any{"input": 629, "output": 7, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 636,
			"cost": map[string]any{"input": 0.001887, "output": 0.000105, "cacheRead": 0, "cacheWrite": 0, "total": 0.001992}},
	}
}

func piToolCall(id string) map[string]any {
	return map[string]any{"type": "toolCall", "id": id, "name": "read", "arguments": map[string]any{"path": "a.txt", "limit": 1.5}}
}

func piToolResult(id, text string) map[string]any {
	return map[string]any{"role": "toolResult", "toolCallId": id, "toolName": "read", "isError": false, "timestamp": 1794710749751,
		"content": []map[string]any{{"type": "text", "text": text}}, "details": map[string]any{"lines": 1}}
}
