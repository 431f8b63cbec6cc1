package tool_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/tool"
)

type writing struct {
	Path    string
	Bytes   int
	Created bool
}

func content(t *testing.T, w *tool.Workspace, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(w.Dir(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestWriteFile(t *testing.T) {
	w := workspace(t, map[string]string{"old.txt": "old"})
	write := find(t, w, "write_file")
	for _, c := range []struct {
		a          args
		reply, now string
		created    bool
	}{
		{args{"path": "new.txt", "content": "hello\n"}, "created new.txt: 6 bytes", "hello\n", true},
		{args{"path": "old.txt", "content": "n"}, "wrote old.txt: 1 byte", "n", false},
		{args{"path": "a/b/c.txt", "content": ""}, "created a/b/c.txt: 0 bytes", "", true},
		{args{"path": "old.txt", "content": "ew", "append": true}, "added to old.txt: 2 bytes", "new", false},
		{args{"path": "log.txt", "content": "first", "append": true}, "created log.txt: 5 bytes", "first", true},
		{args{"path": filepath.Join(w.Dir(), "abs.txt"), "content": "x"}, "created abs.txt: 1 byte", "x", true},
	} {
		r := result(t, write, c.a)
		if got := firn.JoinText(r.Parts); got != c.reply {
			t.Errorf("said %q, want %q", got, c.reply)
		}
		d := details[writing](t, r)
		if d.Created != c.created || d.Bytes != len(c.a["content"].(string)) {
			t.Errorf("the details are %+v", d)
		}
		if got := content(t, w, d.Path); got != c.now {
			t.Errorf("%s is now %q, want %q", d.Path, got, c.now)
		}
	}
	leftovers(t, w)
}

// leftovers checks that there are no temporary files.
func leftovers(t *testing.T, w *tool.Workspace) {
	t.Helper()
	err := filepath.WalkDir(w.Dir(), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".tmp") {
			t.Errorf("%s was left", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestWriteFileKeepsPermissions(t *testing.T) {
	w := workspace(t, map[string]string{"run.sh": "old"})
	path := filepath.Join(w.Dir(), "run.sh")
	if err := os.Chmod(path, 0o751); err != nil {
		t.Fatal(err)
	}
	call(t, find(t, w, "write_file"), args{"path": "run.sh", "content": "new"})
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("the permissions are %v, %v", info.Mode(), err)
	}
}

func TestWriteFileReplacesWhole(t *testing.T) {
	w := workspace(t, map[string]string{"a.txt": "old"})
	reader, err := os.Open(filepath.Join(w.Dir(), "a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	call(t, find(t, w, "write_file"), args{"path": "a.txt", "content": "new content"})
	buf := make([]byte, 20)
	if n, _ := reader.Read(buf); string(buf[:n]) != "old" {
		t.Errorf("a process that had it open reads %q", buf[:n])
	}
}

func TestWriteFileFollowsLinksInside(t *testing.T) {
	w := workspace(t, map[string]string{"a/b/real.txt": "old", "x.txt": "x"})
	for name, target := range map[string]string{
		"link.txt": "a/b/real.txt", "dir": "a/b", "a/b/up.txt": "../../x.txt", "new.txt": "a/made.txt",
	} {
		if err := os.Symlink(target, filepath.Join(w.Dir(), name)); err != nil {
			t.Fatal(err)
		}
	}
	write := find(t, w, "write_file")
	call(t, write, args{"path": "link.txt", "content": "1"})
	call(t, write, args{"path": "dir/up.txt", "content": "2"})
	call(t, write, args{"path": "dir/y.txt", "content": "3"})
	call(t, write, args{"path": "new.txt", "content": "4"})
	for name, want := range map[string]string{"a/b/real.txt": "1", "x.txt": "2", "a/b/y.txt": "3", "a/made.txt": "4"} {
		if got := content(t, w, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"link.txt", "dir", "a/b/up.txt", "new.txt"} {
		if info, err := os.Lstat(filepath.Join(w.Dir(), name)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", name)
		}
	}
}

func TestWriteFileRefuses(t *testing.T) {
	w := workspace(t, map[string]string{"dir/x.txt": "x", "locked.txt": "x", ".git/config": "x", "file.txt": "x"})
	if err := os.Chmod(filepath.Join(w.Dir(), "locked.txt"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".git", filepath.Join(w.Dir(), "innocent")); err != nil {
		t.Fatal(err)
	}
	write := find(t, w, "write_file")
	for path, c := range map[string]struct {
		is      error
		message string
	}{
		"":                {firn.ErrInvalid, "that is a directory"},
		".":               {firn.ErrInvalid, "that is a directory"},
		"dir":             {firn.ErrInvalid, "that is a directory"},
		"new/":            {firn.ErrInvalid, "that is a directory"},
		"locked.txt":      {fs.ErrPermission, "write-protected"},
		".git/config":     {firn.ErrUnsupported, ".git belongs to git"},
		"sub/.GIT/hooks":  {firn.ErrUnsupported, ".git belongs to git"},
		"innocent/config": {firn.ErrUnsupported, ".git belongs to git"},
		"file.txt/x":      {nil, "not a directory"},
	} {
		for _, add := range []bool{false, true} {
			err := fails(t, write, args{"path": path, "content": "changed", "append": add})
			has(t, err.Error(), c.message)
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%s: %v is not %v", path, err, c.is)
			}
		}
	}
	if err := fails(t, write, args{"path": "big.txt", "content": strings.Repeat("x", 10<<20+1)}); !errors.Is(err, firn.ErrTooLarge) {
		t.Errorf("too much: %v", err)
	}
	for _, name := range []string{"dir/x.txt", "locked.txt", ".git/config", "file.txt"} {
		if got := content(t, w, name); got != "x" {
			t.Errorf("%s is now %q", name, got)
		}
	}
	leftovers(t, w)
}

func TestManyAppendAtOnce(t *testing.T) {
	w := workspace(t, nil)
	write := find(t, w, "write_file")
	line := strings.Repeat("x", 999) + "\n"
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() { call(t, write, args{"path": "log.txt", "content": line, "append": true}) })
	}
	group.Wait()
	if got := content(t, w, "log.txt"); got != strings.Repeat(line, 20) {
		t.Errorf("there are %d bytes", len(got))
	}
}
