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

// metaSize is the maximum size of a transcript that is rewritten on every turn to change
// its first line. The first line of a larger one is not updated, so that the cost of a turn
// does not grow with the transcript.
const metaSize = 1 << 20

// addUptime adds the time between each message and the next one, unless that is a user
// message: the time spent in turns.
func (s *session) addUptime(entries []firn.Entry) {
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

// rewriteFirst updates the first line of a transcript, for a tool that stores changing
// metadata there. The file is replaced atomically: after a crash it is either the old or
// the new one.
func (s *session) rewriteFirst(meta dialect.Meta, to dialect.Target) error {
	name := vfsPath(s.st.home, s.reading.t.Parts[0])
	old, err := s.st.opts.FS.Open(name, vfs.Read)
	if err != nil {
		return err
	}
	defer old.Close() // read only
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
	return s.reopenReplaced()
}

// replace rewrites the file with another first line. The tool takes no lock: if it appended
// to the file meanwhile, or replaced it, the old file stays.
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

// unchanged returns an error if the file at a path has changed.
func unchanged(fsys vfs.FS, name string, before vfs.Info) error {
	now, err := fsys.Stat(name)
	if err == nil && (!now.Same(before) || now.Size != before.Size) {
		err = fmt.Errorf("%w: another program wrote to %s at the same time", firn.ErrReplaced, name)
	}
	return err
}

// reopenReplaced opens the new file. The next append reads it from the start, since every
// position has changed.
func (s *session) reopenReplaced() error {
	file, err := s.st.opts.FS.Open(vfsPath(s.st.home, s.reading.t.Parts[len(s.reading.t.Parts)-1]), vfs.Extend)
	if err != nil {
		return err
	}
	if err := file.Lock(); err != nil {
		return errors.Join(err, file.Close())
	}
	old := s.file
	s.file = file
	s.restartReading(s.reading.t)
	return old.Close()
}

// rename renames the file to match a new title, for a tool whose file names contain the
// title. The file keeps its name if the new one is in use or renaming fails.
func (s *session) rename(layout dialect.Layout, to dialect.Target) error {
	namer, ok := layout.(dialect.Retitler)
	if !ok || s.title == "" || len(s.reading.t.Parts) != 1 {
		return nil
	}
	from := s.reading.t.Parts[0]
	next, ok := namer.Retitle(from, to)
	if !ok || !fs.ValidPath(next) {
		return nil
	}
	fsys := s.st.opts.FS
	path := vfsPath(s.st.home, next)
	if _, err := fsys.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if fsys.Rename(vfsPath(s.st.home, from), path) != nil {
		return nil
	}
	s.reading.t.Parts = []string{next}
	s.st.renamed(from, next)
	return fsys.SyncDir(filepath.Dir(path))
}

// renamed records the new path of a transcript.
func (st *Store) renamed(from, to string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, s := range st.open {
		if t := s.placed.Load(); t != nil && t.Parts[0] == from {
			moved := *t
			moved.Parts = []string{to}
			s.placed.Store(&moved)
		}
	}
	st.survey()
}

// onlyWriter hides the other methods of a file.
type onlyWriter struct{ io.Writer }
