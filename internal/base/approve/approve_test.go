package approve_test

import (
	"encoding/json"
	"testing"

	"firn.dev/internal/base/approve"
)

func call(tool, arguments string) approve.Call {
	return approve.Call{Tool: tool, Arguments: json.RawMessage(arguments), Workspace: "/w/project"}
}

func shell(command string) approve.Call {
	raw, _ := json.Marshal(map[string]string{"command": command})
	return call("shell", string(raw))
}

// TestModes checks every effect in every mode.
func TestModes(t *testing.T) {
	const a, q, r = approve.Allow, approve.NeedsYes, approve.Refuse
	for tool, want := range map[string][4]approve.Verdict{ // in the order of approve.Modes
		"read_file":  {a, a, a, a},
		"grep":       {a, a, a, a},
		"remember":   {r, a, a, a},
		"edit_file":  {r, q, a, a},
		"write_file": {r, q, a, a},
		"web_fetch":  {q, q, q, a},
		"shell":      {r, q, q, a},
		"unknown":    {r, q, q, a},
		"Read_File":  {r, q, q, a},
		"":           {r, q, q, a},
	} {
		for i, mode := range approve.Modes {
			if got, _ := approve.Decide(mode, approve.Rules{}, call(tool, `{"path":"x"}`)); got != want[i] {
				t.Errorf("%s in %s: %s, want %s", tool, mode, got, want[i])
			}
		}
	}
	if got, _ := approve.Decide("nonsense", approve.Rules{}, shell("ls")); got != q {
		t.Errorf("an unknown mode: %s", got)
	}
	if got := approve.Strictest(approve.Everything, "", approve.Ask, approve.AcceptEdits); got != approve.Ask {
		t.Errorf("the strictest is %s", got)
	}
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule string
		call approve.Call
		want bool
	}{
		{"shell(git diff *)", shell("git diff"), true},
		{"shell(git diff *)", shell("git  diff --stat HEAD~1"), true},
		{"shell(git diff *)", shell("git difftool"), false},
		{"shell(git diff *)", shell("git push"), false},
		{"shell(git diff *)", shell("git diff; rm -rf ."), false},
		{"shell(git diff *)", shell("git diff && rm x"), false},
		{"shell(git diff *)", shell("git diff | sh"), false},
		{"shell(git diff *)", shell("git diff > x"), false},
		{"shell(git diff *)", shell("git diff $(rm x)"), false},
		{"shell(git diff *)", shell("git diff `rm x`"), false},
		{"shell(git diff *)", shell("git diff\nrm x"), false},
		{"shell(git diff *)", shell("git diff ${x}"), false},
		{"shell(git diff *)", shell("X=1 git diff"), false},
		{"shell(cat *)", shell("cat /etc/passwd"), false},
		{"shell(cat *)", shell("cat /w/project/a.txt"), true},
		{"shell(cat *)", shell("cat /w/projects/a.txt"), false},
		{"shell(cat *)", shell("cat a/../../b"), false},
		{"shell(cat *)", shell("cat ~/x"), false},
		{"shell(cat *)", shell(`cat "/etc/passwd"`), false},
		{"shell(tar *)", shell("tar --directory=/etc x"), false},
		{"shell(tar *)", shell("tar -xC/etc x"), false},
		{"shell(go test *)", shell("go test ./..."), true},
		{"shell(curl *)", shell("curl http://example.org"), false},
		{"shell(make test)", shell("make test"), true},
		{"shell(make test)", shell("make test all"), false},
		{"shell(a; b)", shell("a; b"), true},
		{"shell", shell("rm -rf /"), true},
		{"shell(ls *)", call("shell", `{"command":"ls","command":"rm -rf ."}`), false},
		{"shell(ls *)", call("shell", `{"command":"ls","Command":"rm -rf ."}`), false},
		{"shell(ls *)", call("shell", `{"command":["ls"]}`), false},
		{"shell(ls *)", call("shell", `{"command":"ls"`), false},
		{"edit(src/**)", call("edit_file", `{"path":"src/a/b.go"}`), true},
		{"edit(src/**)", call("write_file", `{"path":"./src/b.go"}`), true},
		{"edit(src/**)", call("write_file", `{"path":"src/../etc/b.go"}`), false},
		{"edit(src/**)", call("write_file", `{"path":"/w/project/src/b.go"}`), true},
		{"edit(**)", call("write_file", `{"path":"/etc/passwd"}`), false},
		{"edit(**)", call("write_file", `{"path":"../x"}`), false},
		{"edit(*.go)", call("edit_file", `{"path":"a.go"}`), true},
		{"edit(*.go)", call("edit_file", `{"path":"b/a.go"}`), false},
		{"edit(src/**)", shell("src/x"), false},
		{"write_file", call("edit_file", `{"path":"a"}`), false},
		{"web_fetch(*.go.dev)", call("web_fetch", `{"url":"https://pkg.go.dev/x"}`), true},
		{"web_fetch(*.go.dev)", call("web_fetch", `{"url":"https://pkg.go.dev.evil.org/x"}`), false},
		{"web_fetch(*.go.dev)", call("web_fetch", `{"url":"https://evil.org/#.go.dev"}`), false},
		{"mcp_*", call("mcp_x", `{}`), true},
		{"mcp_*", call("shell", `{}`), false},
	} {
		r, err := approve.ParseRule(c.rule)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := approve.Decide(approve.Ask, approve.Rules{Allow: []approve.Rule{r}}, c.call)
		if (got == approve.Allow) != c.want {
			t.Errorf("%s for %s: %s", r, c.call.Arguments, got)
		}
	}
}

