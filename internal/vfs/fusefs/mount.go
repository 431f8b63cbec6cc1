//go:build linux

package fusefs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"firn/internal/vfs/faultfs"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Mount is a mounted file system.
type Mount struct {
	dir    string
	server *fuse.Server

	mu   sync.Mutex
	disk *faultfs.FS
	// life counts the crashes: what was open in an earlier life is not the
	// same file as one in this.
	life uint64
}

// New mounts an empty file system on a directory.
func New(dir string) (*Mount, error) {
	m := &Mount{dir: dir, disk: faultfs.New()}
	never := time.Duration(0)
	server, err := fs.Mount(dir, &node{mount: m}, &fs.Options{
		// The kernel is to ask every time: what it knew may be gone in a crash.
		EntryTimeout: &never, AttrTimeout: &never, NegativeTimeout: &never,
		MountOptions: fuse.MountOptions{
			DirectMount: true, FsName: "firn-test", Name: "firn-test", MaxWrite: 1 << 20,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("mount a test file system on %s: %w", dir, err)
	}
	m.server = server
	return m, nil
}

// Start mounts an empty file system for the time of a test. If it cannot be
// mounted the test fails: a promise about crashes that is not tested is none.
func Start(t testing.TB) *Mount {
	t.Helper()
	m, err := New(t.TempDir())
	if err != nil {
		t.Fatalf("%v (this test needs /dev/fuse and the right to mount)", err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// Dir is where the file system is mounted.
func (m *Mount) Dir() string { return m.dir }

// Disk is what is mounted now, to look at, to make it fail or full. Its root is
// Dir. After a crash it is another one.
func (m *Mount) Disk() *faultfs.FS {
	disk, _ := m.now()
	return disk
}

func (m *Mount) now() (*faultfs.FS, uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.disk, m.life
}

// Crash takes the power away and switches it on again: what was made durable is
// there, nothing else is. Files that are open are dead: every use of them is
// EIO. Programs that should die with the power are to be killed before.
func (m *Mount) Crash() { m.crash((*faultfs.FS).Crash) }

// CrashRandom is Crash, but what was not made durable may be there by chance.
func (m *Mount) CrashRandom(chance *rand.Rand) {
	m.crash(func(f *faultfs.FS) *faultfs.FS { return f.CrashRandom(chance) })
}

func (m *Mount) crash(left func(*faultfs.FS) *faultfs.FS) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.disk.PowerOff(1, faultfs.Any)
	m.disk = left(m.disk)
	m.life++
}

// Close unmounts the file system, also if some file in it is still open, which
// is an error.
func (m *Mount) Close() error {
	err := m.server.Unmount()
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("unmount the test file system: %w", err), unix.Unmount(m.dir, unix.MNT_DETACH))
}
