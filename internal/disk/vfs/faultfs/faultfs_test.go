package faultfs_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/disk/vfs/vfstest"
)

func TestConformance(t *testing.T) {
	vfstest.Run(t, func(t *testing.T) (vfs.FS, string) {
		f := faultfs.New()
		ok(t, f.MkdirAll("/home/some"))
		return f, "/home/some"
	})
}

// TestConformanceAfterCrash checks that the state after a crash is a conforming file
// system.
func TestConformanceAfterCrash(t *testing.T) {
	vfstest.Run(t, func(t *testing.T) (vfs.FS, string) {
		f := faultfs.New()
		ok(t, f.MkdirAll("/home/some"))
		ok(t, f.Put("/home/other", []byte("other")))
		return f.CrashRandom(rand.New(rand.NewPCG(1, 2))), "/home/some"
	})
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, f vfs.FS, name string, mode vfs.Mode) vfs.File {
	t.Helper()
	file, err := f.Open(name, mode)
	ok(t, err)
	t.Cleanup(func() { file.Close() })
	return file
}

func write(t *testing.T, file vfs.File, s string) {
	t.Helper()
	_, err := io.WriteString(file, s)
	ok(t, err)
}

func get(t *testing.T, f *faultfs.FS, name string) string {
	t.Helper()
	data, err := f.Get(name)
	ok(t, err)
	return string(data)
}

func TestLog(t *testing.T) {
	f := faultfs.New()
	ok(t, f.MkdirAll("a"))
	file := open(t, f, "/a/b.jsonl", vfs.Append)
	ok(t, file.Lock())
	write(t, file, "hello")
	write(t, file, "you")
	ok(t, file.Sync())
	ok(t, file.Truncate(5))
	_, err := file.Stat()
	ok(t, err)
	ok(t, file.Unlock())
	ok(t, file.Close())
	ok(t, f.Rename("a/b.jsonl", "a/c"))
	ok(t, f.SyncDir("a"))
	open(t, f, "a/c", vfs.Append)
	ok(t, vfs.WriteFile(f, "a/d", nil))
	want := strings.Fields(`mkdir_a open_a/b.jsonl_append_new lock_a/b.jsonl write_a/b.jsonl_5@0
		write_a/b.jsonl_3@5 sync_a/b.jsonl truncate_a/b.jsonl_5 stat_a/b.jsonl unlock_a/b.jsonl
		close_a/b.jsonl rename_a/b.jsonl_a/c syncdir_a open_a/c_append open_a/.d.tmp-*_create_new
		write_a/.d.tmp-*_0@0 sync_a/.d.tmp-* close_a/.d.tmp-* rename_a/.d.tmp-*_a/d syncdir_a`)
	got := f.Log()
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], " ", "_")
	}
	if !slices.Equal(got, want) {
		t.Errorf("log\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := f.Count(); n != len(want) {
		t.Errorf("count %d", n)
	}
	if got := f.Log(faultfs.Lock, faultfs.Unlock); !slices.Equal(got, []string{"lock a/b.jsonl", "unlock a/b.jsonl"}) {
		t.Errorf("locks: %q", got)
	}
	if n := f.Count(faultfs.Changing); n != 13 {
		t.Errorf("%d changing operations: %q", n, f.Log(faultfs.Changing))
	}
	f.ClearLog()
	if n := f.Count(); n != 0 {
		t.Errorf("%d after clearing", n)
	}
}

// TestEveryOperationFails checks that every operation can be made to fail once with a given
// error, and then has no effect.
func TestEveryOperationFails(t *testing.T) {
	p := make([]byte, 2)
	for name, do := range map[string]func(f *faultfs.FS, file vfs.File) error{
		"open":     func(f *faultfs.FS, _ vfs.File) error { _, err := f.Open("a/b", vfs.Append); return err },
		"create":   func(f *faultfs.FS, _ vfs.File) error { _, err := f.Open("a/c", vfs.Append); return err },
		"stat":     func(f *faultfs.FS, _ vfs.File) error { _, err := f.Stat("a/b"); return err },
		"readdir":  func(f *faultfs.FS, _ vfs.File) error { _, err := f.ReadDir("a"); return err },
		"mkdir":    func(f *faultfs.FS, _ vfs.File) error { return f.MkdirAll("x/y") },
		"rename":   func(f *faultfs.FS, _ vfs.File) error { return f.Rename("a/b", "a/x") },
		"remove":   func(f *faultfs.FS, _ vfs.File) error { return f.Remove("a/b") },
		"syncdir":  func(f *faultfs.FS, _ vfs.File) error { return f.SyncDir("a") },
		"syncfs":   func(f *faultfs.FS, _ vfs.File) error { return f.SyncFS("a") },
		"fstat":    func(_ *faultfs.FS, file vfs.File) error { _, err := file.Stat(); return err },
		"read":     func(_ *faultfs.FS, file vfs.File) error { _, err := file.Read(p); return err },
		"read at":  func(_ *faultfs.FS, file vfs.File) error { _, err := file.ReadAt(p, 0); return err },
		"write":    func(_ *faultfs.FS, file vfs.File) error { _, err := file.Write(p); return err },
		"write at": func(_ *faultfs.FS, file vfs.File) error { _, err := file.WriteAt(p, 0); return err },
		"truncate": func(_ *faultfs.FS, file vfs.File) error { return file.Truncate(0) },
		"sync":     func(_ *faultfs.FS, file vfs.File) error { return file.Sync() },
		"lock":     func(_ *faultfs.FS, file vfs.File) error { return file.Lock() },
		"trylock":  func(_ *faultfs.FS, file vfs.File) error { _, err := file.TryLock(); return err },
		"unlock":   func(_ *faultfs.FS, file vfs.File) error { return file.Unlock() },
		"close":    func(_ *faultfs.FS, file vfs.File) error { return file.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			f := faultfs.New()
			ok(t, f.Put("a/b", []byte("content")))
			file := open(t, f, "a/b", vfs.Update)
			before := f.String()
			f.FailNth(1, faultfs.Fault{Err: syscall.ENOSPC})
			if f.Waiting() != 1 {
				t.Error("the fault does not wait")
			}
			if err := do(f, file); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("got %v", err)
			}
			if f.Waiting() != 0 {
				t.Error("the fault was not met")
			}
			if after := f.String(); after != before {
				t.Errorf("before\n%safter\n%s", before, after)
			}
			if name == "close" {
				return // it is closed anyway
			}
			if err := do(f, file); err != nil {
				t.Errorf("the second time: %v", err)
			}
		})
	}
}

