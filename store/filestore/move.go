package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// movingName is the lock file held while sessions of the home are moved or erased. It is
// never deleted.
const movingName = ".moving.lock"

// withMoveLock runs do, which moves or erases sessions, exclusively in this and all other
// processes.
func (st *mover) withMoveLock(ctx context.Context, do func() error) (err error) {
	st.moving.Lock()
	defer st.moving.Unlock()
	if err := ctx.Err(); err != nil { // waiting may have taken long
		return err
	}
	lock, err := st.lockFile(filepath.Join(st.home, movingName), vfs.Update)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	return do()
}

// lockFile opens a file and waits for its lock. If the file was moved or removed meanwhile,
// its lock is useless, and lockFile tries again with the file now at path.
func (st *mover) lockFile(path string, mode vfs.Mode) (vfs.File, error) {
	for {
		file, err := st.fs.Open(path, mode)
		if err != nil {
			return nil, err
		}
		err = file.Lock()
		if err == nil {
			var there bool
			if there, err = st.isAt(path, file); there {
				return file, nil
			}
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
	}
}

// isAt reports whether an open file is the one at path.
func (st *mover) isAt(path string, file vfs.File) (bool, error) {
	there, err := st.fs.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	held, err := file.Stat()
	return err == nil && held.Same(there), err
}

// checkDestinations returns an error if moving the files would replace others.
func (st *mover) checkDestinations(from, to string, names []string) error {
	for _, name := range names {
		old, err := st.fs.Stat(filepath.Join(from, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := st.checkDestination(filepath.Join(to, name), old); err != nil {
			return err
		}
	}
	return nil
}

// checkDestination reports whether the file is already at path. It returns ErrConflict if
// another file is there, unless that is empty, as left by a failed append.
func (st *mover) checkDestination(path string, file vfs.Info) (same bool, err error) {
	there, err := st.fs.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case there.Same(file):
		return true, nil
	case there.Mode.IsRegular() && there.Size == 0:
		return false, nil
	}
	return false, fmt.Errorf("%w: %s is in the way", firn.ErrConflict, path)
}

// move renames the files that are still in from to to, durably.
func (st *mover) move(from, to string, names []string) error {
	for _, name := range names {
		if err := st.moveFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return errors.Join(vfs.SyncNames(st.fs, to), vfs.SyncNames(st.fs, from))
}

// moveFile renames a file, unless that was already done. After a power failure it may have
// both names. It never replaces another file.
func (st *mover) moveFile(from, to string) error {
	old, err := st.fs.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	same, err := st.checkDestination(to, old)
	if err != nil {
		return err
	}
	if same {
		return st.fs.Remove(from)
	}
	return st.fs.Rename(from, to)
}
