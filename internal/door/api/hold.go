package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"firn.dev/internal/disk/vfs"
	"firn.dev/wire"
)

// HomeLock is an exclusive lock of one process on a home. While it is held, no other gateway
// can serve that home. It consists of two kernel locks, which end with the process: one on
// the file gateway/lock, which names the holder, and, where the system supports it, one on
// the home directory itself. A second gateway is therefore refused even after the file was
// deleted.
type HomeLock struct {
	fs         vfs.FS
	home, what string
	// dir is the lock on the home directory. It is nil where unsupported.
	dir io.Closer

	mu   sync.Mutex
	file vfs.File
}

// holder is the content of the lock file.
type holder struct {
	PID   int       `json:"pid"`
	What  string    `json:"what"`
	Since time.Time `json:"since"`
}

const lockName = "lock"

// dirLocker is a file system that can lock a directory.
type dirLocker interface {
	LockDir(path string) (lock io.Closer, taken bool, err error)
}

// LockHome locks a home. what describes the holder. If another process holds the lock, the
// error is ErrLocked and names that process.
func LockHome(fsys vfs.FS, home, what string) (*HomeLock, error) {
	failed := func(err error) (*HomeLock, error) { return nil, fmt.Errorf("lock home %s: %w", home, err) }
	if err := fsys.MkdirAll(filepath.Join(home, gatewayDir)); err != nil {
		return failed(err)
	}
	h := &HomeLock{fs: fsys, home: home, what: what}
	if l, ok := fsys.(dirLocker); ok {
		dir, taken, err := l.LockDir(home)
		if err != nil {
			return failed(err)
		}
		if !taken {
			return nil, heldBy(fsys, home)
		}
		h.dir = dir
	}
	taken, err := h.lockFile()
	if err == nil && taken {
		return h, nil
	}
	if h.dir != nil {
		h.dir.Close()
	}
	if err != nil {
		return failed(err)
	}
	return nil, heldBy(fsys, home)
}

// lockFile creates the lock file if necessary, locks it and writes the holder into it. It
// reports whether the lock was taken.
func (h *HomeLock) lockFile() (bool, error) {
	f, err := h.fs.Open(h.lockPath(), vfs.Update)
	if err != nil {
		return false, err
	}
	taken, err := f.TryLock()
	if err != nil || !taken {
		f.Close()
		return false, err
	}
	// The content is informational. On a full disk the sessions must still be readable.
	_ = writeHolder(f, holder{PID: os.Getpid(), What: h.what, Since: time.Now().UTC().Truncate(time.Second)})
	h.file = f
	return true, nil
}

func (h *HomeLock) lockPath() string { return filepath.Join(h.home, gatewayDir, lockName) }

// Check verifies that the lock file is still the one that was locked. If it was deleted or
// replaced, it is created and locked again and restored is true. The error is ErrLocked if
// another process has locked the new file: the home is then no longer exclusively ours.
func (h *HomeLock) Check() (restored bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ours, err := h.file.Stat()
	if err != nil {
		return false, fmt.Errorf("check lock of home %s: %w", h.home, err)
	}
	there, err := h.fs.Stat(h.lockPath())
	if err == nil && there.Same(ours) {
		return false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("check lock of home %s: %w", h.home, err)
	}
	if err := h.fs.MkdirAll(filepath.Dir(h.lockPath())); err != nil {
		return false, fmt.Errorf("restore lock of home %s: %w", h.home, err)
	}
	old := h.file
	taken, err := h.lockFile()
	switch {
	case err != nil:
		return false, fmt.Errorf("restore lock of home %s: %w", h.home, err)
	case !taken:
		return false, heldBy(h.fs, h.home)
	}
	old.Close()
	return true, nil
}

// Release releases the lock.
func (h *HomeLock) Release() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.file.Truncate(0)
	err = errors.Join(err, h.file.Close()) // releases the lock
	if h.dir != nil {
		err = errors.Join(err, h.dir.Close())
	}
	if err != nil {
		return fmt.Errorf("unlock home: %w", err)
	}
	return nil
}

// writeHolder writes the holder to the lock file.
func writeHolder(f vfs.File, h holder) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(data, '\n'), 0)
	return err
}

// heldBy returns an ErrLocked error that names the holder in the lock file.
func heldBy(fsys vfs.FS, home string) error {
	who := "another process"
	var h holder
	if f, err := fsys.Open(filepath.Join(home, gatewayDir, lockName), vfs.Read); err == nil {
		defer f.Close()
		var b [512]byte
		n, _ := f.ReadAt(b[:], 0) // may be empty if the lock was only just taken
		_ = json.Unmarshal(b[:n], &h)
	}
	if h.PID > 0 {
		who = fmt.Sprintf("a %s (process %d, since %s)", h.What, h.PID, h.Since.Local().Format("2 January 15:04:05"))
	}
	return &wire.Problem{
		Kind: wire.Locked, Message: fmt.Sprintf("the home %s is in use by %s", home, who),
		Hint: "use that one, or stop it with firn stop",
	}
}
