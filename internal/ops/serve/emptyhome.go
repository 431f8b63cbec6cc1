package serve

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/door/api"
	"firn.dev/internal/find/rowcache"
)

// emptyHome is a home that had no sessions when a command opened it. A command that is
// refused leaves it as it was: without the directories of locks and indexes.
type emptyHome struct {
	fs   vfs.FS
	home string
	// missing is set if the directory did not exist.
	missing bool
	names   []string
}

// settingsFile is the file that an empty home may have.
const settingsFile = "firn.toml"

// movingLock is the lock file of a store while it moves or purges a session.
const movingLock = ".moving.lock"

// homeParts are the directories that opening a home creates, with the files in them.
var homeParts = map[string][]string{"gateway": {"guests", "lock"}, "index": {rowcache.CatalogueName, "lock"}}

// findEmptyHome returns a home that has nothing but settings; nil if it has more.
func findEmptyHome(fsys vfs.FS, home string) *emptyHome {
	names, err := namesIn(fsys, home)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || slices.ContainsFunc(names, func(name string) bool { return name != settingsFile }) {
		return nil
	}
	return &emptyHome{fs: fsys, home: home, missing: err != nil, names: names}
}

func namesIn(fsys vfs.FS, dir string) ([]string, error) {
	entries, err := fsys.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// clean removes the directories again, if nothing was added to them or to the home, and if
// no other process uses the home. An error leaves them, which does no harm.
func (e *emptyHome) clean() {
	if e == nil || !e.unused() {
		return
	}
	hold, err := api.LockHome(e.fs, e.home, "command")
	if err != nil {
		return
	}
	defer hold.Release()
	// Removing the directory of guests fails if there is one. A guest that arrives now
	// creates it again.
	guests := filepath.Join(e.home, filepath.FromSlash(guestsDir))
	if !e.unused() || e.fs.Remove(guests) != nil {
		return
	}
	for _, path := range []string{movingLock, "index/" + rowcache.CatalogueName, "index/lock", "index", "gateway/lock", "gateway"} {
		_ = e.fs.Remove(filepath.Join(e.home, filepath.FromSlash(path)))
	}
	if e.missing {
		_ = e.fs.Remove(e.home)
	}
}

// unused reports whether the home has only what opening it creates: locks, and a catalog
// without sessions.
func (e *emptyHome) unused() bool {
	names, err := namesIn(e.fs, e.home)
	if err != nil {
		return false
	}
	for _, name := range names {
		files, part := homeParts[name]
		if !part && name != movingLock && !slices.Contains(e.names, name) {
			return false
		}
		if !part {
			continue
		}
		there, err := namesIn(e.fs, filepath.Join(e.home, name))
		if err != nil || slices.ContainsFunc(there, func(file string) bool { return !slices.Contains(files, file) }) {
			return false
		}
	}
	return true
}

// closeStore closes the store and ends the work on the home.
func (h *Instance) closeStore() error {
	var errs []error
	if h.store != nil {
		errs = append(errs, h.store.Close())
	}
	if h.guest != nil {
		errs = append(errs, h.guest.leave())
		h.emptyHome.clean()
	}
	return errors.Join(errs...)
}
