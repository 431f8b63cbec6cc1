//go:build linux

package fusefs_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/disk/vfs/fusefs"
	"firn.dev/internal/disk/vfs/vfstest"
)

// TestConformance checks that the mounted file system satisfies the contract of vfs.
func TestConformance(t *testing.T) {
	vfstest.Run(t, func(t *testing.T) (vfs.FS, string) { return vfs.OS{}, fusefs.Start(t).Dir() })
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes a file as a program would. If sync is set, it syncs the file and its name.
func put(t *testing.T, path, content string, sync bool) {
	t.Helper()
	f, err := vfs.OS{}.Open(path, vfs.Append)
	ok(t, err)
	_, err = f.Write([]byte(content))
	ok(t, err)
	if sync {
		ok(t, f.Sync())
		ok(t, vfs.OS{}.SyncDir(filepath.Dir(path)))
	}
	ok(t, f.Close())
}

func TestCrash(t *testing.T) {
	m := fusefs.Start(t)
	dir := filepath.Join(m.Dir(), "home")
	ok(t, vfs.OS{}.MkdirAll(dir))
	a, b, c := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	whole := strings.Repeat("whole line\n", 1000)
	put(t, a, whole, true)
	put(t, a, "not synced\n", false)
	put(t, b, "durable in name only", false)
	ok(t, vfs.OS{}.SyncDir(dir))
	put(t, c, "not even that", false)
	if got, err := os.ReadFile(a); err != nil || string(got) != whole+"not synced\n" {
		t.Errorf("before the crash a has %d bytes, %v", len(got), err)
	}
	held, err := vfs.OS{}.Open(a, vfs.Append)
	ok(t, err)
	defer held.Close()
	ok(t, held.Lock())

	m.Crash()
	if got, err := os.ReadFile(a); err != nil || string(got) != whole {
		t.Errorf("a has %d bytes, %v", len(got), err)
	}
	if got, err := os.ReadFile(b); err != nil || len(got) != 0 {
		t.Errorf("b is %q, %v", got, err)
	}
	if _, err := os.Stat(c); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("c: %v", err)
	}
	if _, err := held.Write([]byte("from the dead")); !errors.Is(err, syscall.EIO) {
		t.Errorf("a write through a file opened before the crash: %v", err)
	}
	again, err := vfs.OS{}.Open(a, vfs.Append)
	ok(t, err)
	defer again.Close()
	if taken, err := again.TryLock(); !taken || err != nil {
		t.Errorf("the lock outlived the crash: %v, %v", taken, err)
	}
	put(t, a, "and on\n", true)
	m.Crash()
	if got, err := os.ReadFile(a); err != nil || string(got) != whole+"and on\n" {
		t.Errorf("after the second crash a has %d bytes, %v", len(got), err)
	}
}

func TestCrashRandom(t *testing.T) {
	m := fusefs.Start(t)
	path := filepath.Join(m.Dir(), "a")
	put(t, path, "sure.", true)
	seen := map[string]bool{}
	chance := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		put(t, path, "maybe.", false)
		m.CrashRandom(chance)
		got, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(got), "sure.") {
			t.Fatalf("%q, %v", got, err)
		}
		seen[string(got)] = true
		ok(t, os.Truncate(path, 5))
		ok(t, m.Disk().SyncFS("."))
	}
	if !seen["sure."] || !seen["sure.maybe."] {
		t.Errorf("seen only %v", seen)
	}
}

// TestSyncFSIsUnsupported checks that SyncFS is reported as unsupported: the kernel does
// not forward syncfs.
func TestSyncFSIsUnsupported(t *testing.T) {
	if err := (vfs.OS{}).SyncFS(fusefs.Start(t).Dir()); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}

// TestPrograms checks that other programs can use the file system.
func TestPrograms(t *testing.T) {
	m := fusefs.Start(t)
	script := `cd "$0" && mkdir d && cd d && echo one > a && echo two >> a && cp a b && mv b c && rm a &&
		dd if=/dev/zero of=big bs=3M count=1 2>/dev/null && truncate -s 10 big && cat c && wc -c < big && ls && sync big .`
	out, err := exec.Command("sh", "-c", script, m.Dir()).CombinedOutput()
	if err != nil || string(out) != "one\ntwo\n10\nbig\nc\n" {
		t.Fatalf("%v: %s", err, out)
	}
	m.Crash() // the names in d are durable, d itself is not
	if entries, err := os.ReadDir(m.Dir()); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestFaults checks that faults of the disk are returned to programs as system errors.
func TestFaults(t *testing.T) {
	m := fusefs.Start(t)
	f, err := vfs.OS{}.Open(filepath.Join(m.Dir(), "a"), vfs.Append)
	ok(t, err)
	defer f.Close()
	m.Disk().Limit(5)
	if n, err := f.Write([]byte("1234567")); n != 5 || err == nil {
		t.Errorf("a short write: %d, %v", n, err)
	}
	if n, err := f.Write([]byte("67")); n != 0 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a full disk: %d, %v", n, err)
	}
	m.Disk().FailNth(1, faultfs.Fault{Of: faultfs.Sync})
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("a failed sync: %v", err)
	}
	ok(t, f.Sync())
}
