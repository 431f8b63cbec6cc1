package card_test

import (
	"encoding/json"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/render/card"
	"firn.dev/internal/render/richtext"
	"firn.dev/wire"
)

func callCard(t *testing.T, name string, args any) wire.Block {
	t.Helper()
	raw, ok := args.(string)
	if !ok {
		b, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(b)
	}
	c := card.Render(message(firn.RoleAssistant, firn.ToolCall{ID: "c1", Name: name, Arguments: json.RawMessage(raw)}), card.Options{Cut: 8 << 10})
	return c.Blocks[0]
}

// TestWellKnownCalls checks the form of the calls of the tools of firn, Claude Code, Codex
// and pi.
func TestWellKnownCalls(t *testing.T) {
	patch := "*** Begin Patch\n*** Update File: a.go\n@@ func f\n same\n-old one\n+new one\n*** Add File: b.go\n+x\n*** End Patch"
	for _, c := range []struct {
		name, args, tool, preview string
		added, removed            int
		want                      []string
	}{
		{"edit_file", `{"path":"a.go","edits":[{"old_text":"a := 1\nb","new_text":"a := 2\nb"}]}`, "edit", "a.go", 1, 1,
			[]string{`<del class="dl">-a := <mark>1</mark>`, `<ins class="dl">+a := <mark>2</mark>`, `<span class="dl"> b`, `<p class="file-name">a.go</p>`}},
		{"Edit", `{"file_path":"/w/a.go","old_string":"the quick fox","new_string":"the slow fox"}`, "edit", "/w/a.go", 1, 1, []string{`the <mark>quick</mark> fox`, `the <mark>slow</mark> fox`}},
		{"MultiEdit", `{"file_path":"a","edits":[{"old_string":"x","new_string":"y"},{"old_string":"p","new_string":""}]}`, "edit", "a", 1, 2, []string{`-x`, `+y`, `<span class="dg">`, `-p`}},
		{"edit", `{"path":"a","oldText":"one","newText":"two"}`, "edit", "a", 1, 1, []string{`<del class="dl">-one`, `<ins class="dl">+two`}},
		{"apply_patch", `{"input":` + quoted(patch) + `}`, "edit", "a.go, b.go", 2, 1, []string{`-<mark>old</mark> one`, `+<mark>new</mark> one`, `b.go (new)`, `⋯ func f`}},
		{"shell", `{"command":["apply_patch",` + quoted(patch) + `]}`, "edit", "a.go, b.go", 2, 1, []string{`a.go`}},
		{"Write", `{"file_path":"x.go","content":"package x\n"}`, "write", "x.go", 1, 0, []string{`<p class="file-name">x.go</p>`, `<span class="hk">package </span>`}},
		{"Bash", `{"command":"ls -l | head"}`, "shell", "ls -l | head", 0, 0, []string{`<pre class="term command"><span class="prompt">$ </span>`}},
		{"exec_command", `{"cmd":"echo hi"}`, "shell", "echo hi", 0, 0, []string{`$ `}},
		{"shell", `{"command":["bash","-lc","ls"]}`, "shell", "ls", 0, 0, []string{`ls`}},
		{"TodoWrite", `{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"},{"content":"c","status":"pending"}]}`, "todo", "1 of 3 done", 0, 0,
			[]string{`<li class="done" dir="auto">☑ a</li>`, `<li class="now" dir="auto">▸ b</li>`, `☐ c`}},
		{"update_plan", `{"plan":[{"step":"s","status":"completed"}]}`, "todo", "1 of 1 done", 0, 0, []string{`☑ s`}},
		{"Grep", `{"pattern":"foo","path":"src","glob":"*.go"}`, "search", "foo", 0, 0, []string{`foo in src, files *.go`}},
		{"Read", `{"file_path":"a.go","offset":5,"limit":10}`, "read", "a.go", 0, 0, []string{`a.go, lines 5 to 14`}},
		{"Task", `{"description":"look","prompt":"do **it**","subagent_type":"explore"}`, "agent", "explore: look", 0, 0, []string{`<strong>it</strong>`}},
		{"WebFetch", `{"url":"https://example.org/a","prompt":"why?"}`, "fetch", "https://example.org/a", 0, 0, []string{`<div class="web-card">`, `href="https://example.org/a"`, `why?`}},
		{"odd", `{"a":1}`, "", `{"a":1}`, 0, 0, []string{`language-json`}},
		// Arguments of another form are shown as JSON.
		{"Edit", `{"file_path":7}`, "", `{"file_path":7}`, 0, 0, []string{`language-json`}},
		{"Bash", `[1]`, "", `[1]`, 0, 0, []string{`language-json`}},
		{"Write", `{`, "", `{`, 0, 0, []string{`<pre`}},
	} {
		b := callCard(t, c.name, c.args)
		if b.Tool != c.tool || b.Preview != c.preview || b.Added != c.added || b.Removed != c.removed {
			t.Errorf("%s %s: %q %q +%d -%d", c.name, c.args, b.Tool, b.Preview, b.Added, b.Removed)
		}
		for _, want := range c.want {
			if !strings.Contains(b.HTML, want) {
				t.Errorf("%s %s has no %q:\n%s", c.name, c.args, want, b.HTML)
			}
		}
	}
}

