package limits

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"firn.dev/internal/disk/vfs"
)

// retryFS retries the calls of a file system that need a descriptor.
type retryFS struct {
	vfs.FS
	pool *Pool
}

// Open implements [vfs.FS].
func (r retryFS) Open(path string, mode vfs.Mode) (f vfs.File, err error) {
	if f, err = r.FS.Open(path, mode); !IsShort(err) {
		return f, err
	}
	err = r.pool.Retry(func() (err error) {
		f, err = r.FS.Open(path, mode)
		return err
	})
	return f, err
}

// ReadDir implements [vfs.FS].
func (r retryFS) ReadDir(path string) (entries []fs.DirEntry, err error) {
	err = r.pool.Retry(func() (err error) {
		entries, err = r.FS.ReadDir(path)
		return err
	})
	return entries, err
}

// MkdirAll implements [vfs.FS].
func (r retryFS) MkdirAll(path string) error {
	return r.pool.Retry(func() error { return r.FS.MkdirAll(path) })
}

// SyncDir implements [vfs.FS].
func (r retryFS) SyncDir(path string) error {
	return r.pool.Retry(func() error { return r.FS.SyncDir(path) })
}

// SyncFS implements [vfs.SyncerFS] if the underlying file system does.
func (r retryFS) SyncFS(path string) error {
	all, ok := r.FS.(vfs.SyncerFS)
	if !ok {
		return errors.ErrUnsupported
	}
	return r.pool.Retry(func() error { return all.SyncFS(path) })
}

// openPipe opens two descriptors. It needs no file, so it works even in a container without
// /dev/null.
func openPipe() (func() error, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return func() error { return errors.Join(r.Close(), w.Close()) }, nil
}

// LockDir locks a directory if the underlying file system supports it; see
// [vfs.OS.LockDir]. If not, lock is nil and taken is true.
func (r retryFS) LockDir(path string) (lock io.Closer, taken bool, err error) {
	locker, ok := r.FS.(interface {
		LockDir(path string) (io.Closer, bool, error)
	})
	if !ok {
		return nil, true, nil
	}
	err = r.pool.Retry(func() (err error) {
		lock, taken, err = locker.LockDir(path)
		return err
	})
	return lock, taken, err
}
