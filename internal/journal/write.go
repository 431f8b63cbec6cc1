package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"firn"
	"firn/internal/vfs"
)

// look compares the files with what we know of them, under the lock: another
// process may have appended, rolled, or died within a write; somebody may have
// deleted, cut or swapped a file.
func (j *Journal) look() error {
	info, err := j.fs.Stat(j.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return j.replaced("it was deleted")
	case err != nil:
		return fmt.Errorf("append to %s: %w", j.base, err)
	case !info.Same(j.info):
		return j.replaced("another file is in its place")
	case info.Size < j.size:
		return j.cutShort(info.Size)
	}
	if j.last != j.first {
		if err := j.lookAtFirst(); err != nil {
			return err
		}
	}
	if info.Size > j.size {
		j.size, j.sealed = info.Size, false
	}
	switch _, err := j.fs.Stat(j.next); {
	case err == nil:
		if err := j.advance(); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("append to %s: %w", j.base, err)
	}
	if !j.sealed {
		return j.repairTail()
	}
	return nil
}

// lookAtFirst sees whether the first part is still in its place: others would
// lock another file than we do.
func (j *Journal) lookAtFirst() error {
	switch info, err := j.fs.Stat(j.base); {
	case errors.Is(err, fs.ErrNotExist):
		return j.replaced("its first part was deleted")
	case err != nil:
		return fmt.Errorf("append to %s: %w", j.base, err)
	case !info.Same(j.firstInfo):
		return j.replaced("another file is in the place of its first part")
	}
	return nil
}

// advance goes on to the last part there is.
func (j *Journal) advance() error {
	parts, err := partsFrom(j.fs, j.base, j.part+1)
	if err != nil || len(parts) == 0 {
		return err
	}
	if j.last != j.first { // it will be closed, and an append may still wait for its sync
		if err := j.finish(); err != nil {
			return err
		}
	}
	newest := parts[len(parts)-1]
	file, err := j.fs.Open(newest.Path, vfs.Extend)
	if err != nil {
		return fmt.Errorf("open part %s: %w", newest.Path, err)
	}
	before := j.end()
	total := j.total + j.size
	for _, p := range parts[:len(parts)-1] {
		if p.Size > 0 {
			before = Place(p.Number, p.Size)
		}
		total += p.Size
	}
	if err := j.adopt(file, newest.Number, newest.Path, false); err != nil {
		return err
	}
	j.before, j.total = before, total
	return nil
}

// adopt makes file the part that is appended to. The part before it is closed:
// what was promised of it is durable, so that nothing depends on how that ends.
func (j *Journal) adopt(file vfs.File, part int, path string, created bool) error {
	info, err := file.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("look at part %s: %w", path, err), file.Close())
	}
	if j.last != j.first {
		_ = j.last.Close()
	}
	j.last, j.part, j.path, j.info, j.size = file, part, path, info, info.Size
	j.next = PartPath(j.base, part+1)
	j.state = newState(file, path, created, j.opts.Committer)
	j.state.base = j.size
	j.sealed = created
	j.tail = tail{} // which is of the part before
	return nil
}

// roll begins a new part if n more bytes would be too many for this one. The
// old part is made durable first: a later part must never be there without
// the end of the one before it.
func (j *Journal) roll(n int) error {
	if limit := j.opts.MaxBytes; limit > 0 && j.total+j.size+int64(n) > limit {
		return &full{fmt.Errorf("append %d bytes to %s: %w: it has %d and is limited to %d", n, j.base, firn.ErrTooLarge, j.total+j.size, limit)}
	}
	if j.size == 0 || j.size+int64(n) <= j.opts.PartSize {
		return nil
	}
	if j.part >= maxPart {
		return fmt.Errorf("append to %s: %w: it has %d parts", j.base, firn.ErrTooLarge, j.part+1)
	}
	if err := j.finish(); err != nil {
		return err
	}
	before, total := j.end(), j.total+j.size
	path := PartPath(j.base, j.part+1)
	file, err := j.fs.Open(path, vfs.Create)
	if err != nil {
		return fmt.Errorf("begin part %s: %w: %w", path, firn.ErrNotSaved, err)
	}
	if err := j.adopt(file, j.part+1, path, true); err != nil {
		return err
	}
	j.before, j.total = before, total
	return nil
}

// finish makes the last part durable before another takes its place.
func (j *Journal) finish() error {
	if j.opts.Sync == SyncNever {
		return nil
	}
	if err := j.syncLast(); err != nil {
		j.failed = fmt.Errorf("sync %s before a new part: %w: %w", j.path, firn.ErrNotSaved, err)
		return j.failed
	}
	return nil
}

