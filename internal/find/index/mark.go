package index

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"firn.dev/internal/disk/vfs"
)

// mark is an empty file that a process keeps locked from its first change to
// a session until all its changes are in the catalogue. As long as a file of
// that kind lies about, a page cannot be trusted to the catalogue: its owner
// has changes that are not written down, or died with them.
type mark struct {
	tried atomic.Bool
	mu    sync.Mutex
	path  string
	file  vfs.File
}

const (
	markPrefix = "writing-"
	// A mark gets its name when it is locked, so that nobody takes it for that
	// of a dead process before.
	newMarkPrefix = ".writing-"
)

// set makes the mark, durably, if there is none. It is tried once only: one
// that cannot be made should not slow down every append.
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
	name := rand.Text()[:10]
	unnamed, path := filepath.Join(dir, newMarkPrefix+name), filepath.Join(dir, markPrefix+name)
	file, err := fsys.Open(unnamed, vfs.Create)
	if err == nil {
		if err = file.Lock(); err == nil {
			err = fsys.Rename(unnamed, path)
		}
		if err == nil {
			m.file, m.path = file, path
			err = fsys.SyncDir(dir)
		} else {
			err = errors.Join(err, file.Close(), fsys.Remove(unnamed))
		}
	}
	if err != nil {
		return fmt.Errorf("mark the catalogue as being written: %w", err)
	}
	return nil
}

// renew makes the mark again if it was there and somebody removed it, with the
// whole directory for example.
func (m *mark) renew(fsys vfs.FS, dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		return nil
	}
	if _, err := fsys.Stat(m.path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	m.file.Close() // it has no name any more
	m.file = nil
	return m.make(fsys, dir)
}

func (m *mark) isSet() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.file != nil
}

// name is the file name of the mark, if there is one.
func (m *mark) name() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return filepath.Base(m.path)
}

// clear takes the mark away.
func (m *mark) clear(fsys vfs.FS) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		return nil
	}
	err := errors.Join(fsys.Remove(m.path), m.file.Close())
	m.file = nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("close catalogue: %w", err)
	}
	return nil
}

// leave lets go of the mark and leaves it for the next one to find.
func (m *mark) leave() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.file == nil {
		return nil
	}
	err := m.file.Close()
	m.file = nil
	return err
}

// strangers are the marks of others.
type strangers struct {
	fs vfs.FS
	// alive is set if a mark belongs to a living process. What it has changed
	// must be looked for each time.
	alive bool
	// dead are marks left behind, locked by us.
	dead  []vfs.File
	paths []string
}

// strangers looks for marks of others. They must be closed.
func (c *Catalogue) strangers() (*strangers, error) {
	s := &strangers{fs: c.fs}
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
		s.meet(filepath.Join(c.dir, e.Name()))
	}
	return s, nil
}

// meet finds out whose a mark is. One that cannot be asked counts as alive.
func (s *strangers) meet(path string) {
	file, err := s.fs.Open(path, vfs.Read)
	if err != nil {
		s.alive = s.alive || !errors.Is(err, fs.ErrNotExist) // else its owner is done
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

// any reports whether somebody has, or had, changes that are not written down.
func (s *strangers) any() bool { return s.alive || len(s.paths) > 0 }

// bury removes the marks of the dead, after what they changed was written down.
func (s *strangers) bury() error {
	var errs []error
	for _, path := range s.paths {
		if err := s.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	s.paths = nil
	return errors.Join(errs...)
}

func (s *strangers) close() {
	for _, file := range s.dead {
		file.Close() // only locked
	}
	s.dead = nil
}
