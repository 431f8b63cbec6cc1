package vfstest

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"firn.dev/internal/disk/vfs"
)

func testMkdir(t *testing.T, e *env) {
	e.ok(e.MkdirAll(e.path("a", "b", "c")))
	e.ok(e.MkdirAll(e.path("a", "b", "c")))
	e.ok(e.MkdirAll(e.path("a", "b", "d")))
	for _, name := range []string{"a", "a/b", "a/b/c", "a/b/d"} {
		if mode := e.stat(name).Mode; mode != fs.ModeDir|0o700 {
			t.Errorf("%s has mode %v", name, mode)
		}
	}
	e.put("file", "x")
	if err := e.MkdirAll(e.path("file")); err == nil {
		t.Error("made a directory of a file")
	}
	if err := e.MkdirAll(e.path("file", "below")); err == nil {
		t.Error("made a directory below a file")
	}
	e.want("file", "x")
}

func testReadDir(t *testing.T, e *env) {
	if got := e.names(); len(got) != 0 {
		t.Errorf("a new directory holds %q", got)
	}
	e.put("b", "12345")
	e.put("a", "")
	e.ok(e.MkdirAll(e.path("c", "below")))
	entries, err := e.ReadDir(e.root)
	e.ok(err)
	if got := namesOf(entries); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Fatalf("names %q", got)
	}
	if entries[1].IsDir() || !entries[2].IsDir() || entries[2].Type() != fs.ModeDir {
		t.Error("files and directories are mixed up")
	}
	info, err := entries[1].Info()
	e.ok(err)
	if info.Name() != "b" || info.Size() != 5 || info.Mode() != 0o600 || info.ModTime().IsZero() {
		t.Errorf("the entry has %v", info)
	}
	if _, err := e.ReadDir(e.path("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("list of nothing: %v", err)
	}
	if _, err := e.ReadDir(e.path("a")); err == nil {
		t.Error("listed a file")
	}
}

func testRemove(t *testing.T, e *env) {
	if err := e.Remove(e.path("a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("remove of nothing: %v", err)
	}
	e.ok(e.MkdirAll(e.path("dir")))
	e.put("dir/a", "a")
	if err := e.Remove(e.path("dir")); err == nil {
		t.Error("removed a directory that holds a file")
	}
	e.want("dir/a", "a")
	e.ok(e.Remove(e.path("dir/a")))
	e.ok(e.Remove(e.path("dir")))
	if got := e.names(); len(got) != 0 {
		t.Errorf("left: %q", got)
	}
}

func testRemoveOpen(t *testing.T, e *env) {
	f := e.open("a", vfs.Append)
	e.write(f, "old")
	e.ok(e.Remove(e.path("a")))
	before := e.statFile(f)
	if before.Links != 0 {
		t.Errorf("a removed file has %d links", before.Links)
	}
	e.write(f, " file")
	e.wantFile(f, "old file")
	e.ok(f.Sync())
	e.put("a", "new")
	if e.stat("a").Same(before) {
		t.Error("the new file is the same as the removed one")
	}
	e.want("a", "new")
}

func testRename(t *testing.T, e *env) {
	e.ok(e.MkdirAll(e.path("dir")))
	e.put("a", "a")
	before := e.stat("a")
	e.ok(e.Rename(e.path("a"), e.path("dir/b")))
	if _, err := e.Stat(e.path("a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old name is still there: %v", err)
	}
	if !e.stat("dir/b").Same(before) {
		t.Error("a renamed file is another one")
	}
	e.ok(e.Rename(e.path("dir/b"), e.path("dir/b")))
	e.want("dir/b", "a")
}

func testRenameReplaces(t *testing.T, e *env) {
	old := e.open("a", vfs.Append)
	e.write(old, "old")
	fresh := e.open("b", vfs.Append)
	e.write(fresh, "new")
	e.ok(e.Rename(e.path("b"), e.path("a")))
	if got := e.names(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("names %q", got)
	}
	now := e.stat("a")
	if now.Same(e.statFile(old)) || !now.Same(e.statFile(fresh)) {
		t.Error("the name is not that of the new file")
	}
	if info := e.statFile(old); info.Links != 0 {
		t.Errorf("a replaced file has %d links", info.Links)
	}
	if info := e.statFile(fresh); info.Links != 1 {
		t.Errorf("the new file has %d links", info.Links)
	}
	e.wantFile(old, "old")
	e.write(fresh, "er")
	e.want("a", "newer")
}

func testRenameDir(t *testing.T, e *env) {
	e.ok(e.MkdirAll(e.path("a", "below")))
	e.put("a/below/f", "f")
	e.ok(e.Rename(e.path("a"), e.path("b")))
	e.want("b/below/f", "f")
	e.ok(e.MkdirAll(e.path("full", "of")))
	if err := e.Rename(e.path("b"), e.path("full")); err == nil {
		t.Error("replaced a directory that holds something")
	}
	if err := e.Rename(e.path("b"), e.path("b/below/b")); err == nil {
		t.Error("moved a directory into itself")
	}
	e.want("b/below/f", "f")
}

func testRenameRefused(t *testing.T, e *env) {
	e.put("a", "a")
	e.ok(e.MkdirAll(e.path("dir")))
	if err := e.Rename(e.path("none"), e.path("b")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("rename of nothing: %v", err)
	}
	if err := e.Rename(e.path("a"), e.path("none/b")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("rename into no directory: %v", err)
	}
	if err := e.Rename(e.path("a"), e.path("dir")); err == nil {
		t.Error("replaced a directory by a file")
	}
	if err := e.Rename(e.path("dir"), e.path("a")); err == nil {
		t.Error("replaced a file by a directory")
	}
	e.want("a", "a")
	if got := e.names(); !slices.Equal(got, []string{"a", "dir"}) {
		t.Errorf("names %q", got)
	}
}

func testWriteFile(t *testing.T, e *env) {
	e.ok(vfs.WriteFile(e.FS, e.path("a"), []byte("old")))
	old := e.open("a", vfs.Read)
	e.ok(vfs.WriteFile(e.FS, e.path("a"), []byte("new")))
	e.want("a", "new")
	e.wantFile(old, "old")
	if mode := e.stat("a").Mode; mode != 0o600 {
		t.Errorf("mode %v", mode)
	}
	if got := e.names(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("names %q", got)
	}
}

func testWriteFileFails(t *testing.T, e *env) {
	e.ok(e.MkdirAll(e.path("dir")))
	if err := vfs.WriteFile(e.FS, e.path("dir"), []byte("x")); err == nil {
		t.Error("replaced a directory")
	}
	if err := vfs.WriteFile(e.FS, e.path("none/a"), []byte("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("write where no directory is: %v", err)
	}
	if got := e.names(); !slices.Equal(got, []string{"dir"}) {
		t.Errorf("names %q", got)
	}
}
