package index

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/rowcache"
)

// mark is an empty file that a process keeps locked from its first change to a session
// until all its changes are in the catalog. While such a file exists, the catalog may
// be outdated: its owner has changes that are not written, or crashed before writing them.
type mark struct {
	tried atomic.Bool
	mu    sync.Mutex
	path  string
	file  vfs.File
}

const markPrefix = rowcache.MarkPrefix

// set creates the mark durably if there is none. It tries only once, so that a failure does
// not slow down every append.
func (m *mark) set(fsys vfs.FS, dir string) error {
	if m.tried.Load() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tried.Load() {
		return nil
	}
	defer m.tried.Store(true)
	return m.make(fsys, dir)
}

func (m *mark) make(fsys vfs.FS, dir string) error {
	file, path, err := vfs.CreateLocked(fsys, dir, markPrefix)
	if file != nil {
		m.file, m.path = file, path
	}
	if err != nil {
		return fmt.Errorf("mark the catalog as being written: %w", err)
	}
	return nil
}

// restore creates the mark again if it was removed, for example with the whole directory.
func (m *mark) restore(fsys vfs.FS, dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		return nil
	}
	if _, err := fsys.Stat(m.path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	m.file.Close() // the file was already removed
	m.file = nil
	return m.make(fsys, dir)
}

func (m *mark) isSet() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.file != nil
}

// name returns the file name of the mark, if there is one.
func (m *mark) name() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return filepath.Base(m.path)
}

// clear removes the mark.
func (m *mark) clear(fsys vfs.FS) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		return nil
	}
	err := errors.Join(fsys.Remove(m.path), m.file.Close())
	m.file = nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("close catalog: %w", err)
	}
	return nil
}

// release closes the mark without removing it, for the next process to find.
func (m *mark) release() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		return nil
	}
	err := m.file.Close()
	m.file = nil
	return err
}

// otherMarks are the marks of other processes.
type otherMarks struct {
	fs vfs.FS
	// alive is set if a mark belongs to a running process. Its changes must be looked for
	// each time.
	alive bool
	// dead are marks of dead processes, locked by us.
	dead  []vfs.File
	paths []string
}

// findOtherMarks finds the marks of other processes. The caller must close them.
func (c *Catalogue) findOtherMarks() (*otherMarks, error) {
	s := &otherMarks{fs: c.fs}
	entries, err := c.fs.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	own := c.mark.name()
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), markPrefix) || e.Name() == own {
			continue
		}
		s.check(filepath.Join(c.dir, e.Name()))
	}
	return s, nil
}

// check determines whether the owner of a mark is running. A mark that cannot be checked
// counts as alive.
func (s *otherMarks) check(path string) {
	file, err := s.fs.Open(path, vfs.Read)
	if err != nil {
		s.alive = s.alive || !errors.Is(err, fs.ErrNotExist) // else its owner has removed it
		return
	}
	if free, err := file.TryLock(); err != nil || !free {
		s.alive = true
		file.Close() // only read
		return
	}
	s.dead = append(s.dead, file)
	s.paths = append(s.paths, path)
}

// any reports whether another process has, or had, unwritten changes.
func (s *otherMarks) any() bool { return s.alive || len(s.paths) > 0 }

// removeDead removes the marks of dead processes, after their changes were written.
func (s *otherMarks) removeDead() error {
	var errs []error
	for _, path := range s.paths {
		if err := s.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	s.paths = nil
	return errors.Join(errs...)
}

func (s *otherMarks) close() {
	for _, file := range s.dead {
		file.Close() // only locked
	}
	s.dead = nil
}
