package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// loadPrefix is the prefix of temporary files of a session that is being loaded.
const loadPrefix = ".loading-"

// loading creates a session from lines. It writes temporary files in the final directory,
// and renames them when all are durable, the first part last.
type loading struct {
	st   *loader
	id   firn.ID
	dir  string
	base string // name of the first part
	// file is the part being written, size its length, buf data not yet written.
	file  vfs.File
	size  int64
	buf   []byte
	names []string
	// named are the names that were renamed, or may have been.
	named []string
}

// loadNew creates a session that does not exist.
func (st *loader) loadNew(ctx context.Context, id firn.ID, lines iter.Seq2[[]byte, error], added *int) (err error) {
	var l *loading
	defer func() {
		if err != nil && l != nil {
			*added = 0
			err = errors.Join(err, l.discard())
		}
	}()
	for line, err := range lines {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = st.checkLine(line)
		}
		if err == nil && l == nil {
			l, err = st.startLoading(id, line)
		}
		if err == nil {
			err = l.add(line)
		}
		if err != nil {
			return err
		}
		*added++
	}
	if l == nil {
		return nil // a session needs at least one line
	}
	if err := l.finish(); err != nil {
		return err
	}
	return st.mover.withMoveLock(ctx, func() error {
		if _, err := st.findTranscript(id); !errors.Is(err, firn.ErrNotFound) {
			return errors.Join(err, fmt.Errorf("%w: it was created here meanwhile", firn.ErrConflict))
		}
		defer st.markNew()()
		return l.publish()
	})
}

// startLoading determines the agent from the first line and removes the remains of an
// interrupted load.
func (st *loader) startLoading(id firn.ID, first []byte) (*loading, error) {
	header := firn.Entry{Body: &firn.Header{}}
	if e, err := st.dialect.Decode(first); err == nil {
		if h, ok := e.Body.(*firn.Header); ok && checkAgent(cmp.Or(h.Agent, store.AgentOf(h.Key))) == nil {
			header = e
		}
	}
	_, path, err := st.open.choosePath(id, []firn.Entry{header})
	if err != nil {
		return nil, err
	}
	l := &loading{st: st, id: id, dir: filepath.Dir(path), base: filepath.Base(path)}
	return l, l.removeLeftovers()
}

