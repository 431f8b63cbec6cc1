//go:build linux

package fusefs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"firn.dev/internal/disk/vfs/faultfs"

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
	// life counts the crashes. Files opened before a crash are different from files with
	// the same name after it.
	life uint64
}

// New mounts an empty file system on a directory.
func New(dir string) (*Mount, error) {
	m := &Mount{dir: dir, disk: faultfs.New()}
	never := time.Duration(0)
	server, err := fs.Mount(dir, &node{mount: m}, &fs.Options{
		// Disable kernel caching: a crash may invalidate anything it has cached.
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

// Start mounts an empty file system for the duration of a test. The test fails, rather than
// being skipped, if mounting fails.
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

// Dir returns the mount point.
func (m *Mount) Dir() string { return m.dir }

// Disk returns the mounted file system, for inspecting it, injecting faults and limiting
// its size. Its root is Dir. A crash replaces it.
func (m *Mount) Disk() *faultfs.FS {
	disk, _ := m.now()
	return disk
}

func (m *Mount) now() (*faultfs.FS, uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.disk, m.life
}

// Crash simulates a power cut and restart: only durable data remains. Every use of a file
// that is still open fails with EIO. Kill processes that should die with the power before
// calling it.
func (m *Mount) Crash() { m.crash((*faultfs.FS).Crash) }

// CrashRandom is like Crash, but data that was not durable may survive at random.
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

// Close unmounts the file system even if files in it are still open, in which case it
// returns an error.
func (m *Mount) Close() error {
	err := m.server.Unmount()
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("unmount the test file system: %w", err), unix.Unmount(m.dir, unix.MNT_DETACH))
}
