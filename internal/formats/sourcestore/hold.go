package sourcestore

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// holdTries limits the attempts to lock a file that is replaced each time.
const holdTries = 10

// hold opens the session's file and locks it against other firn processes. Tools replace a
// file by renaming another to its name, and so does this package to change a first line.
// Lines written to the old file would be lost, so hold verifies that the locked file is the
// one with the name. A session that does not exist is fresh, and no file is locked.
func (s *session) hold() error {
	for try := range holdTries {
		if err := s.reopen(); err != nil {
			return err
		}
		if s.file == nil && (try > 0 || s.placed.Load() != nil) {
			s.forget() // continuing a session must not create another
			return fmt.Errorf("append to session %s: %w: %s removed its file", s.id, firn.ErrReplaced, s.st.tool.Name())
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

// release releases the file.
func (s *session) release() error {
	if s.file == nil {
		return nil
	}
	return s.file.Unlock()
}

// reopen opens the session's file if necessary. A session that does not exist is fresh.
func (s *session) reopen() error {
	if s.file != nil {
		return nil
	}
	t, err := s.st.transcript(s.id)
	if errors.Is(err, firn.ErrNotFound) {
		t, err = s.st.lookFor(s.id) // it may have been created just now
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
	return s.openTranscript(t, vfs.Extend)
}

// current reports whether the state of the open file is valid: it has its name, is the last
// part and was not truncated.
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

// inPlace reports whether the open file is still the one with its name.
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

// last returns the path of the last part.
func (s *session) last() string { return s.reading.t.Parts[len(s.reading.t.Parts)-1] }
