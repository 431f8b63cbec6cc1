package approve_test

import (
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
		{"list_dir", "..", "/w"},
		{"glob", "/", "/"},
		{"edit_file", "../../../..", "/"},
		{"shell", "/etc/hosts", ""},
		{"mcp_read", "/etc/hosts", ""},
	} {
		if got := approve.OutsidePath(call(c.tool, `{"path":"`+c.path+`"}`)); got != c.want {
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

// TestOutsideNeedsItsOwnYes checks that a path outside of the workspace is asked about, or
// refused where no user is asked, and that only a rule with its directory allows it.
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
		{read, "read_file(/w/lib/*)"}, {edit, "edit(/w/lib/*)"},
		{call("grep", `{"path":"/etc","pattern":"x"}`), "grep(/etc)"},
		{call("read_file", `{"path":"/x"}`), "read_file(/x)"},
		{call("read_file", `{"path":"/etc/*"}`), ""},
	} {
		if got := approve.Suggest(c.call).String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.call.Arguments, got, c.want)
		}
	}
}
