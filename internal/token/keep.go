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

	"firn"
	"firn/internal/vfs"
)

// Keep is where the page of a book is.
type Keep interface {
	// Load returns the page and its revision, if that is another than the one that
	// is known; else the known one. Nil is that there is no page. A caller that
	// knows none says zero.
	Load(ctx context.Context, known uint64) (data []byte, revision uint64, err error)
	// Save writes the page and returns its revision, if the known one is still that
	// of the page there is; else it is an ErrConflict. When it returns without an
	// error the page is durable.
	Save(ctx context.Context, data []byte, known uint64) (revision uint64, err error)
}

// Watched is a keep that is far away, and tells when something changes. It is not
// asked for every token that is shown.
type Watched interface {
	Keep
	// Watch calls changed when the page may have changed, until ctx ends: once when
	// it has begun to look, too.
	Watch(ctx context.Context, changed func())
}

// mostBytes is how large a page may be.
const mostBytes = 16 << 20

// File keeps a page in a file for its owner alone. Its methods may be called from
// many goroutines.
type File struct {
	fs   vfs.FS
	path string

	mu sync.Mutex
	// seen tells the file that was read from another that somebody put there; there
	// is whether it was. number counts those.
	seen   vfs.Info
	there  bool
	number uint64
}

var _ Keep = (*File)(nil)

// NewFile makes a keep of a file, which need not be there.
func NewFile(fsys vfs.FS, path string) *File { return &File{fs: fsys, path: path} }

// Load implements [Keep]. A file that others may change is an error.
func (f *File) Load(_ context.Context, known uint64) ([]byte, uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, err := f.load(known)
	if err != nil {
		return nil, 0, fmt.Errorf("read the tokens in %s: %w", f.path, err)
	}
	return data, f.number, nil
}

func (f *File) load(known uint64) ([]byte, error) {
	info, there, err := f.look()
	if err != nil {
		return nil, err
	}
	if known != 0 && known == f.number && f.same(info, there) {
		return nil, nil
	}
	var data []byte
	if there {
		if info.Mode.Perm()&0o022 != 0 && runtime.GOOS != "windows" { // which says so of every file
			return nil, fmt.Errorf("others may change it (mode %04o), and let themselves in", info.Mode.Perm())
		}
		if data, err = f.read(); err != nil {
			return nil, err
		}
	}
	f.seen, f.there = info, there
	f.number++
	return data, nil
}

// look tells which file is there, if any.
func (f *File) look() (vfs.Info, bool, error) {
	info, err := f.fs.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return vfs.Info{}, false, nil
	}
	return info, err == nil, err
}

// same reports whether it is the file that was read.
func (f *File) same(info vfs.Info, there bool) bool {
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
		err = fmt.Errorf("it has more than %d bytes: %w", mostBytes, firn.ErrTooLarge)
	}
	return data, err
}

// Save implements [Keep]. Two processes that write at the very same moment are not
// kept apart: a home has one gateway.
func (f *File) Save(_ context.Context, data []byte, known uint64) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, there, err := f.look()
	if err == nil && (known != f.number || !f.same(info, there)) {
		return 0, fmt.Errorf("write the tokens to %s: %w: somebody else has", f.path, firn.ErrConflict)
	}
	if err == nil {
		err = f.fs.MkdirAll(filepath.Dir(f.path))
	}
	if err != nil {
		return 0, fmt.Errorf("write the tokens to %s: %w: %w", f.path, firn.ErrNotSaved, err)
	}
	if err := vfs.WriteFile(f.fs, f.path, data); err != nil {
		return 0, fmt.Errorf("write the tokens to %s: %w", f.path, err)
	}
	f.number++
	if f.seen, f.there, err = f.look(); err != nil {
		f.seen, f.there = vfs.Info{}, true // read it again next time
	}
	return f.number, nil
}

// carried is what the name of a file ends with whose page is elsewhere.
const carried = ".carried"

// Retire puts the file aside, if it is there: its page is elsewhere from now on,
// and tokens that are revoked there must not come back with it.
func (f *File) Retire() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.fs.Rename(f.path, f.path+carried)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = f.fs.SyncDir(filepath.Dir(f.path))
	}
	if err != nil {
		return fmt.Errorf("put the tokens in %s aside: %w", f.path, err)
	}
	return nil
}
