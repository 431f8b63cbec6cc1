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

// movingName is the file whose lock is held by whoever moves or erases
// sessions of the home. It is never taken away.
const movingName = ".moving.lock"

// alone runs what moves or erases sessions while nobody else does, in this
// process or in another: two who move the same files lose some of them.
func (st *Store) alone(ctx context.Context, do func() error) (err error) {
	st.moving.Lock()
	defer st.moving.Unlock()
	if err := ctx.Err(); err != nil { // it may have taken long
		return err
	}
	lock, err := st.lockFile(filepath.Join(st.home, movingName), vfs.Update)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	return do()
}

// lockFile opens a file and waits for its lock. What it returns is the file at
// the path: one that was moved or taken away meanwhile is not, and who holds its
// lock keeps nobody out.
func (st *Store) lockFile(path string, mode vfs.Mode) (vfs.File, error) {
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
func (st *Store) isAt(path string, file vfs.File) (bool, error) {
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

// checkRoom refuses to move files over others, before anything is moved.
func (st *Store) checkRoom(from, to string, names []string) error {
	for _, name := range names {
		old, err := st.fs.Stat(filepath.Join(from, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := st.inTheWay(filepath.Join(to, name), old); err != nil {
			return err
		}
	}
	return nil
}

// inTheWay reports whether the file is at path already, and refuses if another
// one is, unless that is empty: it is what an append that failed has left.
func (st *Store) inTheWay(path string, file vfs.Info) (same bool, err error) {
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

// move renames files that are still in one directory to another, and makes
// that durable.
func (st *Store) move(from, to string, names []string) error {
	for _, name := range names {
		if err := st.moveFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return errors.Join(vfs.SyncNames(st.fs, to), vfs.SyncNames(st.fs, from))
}

// moveFile renames a file, unless that was done before. After a power cut it
// may have both names. Another file is never replaced.
func (st *Store) moveFile(from, to string) error {
	old, err := st.fs.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	same, err := st.inTheWay(to, old)
	if err != nil {
		return err
	}
	if same {
		return st.fs.Remove(from)
	}
	return st.fs.Rename(from, to)
}
