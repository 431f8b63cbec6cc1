package vfs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"firn"
)

// The permissions of everything that is made here: for the owner alone.
const (
	filePerm = 0o600
	dirPerm  = 0o700
)

// OS is the file system of the operating system. Its zero value is ready.
//
// It opens regular files only: a directory is EISDIR, and a pipe or a device is
// refused rather than waited for. Files must be closed by hand; the garbage
// collector does not do it. A waiting Lock keeps one thread of the system.
type OS struct{}

var _ FS = OS{}

// SyncerFS is a file system that can be made durable all at once, which is
// cheaper than syncing many files one by one.
type SyncerFS interface {
	// SyncFS makes durable everything that was written, by anyone, to the file
	// system that holds path: bytes, lengths and names. It is
	// errors.ErrUnsupported where that cannot be promised; then files and
	// directories must be synced one by one.
	SyncFS(path string) error
}

// ReadDir implements [FS].
func (OS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// Remove implements [FS].
func (OS) Remove(path string) error { return os.Remove(path) }

// MkdirAll implements [FS]. It syncs the parents of the directories it made
// itself; for one that somebody else is just making, that one does it.
func (o OS) MkdirAll(path string) error {
	info, err := o.Stat(path)
	if err == nil {
		if !info.Mode.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: path, Err: errNotDir}
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := o.MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, dirPerm); errors.Is(err, fs.ErrExist) {
		return o.existingDir(path)
	} else if err != nil {
		return err
	}
	if err := ownerOnly(path); err != nil {
		return err
	}
	return o.SyncDir(parent)
}

// existingDir tells whether what somebody made before us is a directory.
func (o OS) existingDir(path string) error {
	info, err := o.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode.IsDir() {
		return &fs.PathError{Op: "mkdir", Path: path, Err: errNotDir}
	}
	return nil
}

// WriteFile replaces the file at path, or makes it, so that at any time and
// after any crash there is either the old content or the new, whole. When it
// returns, the new content is durable. If it fails before the file is in its
// place, the error is a [firn.ErrNotSaved]: the old file is untouched and nothing
// is left behind. If only the last step fails (the sync of the directory) it is a
// [firn.ErrUnknownOutcome]: the new file is there but may be gone after a crash.
//
// A symbolic link at path is itself replaced, not what it points at.
func WriteFile(fsys FS, path string, data []byte) error {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	temp := filepath.Join(dir, "."+base+".tmp-"+rand.Text()[:10])
	if err := writeNew(fsys, temp, data); err != nil {
		return fmt.Errorf("%w: %w", firn.ErrNotSaved, err)
	}
	if err := fsys.Rename(temp, path); err != nil {
		return fmt.Errorf("%w: %w", firn.ErrNotSaved, errors.Join(err, fsys.Remove(temp)))
	}
	return SyncNames(fsys, filepath.Clean(dir))
}

// SyncNames makes renames and removals in a directory durable that were made
// before. If it fails the error is a [firn.ErrUnknownOutcome]: they can be seen,
// and may be undone by a crash.
func SyncNames(fsys FS, dir string) error {
	if err := fsys.SyncDir(dir); err != nil {
		return fmt.Errorf("%w: %w", firn.ErrUnknownOutcome, err)
	}
	return nil
}

// RemoveAll removes a directory and everything in it, without following links. One that
// is not there is removed already. What cannot be removed keeps it from nothing else.
func RemoveAll(fsys FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); e.IsDir() {
			err = errors.Join(err, RemoveAll(fsys, path))
		} else {
			err = errors.Join(err, fsys.Remove(path))
		}
	}
	return errors.Join(err, fsys.Remove(dir))
}

// writeNew makes a file with durable content. If it fails there is none.
func writeNew(fsys FS, path string, data []byte) error {
	f, err := fsys.Open(path, Create)
	if err != nil {
		return err
	}
	n, err := f.Write(data)
	if n > 0 && errors.Is(err, io.ErrShortWrite) { // asked again, the system says why: mostly the disk is full
		_, err = f.Write(data[n:])
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return errors.Join(err, fsys.Remove(path))
	}
	return nil
}

// Link gives a file a second name. It is not part of FS: few need it, and not
// every file system can.
func (OS) Link(from, to string) error { return os.Link(from, to) }
