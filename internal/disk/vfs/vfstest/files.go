package vfstest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"testing"

	"firn.dev/internal/disk/vfs"
)

func testOpen(t *testing.T, e *env) {
	if _, err := e.Open(e.path("a"), vfs.Read); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read of what is not there: %v", err)
	}
	for _, mode := range []vfs.Mode{vfs.Append, vfs.Create, vfs.Update} {
		if _, err := e.Open(e.path("dir", "a"), mode); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("mode %d where no directory is: %v", mode, err)
		}
	}
	for _, mode := range []vfs.Mode{vfs.Extend, vfs.Change} {
		if _, err := e.Open(e.path("a"), mode); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("mode %d of what is not there: %v", mode, err)
		}
	}
	e.write(e.open("a", vfs.Append), "one")
	e.write(e.open("a", vfs.Extend), "two")
	e.want("a", "onetwo")
	if _, err := e.Open(e.path("a"), vfs.Create); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create of what is there: %v", err)
	}
	e.write(e.open("b", vfs.Create), "b")
	e.write(e.open("c", vfs.Update), "c")
	e.want("b", "b")
	e.want("c", "c")
	if _, err := e.Open(e.path("a"), vfs.Mode(99)); err == nil {
		t.Error("a mode that is none was taken")
	}
}

func testOpenStrange(t *testing.T, e *env) {
	e.ok(e.MkdirAll(e.path("dir")))
	for _, mode := range []vfs.Mode{vfs.Read, vfs.Append, vfs.Update} {
		if _, err := e.Open(e.path("dir"), mode); !errors.Is(err, syscall.EISDIR) {
			t.Errorf("open of a directory with mode %d: %v", mode, err)
		}
	}
	if _, err := e.Open(e.path("dir"), vfs.Create); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create where a directory is: %v", err)
	}
	e.put("file", "x")
	if _, err := e.Open(e.path("file", "below"), vfs.Append); err == nil {
		t.Error("opened a file below a file")
	}
	if _, err := e.Stat(e.path("file", "below")); err == nil {
		t.Error("found a file below a file")
	}
	e.want("file", "x")
}

func testAppend(t *testing.T, e *env) {
	a, b := e.open("a", vfs.Append), e.open("a", vfs.Append)
	e.write(a, "one.")
	e.write(b, "two.")
	e.write(a, "three.")
	e.want("a", "one.two.three.")

	got := make([]byte, 4)
	r := e.open("a", vfs.Append)
	if n, err := r.Read(got); n != 4 || err != nil || string(got) != "one." {
		t.Errorf("read %q %d %v", got, n, err)
	}
	e.write(r, "four.")
	if n, err := r.Read(got); n != 0 || err != io.EOF {
		t.Errorf("an append does not move to the end: read %q %d %v", got[:n], n, err)
	}
	if _, err := a.WriteAt([]byte("X"), 0); err == nil {
		t.Error("WriteAt went into a file opened to append")
	}
	if n, err := a.Write(nil); n != 0 || err != nil {
		t.Errorf("empty write: %d, %v", n, err)
	}
	e.want("a", "one.two.three.four.")
}

func testUpdate(t *testing.T, e *env) {
	f := e.open("a", vfs.Update)
	e.write(f, "abcdef")
	if n, err := f.WriteAt([]byte("XY"), 1); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	e.write(f, "g")
	e.wantFile(f, "aXYdefg")
	if n, err := f.WriteAt([]byte("end"), 9); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	e.wantFile(f, "aXYdefg\x00\x00end")
	if _, err := f.WriteAt([]byte("x"), -1); err == nil {
		t.Error("wrote before the beginning")
	}
	again := e.open("a", vfs.Update)
	e.write(again, "Z")
	e.want("a", "ZXYdefg\x00\x00end")
}

func testReadOnly(t *testing.T, e *env) {
	e.put("a", "abc")
	f := e.open("a", vfs.Read)
	if n, err := f.Write([]byte("x")); n != 0 || err == nil {
		t.Errorf("write: %d, %v", n, err)
	}
	if n, err := f.WriteAt([]byte("x"), 0); n != 0 || err == nil {
		t.Errorf("write at: %d, %v", n, err)
	}
	if err := f.Truncate(0); err == nil {
		t.Error("truncated a file opened to read")
	}
	e.want("a", "abc")
}

