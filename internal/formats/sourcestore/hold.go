package sourcestore

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// holdTries bounds how often a file is looked for anew that is replaced each
// time.
const holdTries = 10

// hold opens the session's file and locks it against others who use firn. Tools
// replace a file by renaming another to its name, and so do we to change a first
// line: what is written to the old one would be lost, so the file that is held
// is the one that the name leads to. A session that is not there is fresh, and
// nothing is held.
func (s *session) hold() error {
	for try := range holdTries {
		if err := s.reopen(); err != nil {
			return err
		}
		if s.file == nil && (try > 0 || s.placed.Load() != nil) {
			s.forget() // nobody who goes on with a session wants to begin another
			return fmt.Errorf("append to session %s: %w: %s took its file away", s.id, firn.ErrReplaced, s.st.tool.Name())
		}
		if s.file == nil {
			return nil
		}
		if err := s.file.Lock(); err != nil {
			s.forget()
			return fmt.Errorf("append to session %s: %w: %w", s.id, firn.ErrLocked, err)
		}
		there, err := s.current()
		if err == nil && there {
			return nil
		}
		s.forget()
		if err != nil {
			return fmt.Errorf("append to session %s: %w", s.id, err)
		}
	}
	return fmt.Errorf("append to session %s: %w: its file is replaced again and again", s.id, firn.ErrReplaced)
}

// letGo lets others have the file.
func (s *session) letGo() error {
	if s.file == nil {
		return nil
	}
	return s.file.Unlock()
}

// reopen makes sure that the session's file is open. A session that is not
// there is fresh.
func (s *session) reopen() error {
	if s.file != nil {
		return nil
	}
	t, err := s.st.transcript(s.id)
	if errors.Is(err, firn.ErrNotFound) {
		t, err = s.st.lookFor(s.id) // somebody may just have begun it
	}
	switch {
	case errors.Is(err, firn.ErrNotFound):
		s.fresh, s.names = true, nil
		return nil
	case err != nil:
		return err
	case t.Compressed:
		return fmt.Errorf("append to session %s: %w: its file is compressed", s.id, firn.ErrUnsupported)
	}
	s.fresh = false
	return s.begin(t, vfs.Extend)
}

// current reports whether what is known of the open file still holds: it has its
// name, it is the last part, and it was not cut short.
func (s *session) current() (bool, error) {
	there, err := s.inPlace()
	if err != nil || !there {
		return false, err
	}
	info, err := s.file.Stat()
	if err != nil {
		return false, err
	}
	if info.Size < sizeAt(s.reading.at) {
		return false, nil
	}
	next, ok := s.st.tool.Layout().Part(s.last(), info.Size, math.MaxInt64/2)
	if !ok {
		return true, nil
	}
	_, err = s.st.opts.FS.Stat(vfsPath(s.st.home, next))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// inPlace reports whether the open file is the one that its name leads to.
func (s *session) inPlace() (bool, error) {
	open, err := s.file.Stat()
	if err != nil {
		return false, err
	}
	named, err := s.st.opts.FS.Stat(vfsPath(s.st.home, s.last()))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && open.Same(named), err
}

// last is the path of the last part.
func (s *session) last() string { return s.reading.t.Parts[len(s.reading.t.Parts)-1] }
