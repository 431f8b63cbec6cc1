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

// loadPrefix begins the names of files that are being made, and are nobody's
// before they have another.
const loadPrefix = ".loading-"

// loading is a session that is being made from lines: files beside those of the
// others, which get their names when all are durable, the first part last.
type loading struct {
	st   *Store
	id   firn.ID
	dir  string
	base string // the name of the first part
	// file is the part that is written, of size bytes, buf what waits to be.
	file  vfs.File
	size  int64
	buf   []byte
	names []string
	// named are those of them that have their names, or may have.
	named []string
}

// loadNew makes a session that is not there.
func (st *Store) loadNew(ctx context.Context, id firn.ID, lines iter.Seq2[[]byte, error], added *int) (err error) {
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
			l, err = st.beginLoading(id, line)
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
		return nil // a session without a line is none
	}
	if err := l.finish(); err != nil {
		return err
	}
	return st.alone(ctx, func() error {
		if _, err := st.whereAny(id); !errors.Is(err, firn.ErrNotFound) {
			return errors.Join(err, fmt.Errorf("%w: somebody has begun it here meanwhile", firn.ErrConflict))
		}
		return l.name()
	})
}

// beginLoading finds out from the first line whose the session is, and clears
// away what one that was interrupted has left.
func (st *Store) beginLoading(id firn.ID, first []byte) (*loading, error) {
	header := firn.Entry{Body: &firn.Header{}}
	if e, err := st.dialect.Decode(first); err == nil {
		if h, ok := e.Body.(*firn.Header); ok && checkAgent(cmp.Or(h.Agent, store.AgentOf(h.Key))) == nil {
			header = e
		}
	}
	_, path, err := st.place(id, []firn.Entry{header})
	if err != nil {
		return nil, err
	}
	l := &loading{st: st, id: id, dir: filepath.Dir(path), base: filepath.Base(path)}
	return l, l.sweep()
}

// sweep removes what was left of the same session. Parts that have their names
// already are ours only if the first has not: else they are all there is of
// something.
func (l *loading) sweep() error {
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
	// The first part goes last: with it, the others are known as ours.
	slices.SortFunc(unnamed, func(a, b string) int { return len(b) - len(a) })
	for _, name := range append(named, unnamed...) {
		if _, err := l.st.discard(filepath.Join(l.dir, name)); err != nil {
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
	if len(line) >= loadBytes { // which is not copied once more
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

// partSize is when the next part begins.
func (l *loading) partSize() int64 {
	if l.st.opts.PartSize > 0 {
		return l.st.opts.PartSize
	}
	return journal.DefaultPartSize
}

// next begins the next part.
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

// finish makes the part durable that is being written.
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

// name gives the parts their names, the first one last: with it they are a
// session.
func (l *loading) name() error {
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

// discard removes what was made. Parts that have their names go before the first one,
// and only if that has not: with it they are a session.
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

// Replace makes a session that was carried here hold other lines than it does:
// somebody has purged some of it where it came from. It is for copies, in which
// nobody else writes. The lines are read twice: if they cannot be, or one is over the
// limit, the session stays as it is.
func (st *Store) Replace(ctx context.Context, id firn.ID, lines iter.Seq2[[]byte, error]) (n int, err error) {
	if err := st.beginChange(ctx); err != nil {
		return 0, err
	}
	defer st.end()
	for line, err := range lines {
		if err == nil {
			err = st.checkLine(line)
		}
		if err != nil {
			return 0, fmt.Errorf("replace session %s: %w", id, err)
		}
	}
	if err := st.alone(ctx, func() error { return st.setAside(id) }); err != nil {
		return 0, fmt.Errorf("replace session %s: %w", id, err)
	}
	if err := st.loadNew(ctx, id, lines, &n); err != nil {
		return 0, fmt.Errorf("replace session %s: %w", id, err)
	}
	return n, nil
}

// setAside erases the files of a session, which is to be made anew.
func (st *Store) setAside(id firn.ID) error {
	if err := errors.Join(st.letGo(id), st.committer.Checkpoint()); err != nil {
		return err
	}
	places, err := st.placesOf(id)
	if err != nil {
		return err
	}
	receipt := store.Receipt{Session: id}
	for _, p := range places {
		if err := st.erasePlace(p, &receipt); err != nil {
			return err
		}
	}
	if _, err := st.discardDir(st.binDir(id)); err != nil {
		return err
	}
	st.renew(id)
	return nil
}
