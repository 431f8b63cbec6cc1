package approve_test

import (
	"strings"
	"testing"

	"firn.dev/internal/base/approve"
)

func TestOutsidePath(t *testing.T) {
	for _, c := range []struct{ tool, path, want string }{
		{"read_file", "a.txt", ""},
		{"read_file", "/w/project/a.txt", ""},
		{"read_file", "a/../b", ""},
		{"read_file", "/w/project", ""},
		{"read_file", "", ""},
		{"read_file", "../a.txt", "/w/a.txt"},
		{"read_file", "a/../../b/./c", "/w/b/c"},
		{"read_file", "/etc/../etc/hosts", "/etc/hosts"},
		{"read_file", "/w/project/../x", "/w/x"},
		{"read_file", "/w/projects", "/w/projects"},
		{"read_file", "../project/a.txt", ""},
		{"edit_file", "x/../../project", ""},
		{"read_file", "../../w/project/a/../../b", "/w/b"},
		{"read_file", "/real/project/a.txt", ""},
		{"read_file", "../../real/project/a.txt", ""},
		{"read_file", "/real/projects", "/real/projects"},
		{"list_dir", "..", "/w"},
		{"glob", "/", "/"},
		{"edit_file", "../../../..", "/"},
		{"shell", "/etc/hosts", ""},
		{"mcp_read", "/etc/hosts", ""},
	} {
		call := call(c.tool, `{"path":"`+c.path+`"}`)
		call.Resolved = "/real/project"
		if got := approve.OutsidePath(call); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.path, got, c.want)
		}
	}
	windows := approve.Call{Tool: "read_file", Arguments: []byte(`{"path":"D:\\x\\..\\y"}`), Workspace: `C:\w`}
	if got := approve.OutsidePath(windows); got != "D:/y" {
		t.Errorf("on Windows: %q", got)
	}
	windows.Arguments = []byte(`{"path":"C:\\w\\a"}`)
	if got := approve.OutsidePath(windows); got != "" {
		t.Errorf("on Windows, inside: %q", got)
	}
}

// TestRulesOfEveryName checks that a rule about a path in the workspace applies to each way to
// name it, and not to a path whose name only looks like it.
func TestRulesOfEveryName(t *testing.T) {
	rule, err := approve.ParseRule("edit(secrets/**)")
	if err != nil {
		t.Fatal(err)
	}
	for path, fits := range map[string]bool{
		"secrets/k": true, "./a/../secrets/k": true, "/w/project/secrets/k": true, "../project/secrets/k": true, "../../w/project/secrets/k": true,
		"/real/project/secrets/k": true, "../../real/project/secrets/k": true, `a\\b/../secrets/k`: true,
		"secrets.txt": false, "../secrets/k": false, "/secrets/k": false, `secrets\\x/../a`: false,
	} {
		call := call("edit_file", `{"path":"`+path+`"}`)
		call.Resolved = "/real/project"
		if got, _ := approve.Decide(approve.AcceptEdits, approve.Rules{Deny: []approve.Rule{rule}}, call); (got == approve.Refuse) != fits {
			t.Errorf("denied %s: %s", path, got)
		}
		if got, _ := approve.Decide(approve.Ask, approve.Rules{Allow: []approve.Rule{rule}}, call); (got == approve.Allow) != fits {
			t.Errorf("allowed %s: %s", path, got)
		}
	}
}

// TestToolOfARule checks that a rule for a tool that does not exist is reported.
func TestToolOfARule(t *testing.T) {
	for text, want := range map[string]string{
		"shell(make *)": "", "edit(src/**)": "", "edit_file(a)": "", "web_fetch(*.go.dev)": "", "mcp__notes__add": "", "mcp_*": "", "*": "",
		"shel(make *)": "no tool is called shel; did you mean shell?", "write_fil": "did you mean write_file?", "nothing(x)": "no tool is called nothing",
	} {
		rule, err := approve.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := rule.CheckTool(); (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestOutsideNeedsItsOwnYes checks that a path outside of the workspace is asked about, or
// refused where no user is asked, and that only a rule with its absolute path allows it.
func TestOutsideNeedsItsOwnYes(t *testing.T) {
	const a, q, r = approve.Allow, approve.NeedsYes, approve.Refuse
	read, edit := call("read_file", `{"path":"../lib/a.go"}`), call("edit_file", `{"path":"/w/lib/a.go"}`)
	for _, c := range []struct {
		rule string
		call approve.Call
		want [4]approve.Verdict // in the order of approve.Modes
	}{
		{"none", read, [4]approve.Verdict{r, q, q, r}},
		{"none", edit, [4]approve.Verdict{r, q, q, r}},
		{"read_file", read, [4]approve.Verdict{r, q, q, r}},
		{"*", read, [4]approve.Verdict{r, q, q, r}},
		{"edit(**)", edit, [4]approve.Verdict{r, q, q, r}},
		{"read_file(../lib/*)", read, [4]approve.Verdict{r, q, q, r}},
		{"read_file(/w/other/*)", read, [4]approve.Verdict{r, q, q, r}},
		{"read_file(/w/*)", read, [4]approve.Verdict{r, q, q, r}},
		{"edit(/w/lib/*)", read, [4]approve.Verdict{r, q, q, r}},
		{"read_file(/w/lib/*)", read, [4]approve.Verdict{a, a, a, a}},
		{"edit(/w/lib/*)", edit, [4]approve.Verdict{r, a, a, a}},
		{"edit(/w/**)", edit, [4]approve.Verdict{r, a, a, a}},
	} {
		rule, err := approve.ParseRule(c.rule)
		if err != nil {
			t.Fatal(err)
		}
		for i, mode := range approve.Modes {
			if got, _ := approve.Decide(mode, approve.Rules{Allow: []approve.Rule{rule}}, c.call); got != c.want[i] {
				t.Errorf("%s for %s in %s: %s, want %s", rule, c.call.Arguments, mode, got, c.want[i])
			}
			if got, _ := approve.Decide(mode, approve.Rules{Deny: []approve.Rule{rule}, Allow: []approve.Rule{{Tool: "*", Pattern: "/**"}}}, c.call); c.want[1] == a && got != r {
				t.Errorf("denied by %s: %s", rule, got)
			}
		}
	}
	for _, c := range []struct {
		call approve.Call
		want string
	}{
		{read, "read_file(/w/lib/a.go)"}, {edit, "edit(/w/lib/a.go)"},
		{call("grep", `{"path":"/etc","pattern":"x"}`), ""}, {call("list_dir", `{"path":"/etc"}`), ""}, {call("glob", `{"path":"..","pattern":"*"}`), ""},
		{call("read_file", `{"path":"/x"}`), "read_file(/x)"},
		{call("read_file", `{"path":"/etc/*"}`), ""},
	} {
		if got := approve.Suggest(c.call).String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.call.Arguments, got, c.want)
		}
	}
	if _, why := approve.Decide(approve.Everything, approve.Rules{}, edit); !strings.Contains(why, "defaults.approvals.allow") || !strings.HasSuffix(why, "such as edit(/w/lib/a.go)") {
		t.Errorf("the reason is %s", why)
	}
}
