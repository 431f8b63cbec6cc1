package sealfs

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/vfs"
)

// ErrWrongKey means that a file is encrypted with another key.
var ErrWrongKey = failure.Of(firn.ErrInvalid, "the file is encrypted with another key")

// ErrPlain means that a file of an encrypted home is not encrypted.
var ErrPlain = failure.WithHint(failure.Of(firn.ErrInvalid, "the file is not encrypted, but the home is"), "firn encrypt encrypts it")

// Mode is what happens to plain files.
type Mode int

const (
	// Sealed refuses plain files.
	Sealed Mode = iota
	// Converting reads and continues plain files as they are. New files are encrypted.
	Converting
	// Opening is Converting, but new files are plain.
	Opening
)

// FS encrypts the files below a directory, the root. Other files pass unchanged, as do those
// that [Covered] excludes.
type FS struct {
	inner vfs.FS
	root  string
	key   Key
	mode  Mode
	// strict is set if damaged bytes of any file are an error.
	strict bool
	sizes  sizeCache
}

var (
	_ vfs.FS       = (*FS)(nil)
	_ vfs.SyncerFS = (*FS)(nil)
)

// New returns a file system that encrypts the files below root with a key.
func New(inner vfs.FS, root string, key Key, mode Mode) *FS {
	return &FS{inner: inner, root: filepath.Clean(root), key: key, mode: mode}
}

// NewStrict is like New, for decryption: damaged bytes of any file are an error. They would
// become zeros in the plain file, where nothing distinguishes damage from content.
func NewStrict(inner vfs.FS, root string, key Key, mode Mode) *FS {
	s := New(inner, root, key, mode)
	s.strict = true
	return s
}

// plainNames are the files of a home that are not encrypted, relative to it. They are read
// before the key is known, or by other programs, and contain no conversations. A directory
// stands for everything in it.
var plainNames = []string{
	MarkerName, "firn.toml", "store.json", "sources", "gateway/lock", "gateway/address.json", redoDir, DamagedDir, SyncTargetDir,
}

// Covered reports whether a file of a home is encrypted. rel is its path relative to the home.
func Covered(rel string) bool {
	rel = finalName(filepath.ToSlash(rel))
	for _, name := range plainNames {
		if rel == name || strings.HasPrefix(rel, name+"/") {
			return false
		}
	}
	return rel != "." && rel != ".." && !strings.HasPrefix(rel, "../") && !inWorkspace(rel)
}

// inWorkspace reports whether a file belongs to the workspace of an agent, agents/NAME/workspace,
// whose tools and users read and write it directly. The notes in it are ours.
func inWorkspace(rel string) bool {
	parts := strings.SplitN(rel, "/", 5)
	if len(parts) < 4 || parts[0] != "agents" || parts[2] != "workspace" {
		return false
	}
	return parts[3] != "memory" && (len(parts) > 4 || parts[3] != "MEMORY.md")
}

// finalName returns the name that a temporary file of [vfs.WriteFile] gets; the name of any
// other file is unchanged.
func finalName(rel string) string {
	dir, base := path.Split(rel)
	if i := strings.LastIndex(base, ".tmp-"); i > 1 && base[0] == '.' {
		return dir + base[1:i]
	}
	return rel
}

// covers reports whether the file at a path is encrypted.
func (s *FS) covers(path string) bool {
	rel, ok := s.relative(path)
	return ok && Covered(rel)
}

// relative returns a path relative to the root; false if it is not below it.
func (s *FS) relative(path string) (string, bool) {
	path = filepath.Clean(path)
	if !filepath.IsAbs(path) {
		abs, err := filepath.Abs(path)
		if err != nil {
			return "", false
		}
		path = abs
	}
	if !strings.HasPrefix(path, s.root) || len(path) <= len(s.root) {
		return "", false
	}
	rest := path[len(s.root):]
	if s.root[len(s.root)-1] != filepath.Separator {
		if rest[0] != filepath.Separator {
			return "", false
		}
		rest = rest[1:]
	}
	return rest, true
}

// derived reports whether a file can be made again from others, so that a damaged one is no
// loss.
func (s *FS) derived(path string) bool {
	rel, ok := s.relative(path)
	return ok && strings.HasPrefix(filepath.ToSlash(rel), "index/")
}

// tolerant reports whether damaged bytes of a file read as zeros.
func (s *FS) tolerant(path string) bool {
	return !s.strict && strings.Contains(filepath.Base(path), ".jsonl")
}

// Open implements [vfs.FS].
func (s *FS) Open(path string, mode vfs.Mode) (vfs.File, error) {
	inner, err := s.inner.Open(path, mode)
	if err != nil || !s.covers(path) {
		return inner, err
	}
	plain, err := s.isPlain(path, inner)
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	if plain {
		return inner, nil
	}
	return &file{
		fs: s, path: path, inner: inner, readOnly: mode == vfs.Read,
		appends: mode == vfs.Append || mode == vfs.Create || mode == vfs.Extend,
	}, nil
}

