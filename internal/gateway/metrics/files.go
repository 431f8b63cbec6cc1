package metrics

import (
	"errors"
	"time"

	"firn.dev/internal/disk/vfs"
)

// Files returns a file system that measures its syncs: the time of the disk itself, without
// the time that appends wait for their turn.
func (s *Set) Files(fsys vfs.FS) vfs.FS {
	if s == nil {
		return fsys
	}
	return timedFS{fsys, s}
}

// timedFS is a file system that measures its syncs.
type timedFS struct {
	vfs.FS
	set *Set
}

// Open opens a file that measures its syncs.
func (t timedFS) Open(path string, mode vfs.Mode) (vfs.File, error) {
	f, err := t.FS.Open(path, mode)
	if err != nil {
		return nil, err
	}
	return timedFile{f, t.set}, nil
}

// SyncDir implements [vfs.FS].
func (t timedFS) SyncDir(path string) error {
	return t.set.timed("directory", func() error { return t.FS.SyncDir(path) })
}

// SyncFS implements [vfs.SyncerFS] if the wrapped file system does.
func (t timedFS) SyncFS(path string) error {
	all, ok := t.FS.(vfs.SyncerFS)
	if !ok {
		return errors.ErrUnsupported
	}
	begun := time.Now()
	err := all.SyncFS(path)
	if !errors.Is(err, errors.ErrUnsupported) {
		t.set.synced("filesystem", time.Since(begun))
	}
	return err
}

// timedFile is an open file that measures its syncs.
type timedFile struct {
	vfs.File
	set *Set
}

// Sync implements [vfs.File].
func (t timedFile) Sync() error { return t.set.timed("file", t.File.Sync) }

// timed runs a sync and records its duration.
func (s *Set) timed(what string, do func() error) error {
	begun := time.Now()
	err := do()
	s.synced(what, time.Since(begun))
	return err
}

// synced records a sync.
func (s *Set) synced(what string, took time.Duration) {
	s.sync.Observe(took.Seconds(), what)
	s.syncTimes.observe(took)
}
