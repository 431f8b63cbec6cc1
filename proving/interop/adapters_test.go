package interop

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// The frameworks that the npm package in packaging/npm is tried with, and their versions.
var frameworks = map[string]string{
	"@langchain/langgraph-checkpoint":            "1.1.5",
	"@langchain/langgraph-checkpoint-validation": "1.1.1",
	"@openai/agents-core":                        "0.20.0",
	"ai":                                         "6.0.326",
}

// adapters is a copy of the npm package as it is published, with the test programs, in a
// directory where Node.js finds the frameworks, and a gateway.
type adapters struct {
	dir, home    string
	gateway      *served
	write, reads string // tokens
}

func newAdapters(t *testing.T) *adapters {
	t.Helper()
	for name, version := range frameworks {
		requireVersion(t, filepath.Join("..", "adapters", "node_modules", name), version)
	}
	root := realDir(t)
	a := &adapters{dir: filepath.Join(root, "package"), home: t.TempDir()}
	for _, published := range []string{"package.json", "src", "example", "README.md"} {
		copyTree(t, filepath.Join("../../packaging/npm", published), filepath.Join(a.dir, published))
	}
	programs, err := filepath.Glob("adapters/*.*s")
	if err != nil || len(programs) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, name := range programs {
		copyTree(t, name, filepath.Join(a.dir, filepath.Base(name)))
	}
	for link, target := range map[string]string{root: installed(t), a.dir: installed(t, "..", "adapters", "node_modules")} {
		if err := os.Symlink(target, filepath.Join(link, "node_modules")); err != nil {
			t.Fatal(err)
		}
	}
	for scope, secret := range map[string]*string{"write": &a.write, "read": &a.reads} {
		var token struct{ Secret string }
		askFirn(t, &token, a.home, "token", "create", scope+"r", "--scope", scope)
		*secret = token.Secret
	}
	a.gateway = serve(t, a.home)
	return a
}

