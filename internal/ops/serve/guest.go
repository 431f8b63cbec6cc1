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

// A gateway owns its home alone, but several commands may work on one without a
// gateway: the store keeps what they append apart, and each answers only what
// it was asked itself. So each of them is a guest, and a gateway waits for no
// guests and takes no home that has any: it would answer what they are just
// answering.
//
// A guest shows itself before it asks whether there is a gateway; a gateway
// takes hold of the home before it asks whether there are guests. So they
// cannot miss each other.

// guestsDir is where guests have their locks, below the home.
const guestsDir = "gateway/guests"

// guest is a command that works on a home without a gateway.
type guest struct {
	fs   vfs.FS
	path string
	file vfs.File
}

// newGuest shows that we work on a home. If a gateway serves it the error is
// [firn.ErrLocked].
func newGuest(fsys vfs.FS, home string) (*guest, error) {
	dir := filepath.Join(home, filepath.FromSlash(guestsDir))
	if err := fsys.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("work on the home %s: %w", home, err)
	}
	g := &guest{fs: fsys, path: filepath.Join(dir, fmt.Sprintf("%d-%s", os.Getpid(), firn.NewEntryID()))}
	f, err := fsys.Open(g.path, vfs.Create)
	if err != nil {
		return nil, fmt.Errorf("work on the home %s: %w", home, err)
	}
	g.file = f
	err = f.Lock()
	if err == nil {
		err = free(fsys, home)
	}
	if err != nil {
		return nil, errors.Join(err, g.leave())
	}
	return g, nil
}

// free asks whether a gateway has the home, by taking hold of it for a moment.
// Another guest may do the same just now, so it asks again for a while.
func free(fsys vfs.FS, home string) error {
	hold, err := takeHold(fsys, home, "command")
	if err != nil {
		return err
	}
	return hold.Release()
}

// moment is the longest time that a process holds a home to check whether it is free:
// on a busy machine or disk it may be held up for a second.
const moment = 2 * time.Second

// takeHold takes hold of a home, if need be after a moment.
func takeHold(fsys vfs.FS, home, what string) (*api.Hold, error) {
	deadline := time.Now().Add(moment)
	for {
		hold, err := api.TakeHold(fsys, home, what)
		if err == nil || !errors.Is(err, firn.ErrLocked) || time.Now().After(deadline) {
			return hold, err
		}
		time.Sleep(moment / 50)
	}
}

// leave ends our stay.
func (g *guest) leave() error {
	err := g.fs.Remove(g.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, g.file.Close()) // which frees the lock
}

// noGuests refuses a home that commands work on. What those left behind who
// were killed is cleared away.
func noGuests(fsys vfs.FS, home string) error {
	dir := filepath.Join(home, filepath.FromSlash(guestsDir))
	names, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for commands that work on the home %s: %w", home, err)
	}
	var there []string
	for _, d := range names {
		if stays(fsys, filepath.Join(dir, d.Name())) {
			pid, _, _ := strings.Cut(d.Name(), "-")
			there = append(there, pid)
		}
	}
	if len(there) == 0 {
		return nil
	}
	return &wire.Problem{
		Kind: wire.Locked, Message: fmt.Sprintf("the home %s is in use: firn works on it without a gateway (process %s)", home, strings.Join(there, ", ")),
		Hint: "end the chats and commands that run, then start the gateway",
	}
}

// stays reports whether a guest is still there; else it takes away what is left
// of it.
func stays(fsys vfs.FS, path string) bool {
	f, err := fsys.Open(path, vfs.Change)
	if err != nil {
		return false // it has just left
	}
	defer f.Close()
	if got, err := f.TryLock(); err != nil || !got {
		return true
	}
	_ = fsys.Remove(path) // the next one clears it away
	return false
}
