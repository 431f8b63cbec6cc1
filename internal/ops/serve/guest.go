package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/door/api"
	"firn.dev/wire"
)

// A gateway has exclusive use of its home, but several commands may work on a home without
// a gateway: the store separates their appends, and each command answers only its own
// requests. Such a command is a guest. A gateway does not start on a home that has guests,
// since it would answer requests that the guests are already answering.
//
// A guest creates its lock before it checks for a gateway; a gateway locks the home before
// it checks for guests. So neither can miss the other.

// guestsDir is the directory of the guests' lock files, relative to the home.
const guestsDir = "gateway/guests"

// guest is a command that works on a home without a gateway.
type guest struct {
	fs   vfs.FS
	path string
	file vfs.File
}

// guestTries limits how often a guest creates its directory.
const guestTries = 8

// newGuest registers this process as a guest of a home. The error is [firn.ErrLocked] if a
// gateway serves it.
func newGuest(fsys vfs.FS, home string) (*guest, error) {
	dir := filepath.Join(home, filepath.FromSlash(guestsDir))
	g := &guest{fs: fsys, path: filepath.Join(dir, fmt.Sprintf("%d-%s", os.Getpid(), firn.NewEntryID()))}
	var f vfs.File
	err := error(fs.ErrNotExist)
	for try := 0; try < guestTries && errors.Is(err, fs.ErrNotExist); try++ { // emptyHome.clean may remove the directory
		if err = fsys.MkdirAll(dir); err == nil {
			f, err = fsys.Open(g.path, vfs.Create)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open home %s: %w", home, err)
	}
	g.file = f
	err = f.Lock()
	if err == nil {
		err = checkUnserved(fsys, home)
	}
	if err != nil {
		return nil, errors.Join(err, g.leave())
	}
	return g, nil
}

// checkUnserved checks that no gateway holds the home by locking it briefly. Another guest
// may be doing the same, so it retries for a while.
func checkUnserved(fsys vfs.FS, home string) error {
	hold, err := takeHold(fsys, home, "command")
	if err != nil {
		return err
	}
	return hold.Release()
}

// holdWait is the maximum time that a process holds a home for such a check. On a busy
// machine it may take a second.
const holdWait = 2 * time.Second

// takeHold locks a home, retrying for holdWait.
func takeHold(fsys vfs.FS, home, what string) (*api.HomeLock, error) {
	deadline := time.Now().Add(holdWait)
	for {
		hold, err := api.LockHome(fsys, home, what)
		gone := errors.Is(err, fs.ErrNotExist) // emptyHome.clean removed it just now
		if err == nil || !gone && !errors.Is(err, firn.ErrLocked) || time.Now().After(deadline) {
			return hold, err
		}
		time.Sleep(holdWait / 50)
	}
}

// leave removes the guest's lock file.
func (g *guest) leave() error {
	err := g.fs.Remove(g.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, g.file.Close()) // releases the lock
}

// checkNoGuests fails if commands are working on the home. It removes the lock files of
// killed guests.
func checkNoGuests(fsys vfs.FS, home string) error {
	dir := filepath.Join(home, filepath.FromSlash(guestsDir))
	names, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find commands that use the home %s: %w", home, err)
	}
	var there []string
	for _, d := range names {
		if guestAlive(fsys, filepath.Join(dir, d.Name())) {
			pid, _, _ := strings.Cut(d.Name(), "-")
			there = append(there, pid)
		}
	}
	if len(there) == 0 {
		return nil
	}
	return &wire.Problem{
		Kind: wire.Locked, Message: fmt.Sprintf("the home %s is in use by a firn without a gateway (process %s)", home, strings.Join(there, ", ")),
		Hint: "end the running chats and commands, then start the gateway",
	}
}

// guestAlive reports whether a guest is still running. If not, it removes its lock file.
func guestAlive(fsys vfs.FS, path string) bool {
	f, err := fsys.Open(path, vfs.Change)
	if err != nil {
		return false // it has just left
	}
	defer f.Close()
	if got, err := f.TryLock(); err != nil || !got {
		return true
	}
	_ = fsys.Remove(path) // otherwise removed next time
	return false
}