// removeLeftovers removes the files of an interrupted load of the same session. Parts with
// final names are removed only if the first part still has its temporary name. Otherwise
// they may be the only copy of their data, and it returns ErrConflict.
func (l *loading) removeLeftovers() error {
	entries, err := l.st.fs.ReadDir(l.dir)
	if err != nil {
		return err
	}
	var named, unnamed []string
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Name(), loadPrefix); ok && journal.BasePath(name) == l.base {
			unnamed = append(unnamed, e.Name())
		} else if journal.BasePath(e.Name()) == l.base {
			named = append(named, e.Name())
		}
	}
	if len(named) > 0 && !slices.Contains(unnamed, loadPrefix+l.base) {
		return fmt.Errorf("%w: %s is in the way, a part of a session without its first", firn.ErrConflict, filepath.Join(l.dir, named[0]))
	}
	// The first part is removed last: while it exists, the others are known to be
	// leftovers.
	slices.SortFunc(unnamed, func(a, b string) int { return len(b) - len(a) })
	for _, name := range append(named, unnamed...) {
		if _, err := l.st.removeFile(filepath.Join(l.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// add writes a line.
func (l *loading) add(line []byte) error {
	n := int64(len(line)) + 1
	if l.file == nil || l.size > 0 && l.size+n > l.partSize() {
		if err := l.next(); err != nil {
			return err
		}
	}
	l.size += n
	if len(line) >= loadBytes { // avoids copying it
		if err := l.flush(); err != nil {
			return err
		}
		if _, err := l.file.Write(line); err != nil {
			return fmt.Errorf("%w: %w", firn.ErrNotSaved, err)
		}
		line = nil
	}
	l.buf = append(append(l.buf, line...), '\n')
	if len(l.buf) < loadBytes {
		return nil
	}
	return l.flush()
}

// partSize is the maximum size of a part.
func (l *loading) partSize() int64 {
	if l.st.opts.PartSize > 0 {
		return l.st.opts.PartSize
	}
	return journal.DefaultPartSize
}

// next starts the next part.
func (l *loading) next() error {
	if err := l.finish(); err != nil {
		return err
	}
	name := filepath.Base(journal.PartPath(filepath.Join(l.dir, l.base), len(l.names)))
	file, err := l.st.fs.Open(filepath.Join(l.dir, loadPrefix+name), vfs.Create)
	if err != nil {
		return err
	}
	l.file, l.size, l.names = file, 0, append(l.names, name)
	return nil
}

func (l *loading) flush() error {
	if len(l.buf) == 0 {
		return nil
	}
	_, err := l.file.Write(l.buf)
	l.buf = l.buf[:0]
	if err != nil {
		return fmt.Errorf("%w: %w", firn.ErrNotSaved, err)
	}
	return nil
}

// finish syncs and closes the current part.
func (l *loading) finish() error {
	if l.file == nil {
		return nil
	}
	err := l.flush()
	if err == nil && l.st.opts.Sync != SyncNever {
		err = l.file.Sync()
	}
	err = errors.Join(err, l.file.Close())
	l.file = nil
	return err
}

// publish gives the parts their final names, the first part last: this creates the session.
func (l *loading) publish() error {
	for _, name := range slices.Backward(l.names) {
		if name == l.base {
			if err := l.st.fs.SyncDir(l.dir); err != nil {
				return err
			}
		}
		l.named = append(l.named, name)
		if err := l.st.fs.Rename(filepath.Join(l.dir, loadPrefix+name), filepath.Join(l.dir, name)); err != nil {
			return err
		}
	}
	return l.st.fs.SyncDir(l.dir)
}

// discard removes the temporary files. Renamed parts are removed first, and only if the
// first part was not renamed: otherwise the session exists.
func (l *loading) discard() error {
	var errs []error
	if l.file != nil {
		errs = append(errs, l.file.Close())
	}
	var gone []string
	if nameless, err := l.st.exists(filepath.Join(l.dir, loadPrefix+l.base)); nameless && err == nil {
		gone = l.named
	}
	for _, name := range slices.Backward(l.names) {
		gone = append(gone, loadPrefix+name)
	}
	for _, name := range gone {
		err := l.st.fs.Remove(filepath.Join(l.dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Replace replaces the lines of a copied session, after entries were purged at its source.
// It is meant for copies without other writers. It reads the lines twice: if that fails or
// a line is too long, the session is not changed.
func (st *Store) Replace(ctx context.Context, id firn.ID, lines iter.Seq2[[]byte, error]) (n int, err error) {
	if err := st.startWrite(ctx); err != nil {
		return 0, err
	}
	defer st.finishCall()
	for line, err := range lines {
		if err == nil {
			err = st.checkLine(line)
		}
		if err != nil {
			return 0, fmt.Errorf("replace session %s: %w", id, err)
		}
	}
	if err := st.withMoveLock(ctx, func() error { return st.eraseSession(id) }); err != nil {
		return 0, fmt.Errorf("replace session %s: %w", id, err)
	}
	if err := st.loadNew(ctx, id, lines, &n); err != nil {
		return 0, fmt.Errorf("replace session %s: %w", id, err)
	}
	return n, nil
}

// eraseSession erases the files of a session that is about to be replaced.
func (st *loader) eraseSession(id firn.ID) error {
	if err := errors.Join(st.open.closeForMove(id), st.committer.Checkpoint()); err != nil {
		return err
	}
	places, err := st.eraser.fileSetsOf(id)
	if err != nil {
		return err
	}
	receipt := store.Receipt{Session: id}
	for _, p := range places {
		if err := st.eraser.eraseFileSet(p, &receipt); err != nil {
			return err
		}
	}
	if _, err := st.removeDir(st.binDir(id)); err != nil {
		return err
	}
	st.open.dropSession(id)
	return nil
}
