package tool_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/tool"
)

func TestOpenWorkspace(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "x"})
	if _, err := tool.OpenWorkspace(filepath.Join(dir, "none"), tool.WorkspaceOptions{}); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("a missing directory: %v", err)
	}
	if _, err := tool.OpenWorkspace(filepath.Join(dir, "a.txt"), tool.WorkspaceOptions{}); err == nil {
		t.Error("a file was opened as a workspace")
	}
	t.Chdir(dir)
	w := open(t, ".", tool.WorkspaceOptions{})
	if !filepath.IsAbs(w.Dir()) {
		t.Errorf("the directory is %s", w.Dir())
	}
}

func TestToolsOfAWorkspace(t *testing.T) {
	names := func(o tool.WorkspaceOptions) []string {
		var names []string
		for _, tl := range open(t, t.TempDir(), o).Tools() {
			names = append(names, tl.Spec().Name)
		}
		return names
	}
	if got := names(tool.WorkspaceOptions{}); !slices.Equal(got, []string{"read_file", "list_dir", "glob", "grep", "write_file", "edit_file"}) {
		t.Errorf("the tools are %v", got)
	}
	if got := names(tool.WorkspaceOptions{ReadOnly: true}); !slices.Equal(got, []string{"read_file", "list_dir", "glob", "grep"}) {
		t.Errorf("the tools of a read-only workspace are %v", got)
	}
}

func TestClosedWorkspace(t *testing.T) {
	w := workspace(t, map[string]string{"a.txt": "x"})
	w.Close()
	for _, tl := range w.Tools() {
		a := args{"path": "a.txt"}
		switch tl.Spec().Name {
		case "grep", "glob":
			a["pattern"] = "x"
		case "edit_file":
			a["edits"] = edits("x", "y")
		case "write_file":
			a["content"] = "y"
		}
		if err := fails(t, tl, a); !errors.Is(err, firn.ErrClosed) {
			t.Errorf("%s: %v", tl.Spec().Name, err)
		}
	}
}

// escapes returns a workspace next to a secret, with links to it, and the paths that would
// lead there.
func escapes(t *testing.T) (*tool.Workspace, string, []string) {
	t.Helper()
	outer := tree(t, map[string]string{"secret/key.txt": "the secret", "work/inside.txt": "fine", "work/sub/x.txt": "x"})
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(outer, "work", name)); err != nil {
			t.Fatal(err)
		}
	}
	link(filepath.Join(outer, "secret"), "absolute-dir")
	link(filepath.Join(outer, "secret/key.txt"), "absolute-file")
	link("../secret", "relative-dir")
	link("../secret/key.txt", "relative-file")
	link("sub/../../secret/key.txt", "winding-file")
	link("relative-dir", "second-hand")
	link("..", "up")
	return open(t, filepath.Join(outer, "work"), tool.WorkspaceOptions{}), outer, []string{
		"../secret/key.txt",
		"sub/../../secret/key.txt",
		"./../secret/key.txt",
		filepath.Join(outer, "secret/key.txt"),
		filepath.Join(outer, "work") + "/../secret/key.txt",
		filepath.Join(outer, "workshop/key.txt"),
		"/etc/passwd",
		"absolute-dir/key.txt",
		"absolute-file",
		"relative-dir/key.txt",
		"relative-file",
		"winding-file",
		"second-hand/key.txt",
		"up/secret/key.txt",
		"up/work/../secret/key.txt",
	}
}