func testRead(t *testing.T, e *env) {
	e.put("a", "abcdef")
	f := e.open("a", vfs.Read)
	p := make([]byte, 4)
	for _, c := range []struct {
		off  int64
		want string
		err  error
	}{{0, "abcd", nil}, {2, "cdef", nil}, {3, "def", io.EOF}, {6, "", io.EOF}, {99, "", io.EOF}} {
		if n, err := f.ReadAt(p, c.off); string(p[:n]) != c.want || err != c.err {
			t.Errorf("at %d: %q, %v", c.off, p[:n], err)
		}
	}
	if _, err := f.ReadAt(p, -1); err == nil || err == io.EOF {
		t.Errorf("read before the beginning: %v", err)
	}
	if n, err := f.Read(nil); n != 0 || err != nil {
		t.Errorf("empty read: %d, %v", n, err)
	}
	if got, err := io.ReadAll(f); string(got) != "abcdef" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	e.write(e.open("a", vfs.Append), "gh")
	if got, err := io.ReadAll(f); string(got) != "gh" || err != nil {
		t.Errorf("what was added reads as %q, %v", got, err)
	}
}

func testTruncate(t *testing.T, e *env) {
	f := e.open("a", vfs.Append)
	e.write(f, "abcdef")
	e.ok(f.Truncate(2))
	e.wantFile(f, "ab")
	e.ok(f.Truncate(4))
	e.wantFile(f, "ab\x00\x00")
	e.write(f, "x")
	e.wantFile(f, "ab\x00\x00x")
	if err := f.Truncate(-1); err == nil {
		t.Error("truncated to less than nothing")
	}
	e.ok(f.Truncate(0))
	e.write(f, "new")
	e.want("a", "new")
}

func testStat(t *testing.T, e *env) {
	if _, err := e.Stat(e.path("a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat of nothing: %v", err)
	}
	f := e.open("a", vfs.Create)
	e.put("b", "b")
	e.write(f, "abc")
	open, named := e.statFile(f), e.stat("a")
	if open != named {
		t.Errorf("open %+v, named %+v", open, named)
	}
	if named.Size != 3 || named.Mode != 0o600 || named.Links != 1 || named.Inode == 0 || named.ModTime.IsZero() {
		t.Errorf("%+v", named)
	}
	if named.Same(e.stat("b")) || !named.Same(open) {
		t.Error("Same does not distinguish files")
	}
	if root := e.stat("."); !root.Mode.IsDir() {
		t.Errorf("directory: %+v", root)
	}
}

func testClosed(t *testing.T, e *env) {
	f := e.open("a", vfs.Update)
	e.write(f, "abc")
	e.ok(f.Close())
	p := make([]byte, 1)
	for name, do := range map[string]func() error{
		"read":     func() error { _, err := f.Read(p); return err },
		"read at":  func() error { _, err := f.ReadAt(p, 0); return err },
		"write":    func() error { _, err := f.Write(p); return err },
		"write at": func() error { _, err := f.WriteAt(p, 0); return err },
		"stat":     func() error { _, err := f.Stat(); return err },
		"truncate": func() error { return f.Truncate(0) },
		"sync":     f.Sync,
		"lock":     f.Lock,
		"try lock": func() error { _, err := f.TryLock(); return err },
		"unlock":   f.Unlock,
		"close":    f.Close,
	} {
		if err := do(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s of a closed file: %v", name, err)
		}
	}
	e.want("a", "abc")
}

func testSync(t *testing.T, e *env) {
	f := e.open("a", vfs.Append)
	e.ok(f.Sync())
	e.write(f, "abc")
	e.ok(f.Sync())
	e.ok(e.SyncDir(e.root))
	if err := e.SyncDir(e.path("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("sync of no directory: %v", err)
	}
	if err := e.SyncDir(e.path("a")); err == nil {
		t.Error("synced a file as a directory")
	}
	if s, ok := e.FS.(vfs.SyncerFS); ok {
		for _, path := range []string{e.root, e.path("a")} {
			if err := s.SyncFS(path); err != nil && !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("sync of the file system of %s: %v", path, err)
			}
		}
		if err := s.SyncFS(e.path("none")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("sync of the file system of nothing: %v", err)
		}
	}
	e.want("a", "abc")
}

// testConcurrent appends whole lines through many open files concurrently and checks that
// no line is torn or overwritten.
func testConcurrent(t *testing.T, e *env) {
	const writers, lines = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		f := e.open("a", vfs.Append)
		wg.Go(func() {
			for i := range lines {
				if _, err := fmt.Fprintf(f, "%d %d\n", w, i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, err := io.ReadAll(e.open("a", vfs.Read))
	e.ok(err)
	next := [writers]int{}
	for line := range bytes.Lines(got) {
		var w, i int
		if n, err := fmt.Sscanf(string(line), "%d %d\n", &w, &i); n != 2 || err != nil || i != next[w] {
			t.Fatalf("line %q: %v, expected number %d", line, err, next[w])
		}
		next[w]++
	}
	for w, n := range next {
		if n != lines {
			t.Errorf("writer %d has %d lines", w, n)
		}
	}
}
