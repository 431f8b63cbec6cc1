//go:build !windows

package vfs_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"firn.dev/internal/disk/vfs"

	"golang.org/x/sys/unix"
)

func TestUmask(t *testing.T) {
	for _, mask := range []int{0o022, 0, 0o277, 0o777} {
		t.Run(fmt.Sprintf("%03o", mask), func(t *testing.T) {
			root := t.TempDir()
			defer unix.Umask(unix.Umask(mask))
			dir := filepath.Join(root, "a", "b")
			if err := (vfs.OS{}).MkdirAll(dir); err != nil {
				t.Fatal(err)
			}
			wantMode(t, dir, fs.ModeDir|0o700)
			wantMode(t, filepath.Dir(dir), fs.ModeDir|0o700)
			for name, mode := range map[string]vfs.Mode{"a": vfs.Append, "c": vfs.Create, "u": vfs.Update} {
				f, err := vfs.OS{}.Open(filepath.Join(dir, name), mode)
				if err != nil {
					t.Fatal(err)
				}
				f.Close()
				wantMode(t, filepath.Join(dir, name), 0o600)
			}
		})
	}
}

// TestModesOfOtherProgramsAreKept checks that files created by other programs keep their
// permissions.
func TestModesOfOtherProgramsAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shared")
	file := filepath.Join(dir, "a")
	defer unix.Umask(unix.Umask(0))
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(file, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := (vfs.OS{}).MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []vfs.Mode{vfs.Append, vfs.Update} {
		f, err := vfs.OS{}.Open(file, mode)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	wantMode(t, dir, fs.ModeDir|0o755)
	wantMode(t, file, 0o644)
}

func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != want {
		t.Errorf("%s: mode %v, want %v", filepath.Base(path), info.Mode(), want)
	}
}

func TestSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	pipe, dangling, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "dangling"), filepath.Join(dir, "link")
	err := errors.Join(unix.Mkfifo(pipe, 0o600), os.Symlink("nowhere", dangling),
		os.Symlink("file", link), os.WriteFile(filepath.Join(dir, "file"), []byte("abc"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	// A pipe without a writer must not block.
	for _, mode := range []vfs.Mode{vfs.Read, vfs.Append} {
		if _, err := (vfs.OS{}).Open(pipe, mode); !errors.Is(err, unix.EINVAL) {
			t.Errorf("pipe with mode %d: %v", mode, err)
		}
	}
	if _, err := (vfs.OS{}).Open(dangling, vfs.Append); !errors.Is(err, fs.ErrExist) {
		t.Errorf("link to nothing: %v", err)
	}
	f, err := vfs.OS{}.Open(link, vfs.Append)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := (vfs.OS{}).Stat(link); err != nil || info.Size != 3 || !info.Mode.IsRegular() {
		t.Errorf("link: %+v, %v", info, err)
	}
	if info, err := (vfs.OS{}).Stat(pipe); err != nil || info.Mode.Type() != fs.ModeNamedPipe {
		t.Errorf("pipe: %+v, %v", info, err)
	}
}

// TestShortWrite checks that a short write is reported once, with the number of bytes
// written.
func TestShortWrite(t *testing.T) {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	f, err := vfs.OS{}.Open(filepath.Join(t.TempDir(), "a"), vfs.Append)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	limit := old
	limit.Cur = 1000
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_FSIZE, &old)
	if n, err := f.Write(make([]byte, 1500)); n != 1000 || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("first write: %d, %v", n, err)
	}
	if n, err := f.Write(make([]byte, 10)); n != 0 || !errors.Is(err, unix.EFBIG) {
		t.Errorf("second write: %d, %v", n, err)
	}
	if info, err := f.Stat(); err != nil || info.Size != 1000 {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestAllocations checks that the calls of every append do not allocate.
func TestAllocations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	f, err := vfs.OS{}.Open(path, vfs.Append)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := []byte("line\n")
	for name, c := range map[string]struct {
		most float64
		do   func()
	}{
		"write": {0, func() { f.Write(line) }},
		"fstat": {0, func() { f.Stat() }},
		"stat":  {1, func() { vfs.OS{}.Stat(path) }}, // the path as a C string
		"lock":  {0, func() { f.Lock(); f.Unlock() }},
	} {
		if got := testing.AllocsPerRun(100, c.do); got > c.most {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}
