package vfs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"firn.dev"
)

// Permissions of created files and directories: owner only.
const (
	filePerm = 0o600
	dirPerm  = 0o700
)

// OS is the file system of the operating system. The zero value is ready to use.
//
// It opens regular files only: opening a directory fails with EISDIR, and pipes and devices
// are rejected without waiting. Files must be closed explicitly; they have no finalizer. A
// blocked Lock occupies an operating system thread.
type OS struct{}

var _ FS = OS{}

// SyncerFS is a file system that can be synced as a whole, which is cheaper than syncing
// many files one by one.
type SyncerFS interface {
	// SyncFS makes everything written to the file system that holds path durable, by any
	// process: bytes, lengths and names. It returns errors.ErrUnsupported where that cannot
	// be guaranteed; files and directories must then be synced one by one.
	SyncFS(path string) error
}

// ReadDir implements [FS].
func (OS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// Remove implements [FS].
func (OS) Remove(path string) error { return os.Remove(path) }

// MkdirAll implements [FS]. It syncs the parents of the directories that it created; a
// concurrent creator syncs its own.
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

// existingDir returns an error unless path, which already exists, is a directory.
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

// WriteFile replaces or creates the file at path atomically: at any time, and after a
// crash, the file has either the old or the new content. When it returns nil, the new
// content is durable. If it fails before the rename, the error is a [firn.ErrNotSaved]: the
// old file is unchanged and no temporary file is left. If only the final directory sync
// fails, the error is a [firn.ErrUnknownOutcome]: the new file is visible but may be lost
// in a crash.
//
// A symbolic link at path is replaced, not followed.
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

// SyncNames makes earlier renames and removals in a directory durable. If it fails, the
// error is a [firn.ErrUnknownOutcome]: the changes are visible but may be undone by a
// crash.
func SyncNames(fsys FS, dir string) error {
	if err := fsys.SyncDir(dir); err != nil {
		return fmt.Errorf("%w: %w", firn.ErrUnknownOutcome, err)
	}
	return nil
}

// RemoveAll removes a directory and its contents without following links. It returns nil if
// the directory does not exist. It continues after errors and removes as much as it can.
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

// writeNew creates a file with durable content. If it fails, it leaves no file.
func writeNew(fsys FS, path string, data []byte) error {
	f, err := fsys.Open(path, Create)
	if err != nil {
		return err
	}
	n, err := f.Write(data)
	if n > 0 && errors.Is(err, io.ErrShortWrite) { // Retrying the write returns the reason, usually a full disk.
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

// Link creates a hard link. It is not part of FS because few callers need it and not every
// file system supports it.
func (OS) Link(from, to string) error { return os.Link(from, to) }