// isPlain reports whether an open file is used as it is. It fails for a plain file where it
// should be encrypted.
func (s *FS) isPlain(path string, f vfs.File) (bool, error) {
	var head [len(magic)]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	switch {
	case n == 0:
		return s.mode == Opening, nil
	case string(head[:n]) == magic[:n]:
		return false, nil
	case s.mode != Sealed:
		return true, nil
	}
	if head == [len(magic)]byte{} || n < len(magic) && strings.Trim(string(head[:n]), "\x00") == "" {
		return false, nil // the remains of a first write
	}
	return false, &fs.PathError{Op: "open", Path: path, Err: ErrPlain}
}

// Stat implements [vfs.FS].
func (s *FS) Stat(path string) (vfs.Info, error) {
	info, err := s.inner.Stat(path)
	if err != nil || info.Size == 0 || !info.Mode.IsRegular() || !s.covers(path) {
		return info, err
	}
	if size, ok := s.sizes.get(info); ok {
		info.Size = size
		return info, nil
	}
	f, err := s.Open(path, vfs.Read)
	if err != nil {
		return vfs.Info{}, err
	}
	defer f.Close() // read-only
	return f.Stat()
}

// ReadDir implements [vfs.FS].
func (s *FS) ReadDir(path string) ([]fs.DirEntry, error) {
	entries, err := s.inner.ReadDir(path)
	for i, e := range entries {
		if full := filepath.Join(path, e.Name()); e.Type().IsRegular() && s.covers(full) {
			entries[i] = dirEntry{e, s, full}
		}
	}
	return entries, err
}

// dirEntry is an encrypted file in a directory.
type dirEntry struct {
	fs.DirEntry
	fs   *FS
	path string
}

// Info returns the information about the file with the size of its content.
func (e dirEntry) Info() (fs.FileInfo, error) {
	info, err := e.DirEntry.Info()
	if err != nil {
		return nil, err
	}
	found, err := e.fs.Stat(e.path)
	if err != nil {
		return nil, err
	}
	return fileInfo{info, found.Size}, nil
}

type fileInfo struct {
	fs.FileInfo
	size int64
}

// Size returns the size of the content.
func (i fileInfo) Size() int64 { return i.size }

// MkdirAll implements [vfs.FS].
func (s *FS) MkdirAll(path string) error { return s.inner.MkdirAll(path) }

// Rename implements [vfs.FS].
func (s *FS) Rename(from, to string) error { return s.inner.Rename(from, to) }

// Remove implements [vfs.FS].
func (s *FS) Remove(path string) error { return s.inner.Remove(path) }

// SyncDir implements [vfs.FS].
func (s *FS) SyncDir(path string) error { return s.inner.SyncDir(path) }

// Link creates a hard link, if the wrapped file system can.
func (s *FS) Link(from, to string) error {
	linker, ok := s.inner.(LinkFS)
	if !ok {
		return errors.ErrUnsupported
	}
	return linker.Link(from, to)
}

// SyncFS implements [vfs.SyncerFS] if the wrapped file system does.
func (s *FS) SyncFS(path string) error {
	all, ok := s.inner.(vfs.SyncerFS)
	if !ok {
		return errors.ErrUnsupported
	}
	return all.SyncFS(path)
}

// LockDir locks a directory if the wrapped file system can; see [vfs.OS.LockDir].
func (s *FS) LockDir(path string) (lock io.Closer, taken bool, err error) {
	locker, ok := s.inner.(interface {
		LockDir(path string) (io.Closer, bool, error)
	})
	if !ok {
		return nil, true, nil
	}
	return locker.LockDir(path)
}

// sizeCache has the sizes of files whose ends were examined. An entry is valid as long as the
// file has the same encrypted size and time of change.
type sizeCache struct {
	mu    sync.Mutex
	files map[fileKey]fileSize
}

type fileKey struct{ device, inode uint64 }

type fileSize struct {
	raw      int64
	modified time.Time
	size     int64
}

// maxSizes limits the number of cached sizes.
const maxSizes = 50_000

func (c *sizeCache) put(info vfs.Info, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil || len(c.files) > maxSizes {
		c.files = make(map[fileKey]fileSize)
	}
	c.files[fileKey{info.Device, info.Inode}] = fileSize{info.Size, info.ModTime, size}
}

func (c *sizeCache) get(info vfs.Info) (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok := c.files[fileKey{info.Device, info.Inode}]
	return f.size, ok && f.raw == info.Size && f.modified.Equal(info.ModTime)
}
