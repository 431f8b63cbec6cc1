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

// chunk is how much is read at once.
const chunk = 1 << 20

// original is a file of the tool that is being read, as it stood when it was
// opened: what is added meanwhile is left to the next run.
type original struct {
	vfs.File
	vfs.Info
	path string
}

// file brings one file up to date. What concerns it alone is a [skipped].
func (m *Mirror) file(it item, known map[string]Stand, done *Done) error {
	from, to := filepath.Join(m.Home, filepath.FromSlash(it.name)), filepath.Join(m.Dir, filepath.FromSlash(it.name))
	theirs, err := m.FS.Stat(from)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !theirs.Mode.IsRegular() {
		return nil // it went away just now; what we have stays
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
		return skipped{fmt.Errorf("%s is in its place in the mirror: %w", to, firn.ErrConflict)}
	case there && ours.Same(theirs): // a link: to add to it would be to add to theirs
		known[it.name] = Stand{Size: theirs.Size, Modified: theirs.ModTime.UTC()}
		return nil
	case there && known[it.name].is(theirs, ours):
		return nil
	}
	in, err := m.FS.Open(from, vfs.Read)
	if err != nil {
		return skipped{err}
	}
	defer in.Close() // only read
	if theirs, err = in.Stat(); err != nil {
		return skipped{err}
	}
	stand, err := m.bring(&original{in, theirs, from}, it, to, there, known[it.name], done)
	if err == nil {
		known[it.name] = stand
	}
	return err
}

// bring makes our file what theirs is.
func (m *Mirror) bring(in *original, it item, to string, there bool, old Stand, done *Done) (Stand, error) {
	if !there {
		return m.begin(in, it, to, done)
	}
	p, err := m.compare(in, to)
	switch {
	case err != nil:
		return Stand{}, err
	case p.same == in.Size && p.same == p.ours.Size && old.holds(p.ours): // the same still, and durable
		return m.stand(in, p.ours, p.sum), nil
	case p.ours.Links <= 1 && p.same == p.ours.Size:
		before := done.Bytes
		stand, err := m.copy(in, to, vfs.Extend, p, done)
		if done.Bytes > before {
			done.Grown++
		}
		return stand, err
	case it.side:
		return m.replace(in, to, done) // what it said is not worth keeping
	}
	damaged, err := in.was(old, p.ours.Size)
	if err != nil {
		return Stand{}, err
	}
	if damaged && p.ours.Links <= 1 {
		done.Healed++
		return m.heal(in, to, p, done)
	}
	if noted, err := m.noted(in, to, p.ours.Size); err != nil {
		return Stand{}, err
	} else if noted {
		return m.replace(in, to, done)
	}
	if err := m.putAside(to); err != nil {
		return Stand{}, err
	}
	done.Kept++
	return m.copy(in, to, vfs.Create, begun(), done)
}

// putAside gives our file a name that nothing has.
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

// linker is a file system that can give a file a second name.
type linker interface {
	Link(from, to string) error
}

// begin makes a file that is not there.
func (m *Mirror) begin(in *original, it item, to string, done *Done) (Stand, error) {
	if err := m.FS.MkdirAll(filepath.Dir(to)); err != nil {
		return Stand{}, err
	}
	if l, ok := m.FS.(linker); ok && m.Link && !it.side {
		if err := l.Link(in.path, to); err == nil {
			done.Linked++
			return Stand{Size: in.Size, Modified: in.ModTime.UTC()}, m.FS.SyncDir(filepath.Dir(to))
		}
	}
	done.Copied++
	return m.copy(in, to, vfs.Create, begun(), done)
}

// progress is how much of a file we have for sure: the first bytes that are
// the same on both sides, and their sum.
type progress struct {
	ours vfs.Info
	same int64
	sum  hash.Hash
}

func begun() progress { return progress{sum: sha256.New()} }

// compare finds out how much of our file is the beginning of theirs.
func (m *Mirror) compare(in *original, to string) (progress, error) {
	p := begun()
	f, err := m.FS.Open(to, vfs.Read)
	if err != nil {
		return p, err
	}
	defer f.Close() // only read
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
		p.sum.Write(a[:equal]) // it never fails
		p.same += int64(equal)
		if int64(equal) < n {
			break
		}
	}
	return p, nil
}

// readAt fills a piece.
func readAt(f io.ReaderAt, piece []byte, at int64) error {
	n, err := f.ReadAt(piece, at)
	switch {
	case n == len(piece):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return fmt.Errorf("%w: it became shorter while it was read", firn.ErrReplaced)
	}
	return err
}

// common is how many bytes two pieces begin with alike.
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

// was reports whether the tool's file still begins with all that we noted to
// have, in which case a copy of ours that is no longer and differs is damaged.
func (o *original) was(old Stand, ours int64) (bool, error) {
	if old.Sum == "" || ours > old.Held || o.Size < old.Held {
		return false, nil
	}
	sum := sha256.New()
	if _, err := io.CopyBuffer(sum, io.NewSectionReader(o, 0, old.Held), make([]byte, chunk)); err != nil {
		return false, skipped{err}
	}
	return hex.EncodeToString(sum.Sum(nil)) == old.Sum, nil
}

// heal cuts our file where it is damaged, and copies the rest again. A crash
// between the two leaves the beginning of the file, which is gone on with.
func (m *Mirror) heal(in *original, to string, p progress, done *Done) (Stand, error) {
	f, err := m.FS.Open(to, vfs.Change)
	if err != nil {
		return Stand{}, err
	}
	if err := errors.Join(f.Truncate(p.same), f.Close()); err != nil {
		return Stand{}, err
	}
	return m.copy(in, to, vfs.Extend, p, done)
}

// copy copies what we do not have yet, and makes it durable. A copy that is cut
// short is the beginning of the file, which the next run goes on with.
func (m *Mirror) copy(in *original, to string, mode vfs.Mode, p progress, done *Done) (Stand, error) {
	out, err := m.FS.Open(to, mode)
	if err != nil {
		return Stand{}, err
	}
	rest := &reading{r: io.NewSectionReader(in, p.same, in.Size-p.same)}
	n, err := io.CopyBuffer(onlyWriter{io.MultiWriter(out, p.sum)}, rest, make([]byte, chunk))
	done.Bytes += n
	if err == nil {
		err = out.Sync()
	}
	ours, statErr := out.Stat()
	if err = errors.Join(err, statErr, out.Close()); err != nil {
		if rest.err != nil {
			return Stand{}, skipped{rest.err}
		}
		return Stand{}, err
	}
	return m.stand(in, ours, p.sum), m.FS.SyncDir(filepath.Dir(to))
}

// stand is how a file and our copy of it stand now.
func (m *Mirror) stand(in *original, ours vfs.Info, sum hash.Hash) Stand {
	return Stand{
		Size: in.Size, Modified: trusted(in.ModTime, m.Now()),
		Held: ours.Size, HeldModified: ours.ModTime.UTC(), Sum: hex.EncodeToString(sum.Sum(nil)),
	}
}

// reading remembers that it was reading that failed.
type reading struct {
	r   io.Reader
	err error
}

// Read reads.
func (r *reading) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// onlyWriter hides what else a file can do.
type onlyWriter struct{ io.Writer }