// write adds data with one system call. If not all of it could be written, the
// file is cut back to where it was.
func (j *Journal) write(data []byte) error {
	n, err := j.last.Write(data)
	if n > 0 && n < len(data) && (err == nil || errors.Is(err, io.ErrShortWrite)) {
		// The system took only part of it and does not say why; asked again, it
		// does: a disk that is full, mostly.
		var more int
		more, err = j.last.Write(data[n:])
		n += more
	}
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err == nil {
		j.size += int64(n)
		j.tail.add(data, j.size)
		return nil
	}
	err = fmt.Errorf("append %d bytes to %s: %w: %w", len(data), j.path, firn.ErrNotSaved, err)
	if cut := j.cutBack(n); cut != nil {
		return j.poison("append to "+j.base, fmt.Errorf("%w; cutting it back failed too: %w", err, cut))
	}
	return err
}

// cutBack takes n bytes off again that a failed append has written. It is
// synced, so that after a power cut none of them are on disk among those that
// the next append puts in their place.
func (j *Journal) cutBack(n int) error {
	if err := j.last.Truncate(j.size); err != nil || n == 0 {
		return err
	}
	return j.state.force()
}

// replaced stops the journal because the file at its path is not ours any
// more. What we wrote is still in the files we hold: it is saved beside.
func (j *Journal) replaced(how string) error {
	err := fmt.Errorf("append to %s: %w: %s", j.path, firn.ErrReplaced, how)
	err = j.saveDeleted(err, j.last, j.path)
	if j.last != j.first {
		err = j.saveDeleted(err, j.first, j.base)
	}
	j.failed = err
	return err
}

// SaveDeleted saves beside what is in files of the journal that were deleted
// while it had them open, and returns why, as appending would: an ErrReplaced
// that names where, or nil if none was deleted. It is for who is about to close
// the journal: after that nobody has the bytes.
func (j *Journal) SaveDeleted() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || j.failed != nil || !isDeleted(j.last) && !isDeleted(j.first) {
		return nil
	}
	return j.replaced("it was deleted")
}

// isDeleted reports whether an open file with something in it has no name.
func isDeleted(file vfs.File) bool {
	info, err := file.Stat()
	return err == nil && info.Links == 0 && info.Size > 0
}

// saveDeleted saves what is in a part that has no name any more, and says so
// in the error.
func (j *Journal) saveDeleted(err error, file vfs.File, path string) error {
	info, statErr := file.Stat()
	if statErr != nil {
		return withRescue(err, "", statErr)
	}
	if info.Links > 0 || info.Size == 0 { // it lives on under another name, or there is nothing
		return err
	}
	saved, saveErr := rescue(j.fs, path, io.NewSectionReader(file, 0, info.Size), 0)
	return withRescue(err, saved, saveErr)
}

// cutShort stops the journal because somebody took bytes off its end. Those of
// them that we remember are saved beside.
func (j *Journal) cutShort(size int64) error {
	err := fmt.Errorf("append to %s: %w: it was cut from %d bytes to %d", j.path, firn.ErrReplaced, j.size, size)
	lost, from := j.tail.after(size)
	if len(lost) == 0 {
		j.failed = err
		return err
	}
	saved, saveErr := rescue(j.fs, j.path, newReader(lost), from)
	j.failed = withRescue(err, saved, saveErr)
	return j.failed
}

func withRescue(err error, saved string, saveErr error) error {
	if saveErr != nil {
		return fmt.Errorf("%w; saving what we wrote failed too: %w", err, saveErr)
	}
	return fmt.Errorf("%w; what we wrote is saved as %s", err, filepath.Base(saved))
}

// rescue saves bytes of a part, beginning at an offset in it, in a side file.
func rescue(fsys vfs.FS, path string, r io.Reader, offset int64) (string, error) {
	return saveBeside(fsys, fmt.Sprintf("%s.rescued-%d", path, offset), r)
}

// saveBeside writes a new file durably. If the name is taken, a number is
// added: what was saved before is never overwritten.
func saveBeside(fsys vfs.FS, name string, r io.Reader) (string, error) {
	path := name
	file, err := fsys.Open(path, vfs.Create)
	for n := 2; errors.Is(err, fs.ErrExist) && n < 1000; n++ {
		path = fmt.Sprintf("%s-%d", name, n)
		file, err = fsys.Open(path, vfs.Create)
	}
	if err != nil {
		return "", fmt.Errorf("save bytes as %s: %w", path, err)
	}
	_, err = io.Copy(file, r)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = fsys.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("save bytes as %s: %w", path, err), fsys.Remove(path))
	}
	return path, nil
}
