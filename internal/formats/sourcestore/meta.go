package sourcestore

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect"
)

// metaSize is up to which size a transcript is written anew to change its first
// line with every turn. A longer one keeps the line that it has: nothing here
// may take the longer the more was said.
const metaSize = 1 << 20

// clock adds up how long turns take: from what is said to the answer.
func (s *session) clock(entries []firn.Entry) {
	for _, e := range entries {
		m, ok := e.Body.(*firn.Message)
		if !ok {
			continue
		}
		if took := e.Time.Sub(s.asked); m.Role != firn.RoleUser && !s.asked.IsZero() && took > 0 {
			s.uptime += took
		}
		s.asked = e.Time
	}
}

// rewriteFirst makes the first line of a transcript say what it must, for a
// tool that keeps there what changes. The file is replaced in one step: at any
// time and after any crash there is the old one or the new one, whole.
func (s *session) rewriteFirst(meta dialect.Meta, to dialect.Target) error {
	name := vfsPath(s.st.home, s.reading.t.Parts[0])
	old, err := s.st.opts.FS.Open(name, vfs.Read)
	if err != nil {
		return err
	}
	defer old.Close() // only read
	in := bufio.NewReaderSize(old, 64<<10)
	first, err := readLine(in)
	if err != nil {
		return err
	}
	first = bytes.Clone(bytes.TrimRight(first, "\r\n"))
	to.Uptime = s.uptime
	line, ok := meta.Meta(first, to)
	if !ok || bytes.Equal(line, first) {
		return nil
	}
	before, err := old.Stat()
	if err != nil {
		return err
	}
	if err := s.replace(name, line, in, before); err != nil {
		return err
	}
	s.uptime %= time.Second
	return s.moved()
}

// replace writes the file anew with another first line. The tool takes no lock:
// if it added to the file meanwhile, or replaced it, the old one stays.
func (s *session) replace(name string, line []byte, rest io.Reader, before vfs.Info) error {
	fsys := s.st.opts.FS
	fresh := name + ".firn-new"
	if err := fsys.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := fsys.Open(fresh, vfs.Create)
	if err != nil {
		return err
	}
	_, err = io.Copy(onlyWriter{out}, io.MultiReader(bytes.NewReader(append(line, '\n')), rest))
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = unchanged(fsys, name, before)
	}
	if err == nil {
		err = fsys.Rename(fresh, name)
	}
	if err != nil {
		return errors.Join(err, fsys.Remove(fresh))
	}
	return fsys.SyncDir(filepath.Dir(name))
}

// unchanged fails if the file at a path is not as it was.
func unchanged(fsys vfs.FS, name string, before vfs.Info) error {
	now, err := fsys.Stat(name)
	if err == nil && (!now.Same(before) || now.Size != before.Size) {
		err = fmt.Errorf("%w: somebody wrote to %s at that moment", firn.ErrReplaced, name)
	}
	return err
}

// moved opens the file that took the place of the old one. The next append
// reads it from its beginning, since every position has changed.
func (s *session) moved() error {
	file, err := s.st.opts.FS.Open(vfsPath(s.st.home, s.reading.t.Parts[len(s.reading.t.Parts)-1]), vfs.Extend)
	if err != nil {
		return err
	}
	if err := file.Lock(); err != nil {
		return errors.Join(err, file.Close())
	}
	old := s.file
	s.file = file
	s.anew(s.reading.t)
	return old.Close()
}

// onlyWriter hides what else a file can do.
type onlyWriter struct{ io.Writer }
