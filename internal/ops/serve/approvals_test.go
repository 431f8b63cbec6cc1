package serve

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/approve"
	"firn.dev/internal/disk/vfs"
)

// TestApprovedRules checks that rules are kept per session and project, also when several
// processes add some at the same time, and that unknown members are carried.
func TestApprovedRules(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ApprovalsName), []byte(`{"later":{"x":1},"sessions":null}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			a := &approvedRules{fs: vfs.OS{}, home: home} // as another process
			if err := a.AddForProject("/p", approve.Rule{Tool: "shell", Pattern: fmt.Sprintf("cmd%d *", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	a := &approvedRules{fs: vfs.OS{}, home: home}
	for range 2 {
		if err := a.AddForSession("s", approve.Rule{Tool: "edit", Pattern: "src/**"}); err != nil {
			t.Fatal(err)
		}
	}
	count := func(session firn.ID, dir string, want int) {
		t.Helper()
		if rules, err := a.Rules(session, dir); err != nil || len(rules) != want {
			t.Errorf("%s in %s has %d rules, %v; want %d", session, dir, len(rules), err, want)
		}
	}
	count("s", "/p", 21)
	count("s", "/q", 1)
	count("t", "/p", 20)
	count("t", "", 0)
	if err := a.Forget("s"); err != nil {
		t.Fatal(err)
	}
	count("s", "/q", 0)
	data, err := os.ReadFile(filepath.Join(home, ApprovalsName))
	if err != nil || !strings.Contains(string(data), `"later"`) {
		t.Errorf("the file is %s, %v", data, err)
	}
	if info, err := os.Stat(filepath.Join(home, ApprovalsName)); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others can read the file: %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(filepath.Join(home, ApprovalsName), []byte(`{"projects":{"/p":["shell(`), 0o600); err != nil {
		t.Fatal(err)
	}
	if rules, err := a.Rules("s", "/p"); err == nil || len(rules) != 0 {
		t.Errorf("a damaged file gives %v, %v", rules, err)
	}
	if err := a.AddForSession("s", approve.Rule{Tool: "x"}); err == nil {
		t.Error("a damaged file was overwritten")
	}
}

// FuzzApproved checks that any content is either refused or kept.
func FuzzApproved(f *testing.F) {
	f.Add(`{"sessions":{"a":["shell(x *)"]},"projects":{"/p":["edit(**)"]},"more":[1]}`)
	f.Add(`{"sessions":[]}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		table, err := parseApproved([]byte(text))
		if err != nil {
			return
		}
		if err := addRule(table.sessions, "s", approve.Rule{Tool: "x"}); err != nil {
			return
		}
		data, err := table.encode()
		if err != nil {
			t.Fatalf("%q cannot be written again: %v", text, err)
		}
		again, err := parseApproved(data)
		if err != nil || len(again.sessions) != len(table.sessions) || len(again.projects) != len(table.projects) || !json.Valid(data) {
			t.Fatalf("%q became %s, %v", text, data, err)
		}
	})
}
