package tool_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/tool"
)

// realTree is tree in a directory whose path has no symbolic link.
func realTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(tree(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// runAt runs a tool with an approved path.
func runAt(t *testing.T, w *tool.Workspace, approved, name string, a args) (string, error) {
	t.Helper()
	r, err := find(t, w, name).Run(tool.WithOutside(t.Context(), approved), marshal(t, a))
	return firn.JoinText(r.Parts), err
}

// TestApprovedOutside uses each tool on an approved path outside of the workspace, and checks
// that results name it in full.
func TestApprovedOutside(t *testing.T) {
	dir := realTree(t, map[string]string{"shop/in.txt": "inside", "other/a.txt": "one\n", "other/sub/b.txt": "one two\n"})
	w := open(t, filepath.Join(dir, "shop"), tool.WorkspaceOptions{})
	a, other := filepath.Join(dir, "other/a.txt"), filepath.Join(dir, "other")
	for _, c := range []struct {
		approved, tool string
		args           args
		want           string
	}{
		{a, "read_file", args{"path": a}, "one"},
		{a, "read_file", args{"path": "../other/a.txt"}, "one"},
		{a, "read_file", args{"path": "none/../../other/./a.txt"}, "one"},
		{a, "grep", args{"path": a, "pattern": "one"}, a + ":1: one"},
		{"", "read_file", args{"path": "../shop/in.txt"}, "inside"}, // it returns to the workspace
		{other, "grep", args{"path": other, "pattern": "two"}, other + "/sub/b.txt:1: one two"},
		{other, "glob", args{"path": other, "pattern": "*.txt"}, other + "/sub/b.txt"},
		{other, "list_dir", args{"path": "../other", "depth": 2}, "sub/b.txt"},
		{a, "edit_file", args{"path": a, "edits": edits("one", "three")}, "edited " + a},
		{a, "write_file", args{"path": a, "content": "four", "append": true}, "added to " + a},
		{other + "/new/deep/c.txt", "write_file", args{"path": "../other/new/deep/c.txt", "content": "c"}, "created " + other + "/new/deep/c.txt"},
	} {
		if got, err := runAt(t, w, c.approved, c.tool, c.args); err != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s %v: %q, %v", c.tool, c.args, got, err)
		}
	}
	if data, err := os.ReadFile(a); err != nil || string(data) != "three\nfour" {
		t.Errorf("the file has %q, %v", data, err)
	}
	diff, err := find(t, w, "edit_file").(tool.Previewer).Preview(tool.WithOutside(t.Context(), a), marshal(t, args{"path": a, "edits": edits("three", "five")}))
	if err != nil || !strings.HasPrefix(diff, "--- "+a+"\n+++ "+a+"\n") {
		t.Errorf("the diff is %q, %v", diff, err)
	}
	_, err = runAt(t, w, other+"/b.txt", "read_file", args{"path": other + "/b.txt"})
	if !errors.Is(err, firn.ErrNotFound) || strings.Contains(err.Error(), "a.txt") {
		t.Errorf("a missing file: %v", err)
	}
}

// TestApprovalCoversOnePath checks that an approved path allows no other one, follows no
// link, and does not lead to firn's own files.
func TestApprovalCoversOnePath(t *testing.T) {
	dir := realTree(t, map[string]string{
		"shop/in.txt": "", "other/a.txt": "fine", "other/.git/config": "", "other/sub/x.txt": "", "secret/key.txt": "the secret", "home/firn.toml": "the secret", "ro/a.txt": "",
	})
	for name, target := range map[string]string{"other/link.txt": "../secret/key.txt", "other/near.txt": "a.txt", "other/dir": "../secret", "shop/out.txt": "../secret/key.txt", "alias": "other"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	w := open(t, at("shop"), tool.WorkspaceOptions{Private: []string{at("home"), at("none"), at("alias/none.toml")}})
	for _, c := range []struct{ approved, path string }{
		{at("other/a.txt"), at("secret/key.txt")},
		{at("other/a.txt"), "../secret/key.txt"},
		{at("other/a.txt"), "in.txt"},
		{at("other"), at("other/a.txt")},
		{"other/a.txt", "other/a.txt"},
		{at("other") + "/../secret/key.txt", at("other") + "/../secret/key.txt"},
		{at("other/link.txt"), at("other/link.txt")},
		{at("other/near.txt"), at("other/near.txt")},
		{at("other/dir/key.txt"), at("other/dir/key.txt")},
		{at("other/dir/new.txt"), at("other/dir/new.txt")},
		{at("secret/key.txt"), "out.txt"},
		{at("home"), at("home")},
		{at("home/firn.toml"), at("home/firn.toml")},
		{at("home/new/x"), at("home/new/x")},
		{at("none"), at("none")},
		{at("none/x"), at("none/x")},
		{at("other/none.toml"), at("other/none.toml")},
	} {
		for _, name := range []string{"read_file", "list_dir", "glob", "grep", "write_file", "edit_file"} {
			got, err := runAt(t, w, c.approved, name, callOf(name, c.path))
			if err == nil || !errors.Is(err, firn.ErrInvalid) {
				t.Errorf("%s %s with %s approved: %q, %v", name, c.path, c.approved, got, err)
			}
		}
	}
	if got, err := runAt(t, w, dir, "grep", args{"path": "..", "pattern": "secret"}); err != nil || strings.Contains(got, "home") || !strings.Contains(got, "key.txt") {
		t.Errorf("grep gave %q, %v", got, err)
	}
	if _, err := runAt(t, w, at("other/.git/config"), "write_file", callOf("write_file", at("other/.git/config"))); !errors.Is(err, firn.ErrUnsupported) {
		t.Errorf("a file of git: %v", err)
	}
	_, err := runAt(t, w, at("other/link.txt"), "read_file", args{"path": at("other/link.txt")})
	has(t, err.Error(), at("secret/key.txt"), "so that the user is asked")
	has(t, fails(t, find(t, w, "read_file"), args{"path": "out.txt"}).Error(), at("secret/key.txt"))
}

// callOf returns arguments of a tool for a path.
func callOf(name, path string) args {
	a := args{"path": path}
	switch name {
	case "grep", "glob":
		a["pattern"] = "secret"
	case "edit_file":
		a["edits"] = edits("secret", "changed")
	case "write_file":
		a["content"] = "changed"
	}
	return a
}

// TestApprovedPathIsReplaced replaces an approved file and its directory by links to a secret
// while calls use it. No call reads or changes the secret.
func TestApprovedPathIsReplaced(t *testing.T) {
	dir := realTree(t, map[string]string{"shop/in.txt": "", "a/b/f.txt": "fine", "secret/f.txt": "the secret"})
	w := open(t, filepath.Join(dir, "shop"), tool.WorkspaceOptions{})
	path, done := filepath.Join(dir, "a/b/f.txt"), make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		b, aside := filepath.Join(dir, "a/b"), filepath.Join(dir, "a/c")
		for ctx.Err() == nil { // errors do not matter: the next round starts afresh
			os.Rename(b, aside)
			os.Symlink("../secret", b)
			os.Remove(b)
			os.Rename(aside, b)
			os.Rename(path, path+".old")
			os.Symlink("../../secret/f.txt", path)
			os.Remove(path)
			os.Rename(path+".old", path)
		}
	}()
	for range 200 {
		if got, _ := runAt(t, w, path, "read_file", args{"path": path}); strings.Contains(got, "the secret") {
			t.Fatal("a call read the secret")
		}
		runAt(t, w, path, "write_file", args{"path": path, "content": "x", "append": true})
	}
	stop()
	<-done
	if data, err := os.ReadFile(filepath.Join(dir, "secret/f.txt")); err != nil || string(data) != "the secret" {
		t.Errorf("the secret is now %q, %v", data, err)
	}
}

// FuzzApprovedOutside checks that a call reads a file outside of the workspace only if its
// path is the approved one.
func FuzzApprovedOutside(f *testing.F) {
	dir, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	for name, text := range map[string]string{"shop/in.txt": "inside", "other/a.txt": "approved", "other/b.txt": "the secret"} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
	}
	os.Symlink("b.txt", filepath.Join(dir, "other/link"))
	w, err := tool.OpenWorkspace(filepath.Join(dir, "shop"), tool.WorkspaceOptions{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { w.Close() })
	f.Add("other/a.txt", "../other/a.txt")
	f.Add("other/a.txt", "../other/link")
	f.Add("other/../other/b.txt", "../other/b.txt")
	f.Add("other/link", "../other/link")
	f.Add("other/a.txt/../b.txt", "./../other//b.txt")
	f.Fuzz(func(t *testing.T, approved, path string) {
		approved = dir + "/" + approved
		got, err := runAt(t, w, approved, "read_file", args{"path": path})
		if err == nil && strings.Contains(got, "the secret") && approved != dir+"/other/b.txt" {
			t.Errorf("%q with %q approved: %q", path, approved, got)
		}
		if got, err := find(t, w, "read_file").Run(t.Context(), marshal(t, args{"path": path})); err == nil && !strings.Contains(firn.JoinText(got.Parts), "inside") {
			t.Errorf("%q without approval: %q", path, firn.JoinText(got.Parts))
		}
	})
}