// copyTree copies a file or a directory.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if err == nil && info.IsDir() {
		err = os.CopyFS(to, os.DirFS(from))
	} else if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
		if data := readFile(t, from); err == nil {
			err = os.WriteFile(to, data, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// env returns the environment of a program that uses the gateway.
func (a *adapters) env(base []string) []string {
	return append(slices.Clone(base), "FIRN_GATEWAY="+a.gateway.url, "FIRN_TOKEN="+a.write, "READ_TOKEN="+a.reads)
}

// node runs a program of the package's directory to its end.
func (a *adapters) node(t *testing.T, args ...string) string {
	t.Helper()
	return run(t, a.dir, a.env(plainEnv(t.TempDir())), node(t), args...)
}

// restart kills the gateway and starts another one on the same home, at another address.
func (a *adapters) restart(t *testing.T) {
	t.Helper()
	a.gateway.kill()
	a.gateway = serve(t, a.home)
}

// TestClaudeSessionStore checks the contract of the Claude Agent SDK's SessionStore.
func TestClaudeSessionStore(t *testing.T) {
	newAdapters(t).node(t, "claude-contract.mjs")
}

// TestAdapterErrors checks the errors of the adapters, and that lost responses do not
// duplicate entries.
func TestAdapterErrors(t *testing.T) {
	newAdapters(t).node(t, "errors.mjs")
}

// TestLangGraphCheckpointer runs LangGraph's suite for checkpointers, and tests of long and
// branched threads.
func TestLangGraphCheckpointer(t *testing.T) {
	a := newAdapters(t)
	out := a.node(t, "node_modules/vitest/vitest.mjs", "run", "--globals", "--root", a.dir, "--reporter", "json", "validate.test.mjs")
	if !strings.Contains(out, `"numFailedTests":0,`) || !strings.Contains(out, `"numPassedTests":718,`) || !strings.Contains(out, `"numPendingTests":0,`) {
		t.Errorf("the suite did not pass whole: %.600s", out)
	}
	a.node(t, "langgraph-chains.mjs")
}

// TestAdapterTypes checks that the adapters have the types of the frameworks.
func TestAdapterTypes(t *testing.T) {
	a := newAdapters(t)
	tsc, err := filepath.Abs(filepath.Join("../../internal/door/webui/node_modules/@typescript", "typescript-"+runtime.GOOS+"-"+architecture(), "lib", "tsc"))
	if err != nil {
		t.Fatal(err)
	}
	run(t, a.dir, plainEnv(t.TempDir()), tsc, "--noEmit", "--strict", "--skipLibCheck", "--target", "es2023", "--module", "nodenext", "types.ts")
}

// TestAdapterExample runs the example of the package twice.
func TestAdapterExample(t *testing.T) {
	a := newAdapters(t)
	first := a.node(t, "example/chat.mjs", "Where is the lighthouse?")
	second := a.node(t, "example/chat.mjs", "And who keeps it?")
	want := first + "user: And who keeps it?\nassistant: This is message 4 of our chat.\n"
	if second != want {
		t.Errorf("the second run prints %q, want %q", second, want)
	}
	a.mustShow(t, "ai-sdk", "Where is the lighthouse?", "And who keeps it?")
}

// chatReply is a reply of chat.mjs and claude-run.mjs.
type chatReply struct {
	Answer, Error, Session string
	Messages               []string
	Waiting                bool
}

// askChat sends a question to a chat, which must answer.
func askChat(t *testing.T, d *driver, question string) chatReply {
	t.Helper()
	var reply chatReply
	if d.exchange(t, map[string]string{"say": question}, &reply); reply.Error != "" {
		t.Fatalf("%s: %s", d.name, reply.Error)
	}
	return reply
}

// TestAdapterChats kills chats of agent frameworks while their model is asked, with the
// gateway, and resumes them through another gateway.
func TestAdapterChats(t *testing.T) {
	a := newAdapters(t)
	restart := func() { a.restart(t) } // the gateway outlives a subtest
	const first, second = "where is the lighthouse", "and who keeps it"
	for framework, want := range map[string]struct{ resumed, undone string }{
		"ai-sdk":        {resumed: first + " | hang | " + second, undone: first + "\nYou asked: " + first + "\nhang\n" + second},
		"openai-agents": {resumed: first + " | " + second, undone: first + "\nYou asked: " + first + "\n" + second}, // it saves a question with its answer
		"langgraph":     {resumed: first + " | hang | " + second},
	} {
		t.Run(framework, func(t *testing.T) {
			start := func() *driver {
				return startDriver(t, framework, a.env(plainEnv(t.TempDir())), filepath.Join(a.dir, "chat.mjs"), framework, "Chat 1/ü")
			}
			d := start()
			if got := askChat(t, d, first); got.Answer != "You asked: "+first {
				t.Errorf("the answer is %q", got.Answer)
			}
			if !askChat(t, d, "hang").Waiting {
				t.Error("the model was not asked")
			}
			d.kill()
			restart()
			d = start()
			if got := askChat(t, d, second); got.Answer != "You asked: "+want.resumed {
				t.Errorf("the answer after the kill is %q", got.Answer)
			}
			a.mustShow(t, framework, first, second)
			if want.undone == "" {
				return
			}
			var undone chatReply
			d.exchange(t, map[string]bool{"undo": true}, &undone)
			if got := strings.Join(undone.Messages, "\n"); got != want.undone {
				t.Errorf("without the latest message the chat is %q (%s)", got, undone.Error)
			}
		})
	}
}

// mustShow checks that firn lists, shows and finds the one session of a kind of key.
func (a *adapters) mustShow(t *testing.T, kind string, texts ...string) {
	t.Helper()
	var list struct {
		Items []struct{ ID, Key, Title, Prompt string }
	}
	askFirn(t, &list, a.home, "ls")
	var id string
	for _, s := range list.Items {
		if strings.HasPrefix(s.Key, "agent:main:"+kind+":") && !strings.Contains(s.Key, "subagents") {
			if id != "" {
				t.Fatalf("there are two sessions of %s: %+v", kind, list.Items)
			}
			id = s.ID
			if name := cmp.Or(s.Title, s.Prompt); name != texts[0] {
				t.Errorf("the session is called %q, want %q", name, texts[0])
			}
		}
	}
	if id == "" {
		t.Fatalf("there is no session of %s: %+v", kind, list.Items)
	}
	shown := runFirn(t, a.home, "cat", id)
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			t.Errorf("firn cat does not show %q:\n%s", text, shown)
		}
		if found := runFirn(t, a.home, "search", `"`+text+`" session:`+id); !strings.Contains(found, text) {
			t.Errorf("firn search does not find %q:\n%s", text, found)
		}
	}
	runFirn(t, a.home, "verify", id)
}

// TestClaudeSDKResumesFromStore kills a run of the Claude Agent SDK with SIGKILL, and
// resumes it elsewhere: with another home of Claude Code, through another gateway.
func TestClaudeSDKResumesFromStore(t *testing.T) {
	a := newAdapters(t)
	here, elsewhere := newClaude(t), newClaude(t)
	elsewhere.cwd = here.cwd // the directory identifies the project
	start := func(c *claude, f *provider, args ...string) *driver {
		return startDriver(t, claudeSDK, a.env(c.env(f)), append([]string{filepath.Join(a.dir, "claude-run.mjs"), c.cwd}, args...)...)
	}
	const first, second = "where is the lighthouse", "and who keeps it"
	d := start(here, newProvider(t, "At the cape."))
	reply := askChat(t, d, first)
	if reply.Answer != "At the cape." || reply.Session == "" {
		t.Fatalf("the SDK answers %+v", reply)
	}
	d.kill()
	a.restart(t)
	f := newProvider(t, "Ada does.")
	if got := askChat(t, start(elsewhere, f, reply.Session), second); got.Answer != "Ada does." || got.Session != reply.Session {
		t.Errorf("the resumed SDK answers %+v", got)
	}
	sent := strings.Join(f.flat(t), "\n")
	for _, text := range []string{first, "At the cape.", second} {
		if !strings.Contains(sent, text) {
			t.Errorf("the resumed session does not send %q:\n%s", text, sent)
		}
	}
	a.mustShow(t, "claude-agent-sdk", first, "At the cape.", second, "Ada does.")
}
