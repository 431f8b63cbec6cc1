package token

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"sync"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Storage stores the record of a book.
type Storage interface {
	// Load returns the record and its revision if the revision differs from known; otherwise
	// it returns known and no data. Nil data means that there is no page. A caller without
	// a revision passes zero.
	Load(ctx context.Context, known uint64) (data []byte, revision uint64, err error)
	// Save writes the record if its revision is still known, and returns the new revision;
	// otherwise it fails with ErrConflict. If it returns no error, the record is durable.
	Save(ctx context.Context, data []byte, known uint64) (revision uint64, err error)
}

// Watched is remote storage that sends notifications of changes. It is not queried for every
// request.
type Watched interface {
	Storage
	// Watch calls changed when the record may have changed, until ctx ends, and once when it
	// has started watching.
	Watch(ctx context.Context, changed func())
}

// mostBytes is the maximum size of a record.
const mostBytes = 16 << 20

// File stores a record in a file that only its owner can access. It is safe for concurrent
// use.
type File struct {
	fs   vfs.FS
	path string

	mu sync.Mutex
	// seen identifies the file that was read, and there whether it existed. number counts
	// the versions.
	seen   vfs.Info
	there  bool
	number uint64
}

var _ Storage = (*File)(nil)

// NewFile returns the storage in a file, which need not exist.
func NewFile(fsys vfs.FS, path string) *File { return &File{fs: fsys, path: path} }

// Load implements [Storage]. It fails if other users can write the file.
func (f *File) Load(_ context.Context, known uint64) ([]byte, uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, err := f.load(known)
	if err != nil {
		return nil, 0, fmt.Errorf("read tokens in %s: %w", f.path, err)
	}
	return data, f.number, nil
}

func (f *File) load(known uint64) ([]byte, error) {
	info, there, err := f.stat()
	if err != nil {
		return nil, err
	}
	if known != 0 && known == f.number && f.unchanged(info, there) {
		return nil, nil
	}
	var data []byte
	if there {
		if info.Mode.Perm()&0o022 != 0 && runtime.GOOS != "windows" { // Windows reports these bits for every file
			return nil, fmt.Errorf("writable by others (mode %04o)", info.Mode.Perm())
		}
		if data, err = f.read(); err != nil {
			return nil, err
		}
	}
	f.seen, f.there = info, there
	f.number++
	return data, nil
}

// stat returns the file's info, and whether it exists.
func (f *File) stat() (vfs.Info, bool, error) {
	info, err := f.fs.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return vfs.Info{}, false, nil
	}
	return info, err == nil, err
}

// unchanged reports whether the file is the one that was read.
func (f *File) unchanged(info vfs.Info, there bool) bool {
	if !there || !f.there {
		return there == f.there
	}
	return info.Same(f.seen) && info.Size == f.seen.Size && info.ModTime.Equal(f.seen.ModTime)
}

func (f *File) read() ([]byte, error) {
	file, err := f.fs.Open(f.path, vfs.Read)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, mostBytes+1))
	if err == nil && len(data) > mostBytes {
		err = fmt.Errorf("more than %d bytes: %w", mostBytes, firn.ErrTooLarge)
	}
	return data, err
}

// Save implements [Storage]. Concurrent writes by two processes are not detected: a home has
// one gateway.
func (f *File) Save(_ context.Context, data []byte, known uint64) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, there, err := f.stat()
	if err == nil && (known != f.number || !f.unchanged(info, there)) {
		return 0, fmt.Errorf("write tokens to %s: %w: another writer was faster", f.path, firn.ErrConflict)
	}
	if err == nil {
		err = f.fs.MkdirAll(filepath.Dir(f.path))
	}
	if err != nil {
		return 0, fmt.Errorf("write tokens to %s: %w: %w", f.path, firn.ErrNotSaved, err)
	}
	if err := vfs.WriteFile(f.fs, f.path, data); err != nil {
		return 0, fmt.Errorf("write tokens to %s: %w", f.path, err)
	}
	f.number++
	if f.seen, f.there, err = f.stat(); err != nil {
		f.seen, f.there = vfs.Info{}, true // read it again next time
	}
	return f.number, nil
}

// retiredSuffix is appended to the name of a file whose page was moved elsewhere.
const retiredSuffix = ".carried"

// Retire renames the file if it exists. Its page is stored elsewhere from now on, and
// tokens revoked there must not become valid again.
func (f *File) Retire() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.fs.Rename(f.path, f.path+retiredSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = f.fs.SyncDir(filepath.Dir(f.path))
	}
	if err != nil {
		return fmt.Errorf("move damaged tokens in %s aside: %w", f.path, err)
	}
	return nil
}
