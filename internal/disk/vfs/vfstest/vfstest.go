// Package vfstest tests implementations of vfs.FS against its contract.
package vfstest

import (
	"io"
	"io/fs"
	"path/filepath"
	"testing"

	"firn.dev/internal/disk/vfs"
)

// Make returns a new file system and an existing, empty directory in it.
type Make func(t *testing.T) (fsys vfs.FS, root string)

// Run checks a file system against the contract of package vfs.
func Run(t *testing.T, newFS Make) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, e *env)
	}{
		{"open", testOpen},
		{"open strange things", testOpenStrange},
		{"append", testAppend},
		{"update", testUpdate},
		{"read only", testReadOnly},
		{"read", testRead},
		{"truncate", testTruncate},
		{"stat", testStat},
		{"closed", testClosed},
		{"sync", testSync},
		{"concurrent appends", testConcurrent},
		{"mkdir", testMkdir},
		{"readdir", testReadDir},
		{"remove", testRemove},
		{"remove open file", testRemoveOpen},
		{"rename", testRename},
		{"rename replaces", testRenameReplaces},
		{"rename directory", testRenameDir},
		{"rename refused", testRenameRefused},
		{"lock", testLock},
		{"lock waits", testLockWaits},
		{"close frees lock", testLockClose},
		{"write file", testWriteFile},
		{"write file fails", testWriteFileFails},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys, root := newFS(t)
			c.test(t, &env{t: t, FS: fsys, root: root})
		})
	}
}

// env is a file system with helpers that fail the test on error.
type env struct {
	vfs.FS
	t    *testing.T
	root string
}

func (e *env) path(elem ...string) string {
	return filepath.Join(append([]string{e.root}, elem...)...)
}

func (e *env) ok(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// open opens a file and closes it at the end of the test.
func (e *env) open(name string, mode vfs.Mode) vfs.File {
	e.t.Helper()
	f, err := e.Open(e.path(name), mode)
	e.ok(err)
	e.t.Cleanup(func() { f.Close() })
	return f
}

func (e *env) write(f vfs.File, s string) {
	e.t.Helper()
	if n, err := f.Write([]byte(s)); n != len(s) || err != nil {
		e.t.Fatalf("write of %d bytes: %d, %v", len(s), n, err)
	}
}

// put creates a file with the given content.
func (e *env) put(name, content string) {
	e.t.Helper()
	f, err := e.Open(e.path(name), vfs.Create)
	e.ok(err)
	e.write(f, content)
	e.ok(f.Close())
}

// want checks the content of a file.
func (e *env) want(name, content string) {
	e.t.Helper()
	f, err := e.Open(e.path(name), vfs.Read)
	e.ok(err)
	defer f.Close()
	e.wantFile(f, content)
}

// wantFile checks the content of an open file without moving its offset.
func (e *env) wantFile(f vfs.File, content string) {
	e.t.Helper()
	got, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
	if err != nil || string(got) != content {
		e.t.Fatalf("content %q, %v; want %q", got, err, content)
	}
}

func (e *env) stat(name string) vfs.Info {
	e.t.Helper()
	info, err := e.Stat(e.path(name))
	e.ok(err)
	return info
}

func (e *env) statFile(f vfs.File) vfs.Info {
	e.t.Helper()
	info, err := f.Stat()
	e.ok(err)
	return info
}

// names lists a directory.
func (e *env) names(elem ...string) []string {
	e.t.Helper()
	entries, err := e.ReadDir(e.path(elem...))
	e.ok(err)
	return namesOf(entries)
}

func namesOf(entries []fs.DirEntry) []string {
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