func TestNoPathLeavesTheWorkspace(t *testing.T) {
	w, outer, paths := escapes(t)
	for _, path := range paths {
		for _, name := range []string{"read_file", "list_dir", "glob", "grep", "write_file", "edit_file"} {
			a := args{"path": path}
			switch name {
			case "grep", "glob":
				a["pattern"] = "secret"
			case "edit_file":
				a["edits"] = edits("secret", "changed")
			case "write_file":
				a["content"] = "changed"
			}
			err := fails(t, find(t, w, name), a)
			lacks(t, err.Error(), "the secret")
			if !errors.Is(err, firn.ErrInvalid) {
				t.Errorf("%s %s: %v is not ErrInvalid", name, path, err)
			}
		}
		if err := fails(t, find(t, w, "write_file"), args{"path": path, "content": "more", "append": true}); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("append to %s: %v", path, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(outer, "secret/key.txt")); err != nil || string(data) != "the secret" {
		t.Errorf("the secret is now %q, %v", data, err)
	}
	if entries, err := os.ReadDir(outer); err != nil || len(entries) != 2 {
		t.Errorf("there are now %v next to the workspace, %v", entries, err)
	}
	// Walks do not follow the links.
	lacks(t, call(t, find(t, w, "grep"), args{"pattern": "secret"}), "the secret")
	lacks(t, call(t, find(t, w, "list_dir"), args{"depth": 5}), "key.txt  ")
}

func TestPathsThatStayInside(t *testing.T) {
	w := workspace(t, map[string]string{"a.txt": "found", "d/b.txt": "found"})
	for name, target := range map[string]string{"link.txt": "a.txt", "d/up.txt": "../a.txt", "dir": "d"} {
		if err := os.Symlink(target, filepath.Join(w.Dir(), name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		"a.txt", "./a.txt", "d/../a.txt", "none/../a.txt", "d//b.txt", "link.txt", "d/up.txt", "dir/b.txt", "dir/up.txt",
		filepath.Join(w.Dir(), "a.txt"), w.Dir() + "/d/../a.txt",
	} {
		has(t, call(t, find(t, w, "read_file"), args{"path": path}), "found")
	}
}

func TestAbsolutePathsThroughALinkToTheWorkspace(t *testing.T) {
	dir := tree(t, map[string]string{"real/a.txt": "found"})
	link := filepath.Join(dir, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	w := open(t, link, tool.WorkspaceOptions{})
	for _, path := range []string{filepath.Join(dir, "link/a.txt"), filepath.Join(dir, "real/a.txt")} {
		has(t, call(t, find(t, w, "read_file"), args{"path": path}), "found")
	}
}

func TestLinkCycles(t *testing.T) {
	w := workspace(t, nil)
	for name, target := range map[string]string{"a": "b", "b": "a", "c": "c/x"} {
		if err := os.Symlink(target, filepath.Join(w.Dir(), name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"a", "b", "c"} {
		fails(t, find(t, w, "read_file"), args{"path": path})
		fails(t, find(t, w, "write_file"), args{"path": path, "content": "x"})
	}
}

func TestMissingFilesSuggestOthers(t *testing.T) {
	w := workspace(t, map[string]string{"src/main.go": "", "src/Main_test.go": "", "src/manual.txt": "", "README.md": "", "zzz": ""})
	read := find(t, w, "read_file")
	for path, want := range map[string]string{
		"src/main.gp":   "src/main.gp was not found in the workspace; there is src/main.go",
		"src/mian.go":   "there is src/main.go",
		"readme.md":     "there is README.md",
		"README":        "there is README.md",
		"scr/main.go":   "scr was not found in the workspace; there is src",
		"src/a/b/c.txt": "src/a was not found in the workspace",
		"test.go":       "test.go was not found in the workspace",
	} {
		err := fails(t, read, args{"path": path})
		has(t, err.Error(), want)
		if !errors.Is(err, firn.ErrNotFound) {
			t.Errorf("%s: %v is not ErrNotFound", path, err)
		}
	}
	lacks(t, fails(t, read, args{"path": "qqqq"}).Error(), "there is")
}

// TestPermissionDenied reads a file without read permission, which only root can read.
func TestPermissionDenied(t *testing.T) {
	w := workspace(t, map[string]string{"locked.txt": "x"})
	path := filepath.Join(w.Dir(), "locked.txt")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	_, want := os.ReadFile(path)
	r, err := find(t, w, "read_file").Run(t.Context(), marshal(t, args{"path": "locked.txt"}))
	if want == nil {
		has(t, firn.JoinText(r.Parts), "x")
		return
	}
	if !errors.Is(err, fs.ErrPermission) {
		t.Fatalf("the error is %v", err)
	}
	has(t, err.Error(), "locked.txt: the system does not permit it")
}