func TestDenyRules(t *testing.T) {
	for command, want := range map[string]approve.Verdict{
		"rm x": approve.Refuse, "ls; rm -r x": approve.Refuse, "ls && sudo rm x": approve.Refuse, "echo $(rm x)": approve.Refuse,
		"rmdir x": approve.Allow, "ls": approve.Allow,
	} {
		rules := approve.Rules{Allow: []approve.Rule{{Tool: "shell"}}, Deny: []approve.Rule{{Tool: "shell", Pattern: "rm *"}}}
		if got, _ := approve.Decide(approve.Everything, rules, shell(command)); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

func TestParseRuleRefuses(t *testing.T) {
	for _, bad := range []string{"", "(x)", "shell(", "shell()", "shell( )", "shell(x", "a b", "shell(x\ny)", "shell(\x00)"} {
		if r, err := approve.ParseRule(bad); err == nil {
			t.Errorf("%q is %v", bad, r)
		}
	}
}

// TestSuggest checks that the offered rule allows the call it was offered for, and describes
// what it allows.
func TestSuggest(t *testing.T) {
	for _, c := range []struct {
		call approve.Call
		want string
	}{
		{shell("git diff --stat"), "shell(git diff *)"},
		{shell("ls -la"), "shell(ls *)"},
		{shell("git -C x status"), "shell(git *)"},
		{shell("make test && make install"), "shell(make test && make install)"},
		{shell("cat /etc/passwd"), "shell(cat /etc/passwd)"},
		{shell("a\nb"), ""},
		{call("edit_file", `{"path":"src/a/b.go"}`), "edit(src/a/**)"},
		{call("write_file", `{"path":"README.md"}`), "edit(README.md)"},
		{call("write_file", `{"path":"/etc/passwd"}`), "edit(/etc/passwd)"},
		{call("web_fetch", `{"url":"https://Go.dev/x"}`), "web_fetch(go.dev)"},
		{call("deploy", `{}`), "deploy"},
	} {
		r := approve.Suggest(c.call)
		if r.String() != c.want {
			t.Errorf("%s: %q, want %q", c.call.Arguments, r, c.want)
		}
		if c.want == "" {
			continue
		}
		if got, _ := approve.Decide(approve.Ask, approve.Rules{Allow: []approve.Rule{r}}, c.call); got != approve.Allow {
			t.Errorf("%s does not allow %s", r, c.call.Arguments)
		}
	}
}

func TestDigest(t *testing.T) {
	same := []string{`{"a":1,"b":[{"c":"x","d":null}]}`, ` { "b" : [ {"d":null,"c":"\u0078"} ], "a":1 } `}
	if approve.Digest("t", json.RawMessage(same[0])) != approve.Digest("t", json.RawMessage(same[1])) {
		t.Error("the order of members or space matters")
	}
	seen := make(map[string]string)
	for _, c := range [][2]string{
		{"t", `{}`}, {"t", `{"a":1}`}, {"u", `{"a":1}`}, {"t", `{"a":1.0}`}, {"t", `{"a":"1"}`}, {"t", `{"a":[1]}`}, {"t", `{"a":1,"a":2}`}, {"t", `{"a":2,"a":1}`},
		{"t", `{"a":2}`}, {"t", `{"A":1}`}, {"t", `{"a":1`}, {"t", `{"a":1}x`}, {"t", `{"a":{"b":1}}`}, {"t", `null`}, {"t{}", ``},
	} {
		d := approve.Digest(c[0], json.RawMessage(c[1]))
		if len(d) != 64 || seen[d] != "" {
			t.Errorf("%v has the digest of %s", c, seen[d])
		}
		seen[d] = c[0] + c[1]
	}
	if approve.Digest("t", nil) != approve.Digest("t", json.RawMessage(`{}`)) {
		t.Error("a call without arguments is not one with none")
	}
}
