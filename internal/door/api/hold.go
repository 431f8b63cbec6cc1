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

// Hold is the hold of one process on a home: while it has it, no other gateway
// serves that home. It is two locks of the kernel, which end with the process:
// one on the file gateway/lock, which names the holder, and, where the system
// can, one on the home directory itself. So a second gateway is refused also
// after the file was deleted.
type Hold struct {
	fs         vfs.FS
	home, what string
	// dir is the lock on the home; nil where there is none.
	dir io.Closer

	mu   sync.Mutex
	file vfs.File
}

// holder is what the lock file says of who has it.
type holder struct {
	PID   int       `json:"pid"`
	What  string    `json:"what"`
	Since time.Time `json:"since"`
}

const lockName = "lock"

// dirLocker is a file system that can lock a directory itself.
type dirLocker interface {
	LockDir(path string) (lock io.Closer, taken bool, err error)
}

// TakeHold takes hold of a home, for what is named. If another process has it,
// the error is ErrLocked and says which.
func TakeHold(fsys vfs.FS, home, what string) (*Hold, error) {
	failed := func(err error) (*Hold, error) { return nil, fmt.Errorf("take hold of the home %s: %w", home, err) }
	if err := fsys.MkdirAll(filepath.Join(home, gatewayDir)); err != nil {
		return failed(err)
	}
	h := &Hold{fs: fsys, home: home, what: what}
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

// lockFile makes the lock file, unless it is there, locks it and writes into it
// who has it. It reports whether the lock was taken.
func (h *Hold) lockFile() (bool, error) {
	f, err := h.fs.Open(h.lockPath(), vfs.Update)
	if err != nil {
		return false, err
	}
	taken, err := f.TryLock()
	if err != nil || !taken {
		f.Close()
		return false, err
	}
	// The name is a courtesy. A disk that has no room for it still has sessions
	// to be read.
	_ = sign(f, holder{PID: os.Getpid(), What: h.what, Since: time.Now().UTC().Truncate(time.Second)})
	h.file = f
	return true, nil
}

func (h *Hold) lockPath() string { return filepath.Join(h.home, gatewayDir, lockName) }

// Check sees to it that the lock file is still the one that was locked. One that
// was deleted or replaced is made and locked again: restored is true then. If
// that cannot be, because another process has locked the new file, the error is
// ErrLocked: the home is not ours alone any more.
func (h *Hold) Check() (restored bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ours, err := h.file.Stat()
	if err != nil {
		return false, fmt.Errorf("check the lock of the home %s: %w", h.home, err)
	}
	there, err := h.fs.Stat(h.lockPath())
	if err == nil && there.Same(ours) {
		return false, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("check the lock of the home %s: %w", h.home, err)
	}
	if err := h.fs.MkdirAll(filepath.Dir(h.lockPath())); err != nil {
		return false, fmt.Errorf("restore the lock of the home %s: %w", h.home, err)
	}
	old := h.file
	taken, err := h.lockFile()
	switch {
	case err != nil:
		return false, fmt.Errorf("restore the lock of the home %s: %w", h.home, err)
	case !taken:
		return false, heldBy(h.fs, h.home)
	}
	old.Close()
	return true, nil
}

// Release lets go.
func (h *Hold) Release() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.file.Truncate(0)
	err = errors.Join(err, h.file.Close()) // which frees the lock
	if h.dir != nil {
		err = errors.Join(err, h.dir.Close())
	}
	if err != nil {
		return fmt.Errorf("let go of the home: %w", err)
	}
	return nil
}

// sign writes down who has the lock.
func sign(f vfs.File, h holder) error {
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

// heldBy says who has the home, as far as the lock file does.
func heldBy(fsys vfs.FS, home string) error {
	who := "another process"
	var h holder
	if f, err := fsys.Open(filepath.Join(home, gatewayDir, lockName), vfs.Read); err == nil {
		defer f.Close()
		var b [512]byte
		n, _ := f.ReadAt(b[:], 0) // it may just have been taken, and be empty yet
		_ = json.Unmarshal(b[:n], &h)
	}
	if h.PID > 0 {
		who = fmt.Sprintf("a %s with the process id %d, since %s,", h.What, h.PID, h.Since.Local().Format("2 January 15:04:05"))
	}
	return &wire.Problem{
		Kind: wire.Locked, Message: fmt.Sprintf("the home %s is in use: %s has it", home, who),
		Hint: "talk to that one, or stop it first: firn stop",
	}
}