func TestFaultCounts(t *testing.T) {
	f := faultfs.New()
	file := open(t, f, "a", vfs.Append)
	f.FailNth(2, faultfs.Fault{Of: faultfs.Write, Short: 3})
	f.FailNth(1, faultfs.Fault{Of: faultfs.Truncate, After: true})
	write(t, file, "one.")
	ok(t, file.Sync())
	if n, err := file.Write([]byte("second")); n != 3 || !errors.Is(err, syscall.EIO) {
		t.Errorf("short write: %d, %v", n, err)
	}
	write(t, file, ".three")
	if got := get(t, f, "a"); got != "one.sec.three" {
		t.Errorf("content %q", got)
	}
	if err := file.Truncate(1); !errors.Is(err, syscall.EIO) {
		t.Errorf("truncate: %v", err)
	}
	if got := get(t, f, "a"); got != "o" {
		t.Errorf("a truncate whose result was lost left %q", got)
	}
	f.FailNth(1, faultfs.Fault{Of: faultfs.Read, Short: 1})
	p := make([]byte, 9)
	if n, err := file.ReadAt(p, 0); n != 1 || p[0] != 'o' || !errors.Is(err, syscall.EIO) {
		t.Errorf("short read: %d, %v", n, err)
	}
	f.FailNth(2, faultfs.Fault{Of: faultfs.Sync, Always: true})
	for i, want := range []error{nil, syscall.EIO, syscall.EIO} {
		if err := file.Sync(); !errors.Is(err, want) {
			t.Errorf("sync %d: %v", i, err)
		}
	}
	write(t, file, "other kinds still succeed")
}

func TestPowerOff(t *testing.T) {
	f := faultfs.New()
	file := open(t, f, "a", vfs.Append)
	f.PowerOff(2, faultfs.Write)
	write(t, file, "one")
	ok(t, file.Sync())
	for range 2 {
		if _, err := file.Write([]byte("two")); !errors.Is(err, faultfs.ErrPowerOff) {
			t.Error(err)
		}
		if err := f.Remove("a"); !errors.Is(err, faultfs.ErrPowerOff) {
			t.Error(err)
		}
		if err := file.Sync(); !errors.Is(err, faultfs.ErrPowerOff) {
			t.Error(err)
		}
	}
	if got := get(t, f, "a"); got != "one" {
		t.Errorf("content %q", got)
	}
}

func TestLimit(t *testing.T) {
	f := faultfs.New()
	ok(t, f.Put("old", make([]byte, 100)))
	f.Limit(110)
	file := open(t, f, "a", vfs.Append)
	write(t, file, "12345678")
	if n, err := file.Write([]byte("90123")); n != 2 || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("write past the limit: %d, %v", n, err)
	}
	if n, err := file.Write([]byte("x")); n != 0 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("write at the limit: %d, %v", n, err)
	}
	if err := file.Truncate(50); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("growing at the limit: %v", err)
	}
	ok(t, file.Truncate(8))
	write(t, file, "90")
	if n, err := open(t, f, "a", vfs.Update).WriteAt([]byte("ABC"), 0); n != 3 || err != nil {
		t.Errorf("overwriting at the limit: %d, %v", n, err)
	}
	old := open(t, f, "old", vfs.Read)
	ok(t, f.Remove("old"))
	if _, err := file.Write([]byte("x")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("an open file uses no space once it is removed: %v", err)
	}
	ok(t, old.Close())
	write(t, file, "x")
	f.Limit(-1)
	write(t, file, strings.Repeat("x", 1000))
}

// TestHook checks that a hook is called before every operation and may act in between.
func TestHook(t *testing.T) {
	f := faultfs.New()
	file := open(t, f, "a", vfs.Append)
	f.Hook(func(kind faultfs.Kind, line string) {
		if line == "write a 2@0" {
			ok(t, f.Put("a", []byte("first. ")))
		}
	})
	write(t, file, "me")
	f.Hook(nil)
	write(t, file, "!")
	if got := get(t, f, "a"); got != "first. me!" {
		t.Errorf("content %q", got)
	}
}
