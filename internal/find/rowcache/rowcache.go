// Package rowcache caches list rows that are expensive to compute, one file per session:
// those of transcripts without a recent checkpoint, which must be read completely.
//
// A row is valid only while the files it was computed from have the same size, modification
// time and inode. The cache may be deleted at any time. Errors in reading or writing it
// make lists slower, not wrong.
package rowcache

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// DirName is the name of the cache in the index directory. Its number changes whenever
// [store.Gist] computes different rows for the same session.
const DirName = "rows-2"

// Names in the index directory that the catalog and the stores share.
const (
	// CatalogueName is the file of the catalog.
	CatalogueName = "catalogue.jsonl"
	// MarkPrefix begins the names of marks. A process keeps its mark locked while it changes
	// sessions; an unlocked mark means that the catalog has to be compared with all
	// sessions.
	MarkPrefix = "writing-"
)

// maxRowBytes is the maximum size of a cache file.
const maxRowBytes = 1 << 20

// Cache stores rows in a directory. A nil Cache is empty. All methods are safe for
// concurrent use by goroutines and processes.
type Cache struct {
	fs       vfs.FS
	dir      string
	readOnly bool
}

// New returns the cache in the index directory. It performs no I/O. A read-only cache is
// never written to.
func New(fsys vfs.FS, indexes string, readOnly bool) *Cache {
	return &Cache{fs: fsys, dir: filepath.Join(indexes, DirName), readOnly: readOnly}
}

// bypass is the context key for readers that compute every row.
type bypass struct{}

// Bypass returns a context in which Recall finds no rows, for checking or recomputing them.
func Bypass(ctx context.Context) context.Context { return context.WithValue(ctx, bypass{}, true) }

// file identifies a version of a file.
type file struct {
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"`
	Inode    uint64 `json:"inode,omitempty"`
	Device   uint64 `json:"device,omitempty"`
}

// cached is the content of a cache file.
type cached struct {
	Files []file     `json:"files"`
	Info  store.Info `json:"info"`
}

func filesOf(infos []vfs.Info) []file {
	files := make([]file, len(infos))
	for i, info := range infos {
		files[i] = file{info.Size, info.ModTime.UnixNano(), info.Inode, info.Device}
	}
	return files
}

func (c *Cache) path(id firn.ID) string { return filepath.Join(c.dir, string(id)+".json") }

// Recall returns the cached row of a session if its files have not changed.
func (c *Cache) Recall(ctx context.Context, id firn.ID, now []vfs.Info) (store.Info, bool) {
	if c == nil || len(now) == 0 || id.Check() != nil || ctx.Value(bypass{}) != nil {
		return store.Info{}, false
	}
	f, err := c.fs.Open(c.path(id), vfs.Read)
	if err != nil {
		return store.Info{}, false
	}
	defer f.Close() // only read
	data, err := io.ReadAll(io.LimitReader(f, maxRowBytes))
	sum, row, ok := bytes.Cut(data, []byte{'\n'})
	if err != nil || !ok || string(sum) != checksum(row) {
		return store.Info{}, false
	}
	var found cached
	if json.Unmarshal(row, &found) != nil || found.Info.ID != id || len(found.Files) != len(now) {
		return store.Info{}, false
	}
	for i, want := range filesOf(now) {
		if found.Files[i] != want {
			return store.Info{}, false
		}
	}
	return found.Info, true
}

func checksum(row []byte) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE(row)) }

// Minimum ages of a file such that a later change has a different modification time. Some
// file systems have a resolution of one or two seconds.
const (
	fineTick   = time.Second
	coarseTick = 3 * time.Second
)

// isStable reports whether a later change of a file will have a different modification
// time.
func isStable(info vfs.Info) bool {
	tick := fineTick
	if info.ModTime.Nanosecond() == 0 {
		tick = coarseTick
	}
	return time.Since(info.ModTime) > tick
}

// Remember caches the row computed from files. It then calls again to check the files once
// more: if they have changed, the row is removed, so that text erased concurrently is not
// restored. Rows of files that changed very recently are not cached.
//
// The row is not synced: after a power failure it may be damaged, and is computed again.
func (c *Cache) Remember(info store.Info, was []vfs.Info, again func() ([]vfs.Info, error)) {
	if c == nil || c.readOnly || len(was) == 0 || info.ID.Check() != nil {
		return
	}
	for _, f := range was {
		if !isStable(f) {
			return
		}
	}
	row, err := json.Marshal(cached{filesOf(was), info})
	if err != nil || len(row) >= maxRowBytes/2 || c.write(c.path(info.ID), append([]byte(checksum(row)+"\n"), row...)) != nil {
		return
	}
	now, err := again()
	if err == nil && len(now) == len(was) {
		for i, f := range filesOf(now) {
			if f != filesOf(was)[i] {
				err = firn.ErrReplaced
			}
		}
	}
	if err != nil || len(now) != len(was) {
		_ = c.Forget(info.ID) // it does not match the files, so it is never used
	}
}

// write replaces a file atomically.
func (c *Cache) write(path string, data []byte) error {
	if err := c.fs.MkdirAll(c.dir); err != nil {
		return err
	}
	temp := filepath.Join(c.dir, tempPrefix+rand.Text()[:10])
	f, err := c.fs.Open(temp, vfs.Create)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = c.fs.Rename(temp, path)
	}
	if err != nil {
		_ = c.fs.Remove(temp)
	}
	return err
}

const tempPrefix = ".tmp-"

// Forget removes the row of a session and temporary files of killed processes.
func (c *Cache) Forget(id firn.ID) error {
	if c == nil || c.readOnly {
		return nil
	}
	entries, err := c.fs.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if name := e.Name(); name == string(id)+".json" || strings.HasPrefix(name, tempPrefix) {
			if gone := c.fs.Remove(filepath.Join(c.dir, name)); !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("remove the cached row of session %s: %w", id, err)
	}
	return nil
}

// RemoveAll removes the cached rows of all versions in the index directory.
func RemoveAll(fsys vfs.FS, indexes string) error {
	entries, err := fsys.ReadDir(indexes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), "rows-") {
			err = errors.Join(err, vfs.RemoveAll(fsys, filepath.Join(indexes, e.Name())))
		}
	}
	return err
}
