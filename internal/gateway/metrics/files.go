package metrics

import (
	"errors"
	"time"

	"firn.dev/internal/disk/vfs"
)

// Files returns the file system with its syncs timed: what the disk itself
// takes, without the waiting of an append for its turn.
func (s *Set) Files(fsys vfs.FS) vfs.FS {
	if s == nil {
		return fsys
	}
	return timedFS{fsys, s}
}

// timedFS is a file system whose syncs are timed.
type timedFS struct {
	vfs.FS
	set *Set
}

// Open opens a file whose syncs are timed.
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

// SyncFS implements [vfs.SyncerFS], as far as the file system does.
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

// timedFile is an open file whose syncs are timed.
type timedFile struct {
	vfs.File
	set *Set
}

// Sync implements [vfs.File].
func (t timedFile) Sync() error { return t.set.timed("file", t.File.Sync) }

// timed does something that makes durable, and tells how long it took.
func (s *Set) timed(what string, do func() error) error {
	begun := time.Now()
	err := do()
	s.synced(what, time.Since(begun))
	return err
}

// synced counts a sync.
func (s *Set) synced(what string, took time.Duration) {
	s.sync.Observe(took.Seconds(), what)
	s.syncTimes.observe(took)
}
