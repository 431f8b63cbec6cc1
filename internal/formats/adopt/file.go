package adopt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// chunk is the size of a read in bytes.
const chunk = 1 << 20

// original is an open file of the tool with its size at the time of opening. Data appended
// later is left to the next run.
type original struct {
	io.ReaderAt
	io.Closer
	vfs.Info
	// path is its location; empty for a file of a view, which exists only in memory.
	path string
}

// file updates one file of the mirror. An error that concerns only this file is of type
// [skipped].
func (m *Mirror) file(it item, known map[string]FileState, done *Result) error {
	to := filepath.Join(m.Dir, filepath.FromSlash(it.name))
	theirs, err := m.originals.stat(it.name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !theirs.Mode.IsRegular() {
		return nil // it was deleted just now; the copy stays
	}
	if err != nil {
		return skipped{err}
	}
	ours, err := m.FS.Stat(to)
	there := !errors.Is(err, fs.ErrNotExist)
	switch {
	case there && err != nil:
		return skipped{err}
	case there && !ours.Mode.IsRegular():
		return skipped{fmt.Errorf("%s in the mirror is not a regular file: %w", to, firn.ErrConflict)}
	case there && m.view == nil && ours.Same(theirs): // a hard link: appending to it would change the tool's file
		known[it.name] = FileState{Size: theirs.Size, Modified: theirs.ModTime.UTC()}
		return nil
	case there && m.view == nil && known[it.name].unchanged(theirs, ours):
		return nil
	}
	in, err := m.originals.open(it.name)
	if err != nil {
		return skipped{err}
	}
	defer in.Close() // read only
	state, err := m.update(in, it, to, there, known[it.name], done)
	if err == nil {
		known[it.name] = state
	}
	return err
}

// update makes the copy equal to the tool's file.
func (m *Mirror) update(in *original, it item, to string, there bool, old FileState, done *Result) (FileState, error) {
	if !there {
		return m.create(in, it, to, done)
	}
	p, err := m.compare(in, to)
	switch {
	case err != nil:
		return FileState{}, err
	case p.same == in.Size && p.same == p.ours.Size && old.holds(p.ours): // unchanged and durable
		return m.fileState(in, p.ours, p.sum), nil
	case p.ours.Links <= 1 && p.same == p.ours.Size:
		before := done.Bytes
		state, err := m.copy(in, to, vfs.Extend, p, done)
		if done.Bytes > before {
			done.Grown++
		}
		return state, err
	case it.side:
		return m.replace(in, to, done) // the old version is not worth keeping
	}
	damaged, err := in.stillContains(old, p.ours.Size)
	if err != nil {
		return FileState{}, err
	}
	if damaged && p.ours.Links <= 1 {
		done.Repaired++
		return m.heal(in, to, p, done)
	}
	for _, harmless := range []func(*original, string, int64) (bool, error){m.onlyMetaChanged, m.onlyUpdated} {
		if ok, err := harmless(in, to, p.ours.Size); err != nil {
			return FileState{}, err
		} else if ok {
			return m.replace(in, to, done)
		}
	}
	if err := m.putAside(to); err != nil {
		return FileState{}, err
	}
	done.Kept++
	return m.copy(in, to, vfs.Create, newProgress(), done)
}

// putAside renames the copy to an unused name.
func (m *Mirror) putAside(name string) error {
	stem := fmt.Sprintf("%s.was-%s", name, m.Now().UTC().Format("20060102T150405.000"))
	aside := stem
	for n := 2; ; n++ {
		if _, err := m.FS.Stat(aside); errors.Is(err, fs.ErrNotExist) {
			return m.FS.Rename(name, aside)
		} else if err != nil {
			return err
		}
		aside = fmt.Sprintf("%s-%d", stem, n)
	}
}

// linker is a file system that supports hard links.
type linker interface {
	Link(from, to string) error
}

// create creates a copy that does not exist yet.
func (m *Mirror) create(in *original, it item, to string, done *Result) (FileState, error) {
	if err := m.FS.MkdirAll(filepath.Dir(to)); err != nil {
		return FileState{}, err
	}
	if l, ok := m.FS.(linker); ok && m.Link && !it.side && in.path != "" {
		if err := l.Link(in.path, to); err == nil {
			done.Linked++
			return FileState{Size: in.Size, Modified: in.ModTime.UTC()}, m.FS.SyncDir(filepath.Dir(to))
		}
	}
	done.Copied++
	return m.copy(in, to, vfs.Create, newProgress(), done)
}

// progress is the verified part of a copy: the length of the common prefix of both files
// and its hash.
type progress struct {
	ours vfs.Info
	same int64
	sum  hash.Hash
}

func newProgress() progress { return progress{sum: sha256.New()} }

// compare determines how much of the copy is a prefix of the tool's file.
func (m *Mirror) compare(in *original, to string) (progress, error) {
	p := newProgress()
	f, err := m.FS.Open(to, vfs.Read)
	if err != nil {
		return p, err
	}
	defer f.Close() // read only
	if p.ours, err = f.Stat(); err != nil {
		return p, err
	}
	a, b := make([]byte, chunk), make([]byte, chunk)
	for limit := min(in.Size, p.ours.Size); p.same < limit; {
		n := min(chunk, limit-p.same)
		if err := readAt(in, a[:n], p.same); err != nil {
			return p, skipped{err}
		}
		if err := readAt(f, b[:n], p.same); err != nil {
			return p, err
		}
		equal := common(a[:n], b[:n])
		p.sum.Write(a[:equal]) // never fails
		p.same += int64(equal)
		if int64(equal) < n {
			break
		}
	}
	return p, nil
}

// readAt fills a buffer.
func readAt(f io.ReaderAt, piece []byte, at int64) error {
	n, err := f.ReadAt(piece, at)
	switch {
	case n == len(piece):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return fmt.Errorf("%w: it shrank while being read", firn.ErrReplaced)
	}
	return err
}

// common returns the length of the common prefix.
func common(a, b []byte) int {
	if bytes.Equal(a, b) {
		return len(a)
	}
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

// stillContains reports whether the tool's file still begins with the bytes recorded in
// old. If so, a copy that differs and is not longer is damaged.
func (o *original) stillContains(old FileState, ours int64) (bool, error) {
	if old.Sum == "" || ours > old.CopySize || o.Size < old.CopySize {
		return false, nil
	}
	sum := sha256.New()
	if _, err := io.CopyBuffer(sum, io.NewSectionReader(o.ReaderAt, 0, old.CopySize), make([]byte, chunk)); err != nil {
		return false, skipped{err}
	}
	return hex.EncodeToString(sum.Sum(nil)) == old.Sum, nil
}

// heal truncates the copy where it is damaged and copies the rest again. A crash in between
// leaves a prefix of the file, which the next run completes.
func (m *Mirror) heal(in *original, to string, p progress, done *Result) (FileState, error) {
	f, err := m.FS.Open(to, vfs.Change)
	if err != nil {
		return FileState{}, err
	}
	if err := errors.Join(f.Truncate(p.same), f.Close()); err != nil {
		return FileState{}, err
	}
	return m.copy(in, to, vfs.Extend, p, done)
}

// copy copies the missing rest of the file and makes it durable. An interrupted copy is a
// prefix of the file, which the next run completes.
func (m *Mirror) copy(in *original, to string, mode vfs.Mode, p progress, done *Result) (FileState, error) {
	out, err := m.FS.Open(to, mode)
	if err != nil {
		return FileState{}, err
	}
	rest := &reading{r: io.NewSectionReader(in.ReaderAt, p.same, in.Size-p.same)}
	n, err := io.CopyBuffer(onlyWriter{io.MultiWriter(out, p.sum)}, rest, make([]byte, chunk))
	done.Bytes += n
	if err == nil {
		err = out.Sync()
	}
	ours, statErr := out.Stat()
	if err = errors.Join(err, statErr, out.Close()); err != nil {
		if rest.err != nil {
			return FileState{}, skipped{rest.err}
		}
		return FileState{}, err
	}
	return m.fileState(in, ours, p.sum), m.FS.SyncDir(filepath.Dir(to))
}

// fileState returns the current state of a file and its copy.
func (m *Mirror) fileState(in *original, ours vfs.Info, sum hash.Hash) FileState {
	return FileState{
		Size: in.Size, Modified: trustedTime(in.ModTime, m.Now()),
		CopySize: ours.Size, CopyModified: ours.ModTime.UTC(), Sum: hex.EncodeToString(sum.Sum(nil)),
	}
}

// reading is a reader that records read errors.
type reading struct {
	r   io.Reader
	err error
}

// Read implements [io.Reader].
func (r *reading) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// onlyWriter hides the other methods of a file.
type onlyWriter struct{ io.Writer }