// TestOtherArguments checks that no argument of a well-known tool is lost.
func TestOtherArguments(t *testing.T) {
	for _, c := range []struct {
		name, args string
		want, not  []string
	}{
		{"fetch", `{"url":"https://a.b/","method":"POST","body":"x\ny","headers":{"A":"b"}}`, []string{"method: POST", "body: x\n  y", `headers: {&#34;A&#34;:&#34;b&#34;}`}, []string{"url:"}},
		{"Bash", `{"command":"ls","description":"List","timeout":5000,"run_in_background":true}`, []string{"description: List", "timeout: 5000", "run_in_background: true"}, []string{"command:"}},
		{"exec_command", `{"cmd":"ls","workdir":"/w","env":{"A":"1"},"command":""}`, []string{"workdir: /w", "env: {"}, []string{"cmd:", "command:"}},
		{"Edit", `{"file_path":"a","path":"b","old_string":"x","new_string":"y","replace_all":true}`, []string{"replace_all: true", "path: b"}, []string{"old_string", "file_path:"}},
		{"MultiEdit", `{"file_path":"a","edits":[{"old_string":"x","new_string":"y"},{"old_string":"x","new_string":"y","replace_all":true}]}`, []string{"edits 2 replace_all: true"}, []string{"edits 1"}},
		{"Read", `{"file_path":"a","offset":-5,"pages":"1-3"}`, []string{"offset: -5", "pages: 1-3"}, nil},
		{"Grep", `{"pattern":"x","-n":true,"output_mode":"content","query":"y"}`, []string{"-n: true", "output_mode: content", "query: y"}, []string{"pattern:"}},
		{"TodoWrite", `{"todos":[{"content":"a","status":"done","activeForm":"Aing","priority":"high"}]}`, []string{"todos 1 priority: high"}, []string{"activeForm"}},
		{"Task", `{"prompt":"p","description":"d","subagent_type":"s","model":"opus","message":"m"}`, []string{"model: opus", "message: m"}, []string{"subagent_type"}},
		{"WebFetch", `{"url":"https://a.b/","prompt":"p","timeout":null}`, nil, []string{"tool-args"}},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Add File: b\n+x\n*** End Patch","workdir":"/w<"}`, []string{"workdir: /w&lt;"}, nil},
	} {
		b := callCard(t, c.name, c.args)
		for _, want := range c.want {
			if !strings.Contains(b.HTML, want) {
				t.Errorf("%s %s has no %q:\n%s", c.name, c.args, want, b.HTML)
			}
		}
		for _, not := range c.not {
			if strings.Contains(b.HTML, not) {
				t.Errorf("%s %s has %q:\n%s", c.name, c.args, not, b.HTML)
			}
		}
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // cannot fail
	return string(b)
}

// TestResults checks exit codes, times and forms of results, with the names of their tools
// taken from the calls.
func TestResults(t *testing.T) {
	calls := map[string]wire.Block{
		"sh": {Name: "Bash", Tool: wire.ToolShell}, "rd": {Name: "Read", Tool: wire.ToolRead, Preview: "a.go"}, "gr": {Name: "Grep", Tool: wire.ToolSearch},
		"ag": {Name: "Task", Tool: wire.ToolAgent}, "ed": {Name: "Edit", Tool: wire.ToolEdit},
	}
	code := func(n int) *int { return &n }
	for _, c := range []struct {
		call, text, details string
		exit                *int
		ms                  int64
		want                []string
	}{
		{"sh", "Exit code 2\nno such file", "", code(2), 0, []string{`<pre class="term">no such file</pre>`}},
		{"sh", "hello\n\n\nCommand exited with code 1", "", code(1), 0, []string{`hello`}},
		{"sh", "x\n[exit code 3]", `{"exitCode":3,"millis":40}`, code(3), 40, []string{`x`}},
		{"sh", "Chunk ID: 77029e\nWall time: 0.5000 seconds\nProcess exited with code 0\nOriginal token count: 1\nOutput:\nhi\n", "", code(0), 500, []string{"<pre class=\"term\">hi\n</pre>"}},
		{"sh", `{"output":"yes\n","metadata":{"exit_code":7,"duration_seconds":1.5}}`, "", code(7), 1500, []string{"<pre class=\"term\">yes\n</pre>"}},
		{"sh", "the text says Exit code 5 in the middle\nof it", "", nil, 0, nil},
		{"sh", "\x1b[1;31mred\x1b[0m plain", "", nil, 0, []string{`<span class="tf1 tbold">red</span> plain`}},
		{"rd", "     1→package a\n     2→// <b>", "", nil, 0, []string{`<span class="ln">1</span><span class="hk">package </span>`, `&lt;b&gt;`}},
		{"gr", "src/a.go:12:func a()\nsrc/a.go:14: <i>\nsrc/b.go:1:x", "", nil, 0, []string{`<li class="hit-file">src/a.go</li><li class="hit"><span class="ln">12</span><code>func a()</code></li>`, `<code>&lt;i&gt;</code>`, `src/b.go`}},
		{"ag", "It is **done**", "", nil, 0, []string{`<strong>done</strong>`}},
	} {
		e := message(firn.RoleToolResult, firn.ToolResult{CallID: c.call, Details: json.RawMessage(c.details), Content: []firn.Part{firn.Text{Text: c.text}}})
		b := card.Render(e, card.Options{Cut: 8 << 10, Calls: calls}).Blocks[0]
		if b.Name != calls[c.call].Name || b.Ms != c.ms || (b.Exit == nil) != (c.exit == nil) || b.Exit != nil && *b.Exit != *c.exit {
			t.Errorf("%q: name %q, %d ms, exit %v", c.text, b.Name, b.Ms, b.Exit)
		}
		for _, want := range c.want {
			if !strings.Contains(b.HTML, want) {
				t.Errorf("%q has no %q:\n%s", c.text, want, b.HTML)
			}
		}
	}
}

// TestHostileCalls checks that no argument of a well-known tool becomes markup, and that
// huge ones stay bounded.
func TestHostileCalls(t *testing.T) {
	evil := `"><img src=x onerror=alert(1)><script>1</script>` + "\x1b[31m\x00\u202e\n<style>*{}</style>"
	long := strings.Repeat("a b c\n", 200_000)
	args := map[string]any{}
	for _, name := range []string{"path", "file_path", "content", "old_string", "new_string", "oldText", "newText", "input", "command", "cmd", "pattern", "glob", "query", "url", "prompt", "description", "subagent_type"} {
		args[name] = evil
	}
	args["edits"] = []map[string]string{{"old_string": evil, "new_string": evil + "x"}}
	args["todos"] = []map[string]string{{"content": evil, "status": evil}}
	args["plan"] = args["todos"]
	for _, name := range []string{"Edit", "Write", "Read", "Bash", "Grep", "TodoWrite", "Task", "WebFetch", "apply_patch"} {
		b := callCard(t, name, args)
		for _, bad := range []string{"<img", "<script", "<style", "\x1b", "\u202e"} {
			if strings.Contains(b.HTML, bad) {
				t.Errorf("%s has %q:\n%s", name, bad, b.HTML)
			}
		}
		big := callCard(t, name, map[string]any{"file_path": "a", "old_string": long, "new_string": strings.ToUpper(long), "content": long, "command": long, "prompt": long, "url": "https://" + long, "pattern": long})
		if len(big.HTML) > 32<<10 {
			t.Errorf("%s: %d bytes of HTML", name, len(big.HTML))
		}
	}
	for _, text := range []string{"F\n@\n-\n+\n \n", "-a\n-b\n+a\n", "\n\n", "x", strings.Repeat("-a\n+b\n", 50_000)} {
		if got := richtext.Diff(text); !strings.HasPrefix(got, `<div class="diff">`) || strings.Count(got, "<pre") != strings.Count(got, "</pre>") {
			t.Errorf("%.40q is %.200s", text, got)
		}
	}
}
