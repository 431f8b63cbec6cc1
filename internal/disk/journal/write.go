package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// checkFiles compares the files with the journal's state. The lock must be held. Another
// process may have appended, rolled, or died during a write, and files may have been
// deleted, truncated or replaced.
func (j *Journal) checkFiles() error {
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
		if err := j.checkFirst(); err != nil {
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

// checkFirst checks that the first part is still at its path. If it is not, other processes
// lock a different file.
func (j *Journal) checkFirst() error {
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

// advance moves on to the last existing part.
func (j *Journal) advance() error {
	parts, err := partsFrom(j.fs, j.base, j.part+1)
	if err != nil || len(parts) == 0 {
		return err
	}
	if j.last != j.first { // It will be closed, and an append may still be waiting for its sync.
		if err := j.syncBeforeRoll(); err != nil {
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
	if err := j.setLast(file, newest.Number, newest.Path, false); err != nil {
		return err
	}
	j.before, j.total = before, total
	return nil
}

// setLast makes file the part to append to. The previous part is closed. Everything
// acknowledged in it is durable, so an error of Close does not matter.
func (j *Journal) setLast(file vfs.File, part int, path string, created bool) error {
	info, err := file.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("check part %s: %w", path, err), file.Close())
	}
	if j.last != j.first {
		_ = j.last.Close()
	}
	j.last, j.part, j.path, j.info, j.size = file, part, path, info, info.Size
	j.next = PartPath(j.base, part+1)
	j.state = newState(file, path, created, j.opts.Committer)
	j.state.base = j.size
	j.sealed = created
	j.tail = tail{} // it belongs to the previous part
	return nil
}

// roll starts a new part if n more bytes would exceed the size limit of this one. The old
// part is synced first, so that a later part never exists without the end of the one before
// it.
func (j *Journal) roll(n int) error {
	if limit := j.opts.MaxBytes; limit > 0 && j.total+j.size+int64(n) > limit {
		return &fullError{fmt.Errorf("append %d bytes to %s: %w: it has %d and is limited to %d", n, j.base, firn.ErrTooLarge, j.total+j.size, limit)}
	}
	if j.size == 0 || j.size+int64(n) <= j.opts.PartSize {
		return nil
	}
	if j.part >= maxPart {
		return fmt.Errorf("append to %s: %w: it has %d parts", j.base, firn.ErrTooLarge, j.part+1)
	}
	if err := j.syncBeforeRoll(); err != nil {
		return err
	}
	before, total := j.end(), j.total+j.size
	path := PartPath(j.base, j.part+1)
	file, err := j.fs.Open(path, vfs.Create)
	if err != nil {
		return fmt.Errorf("create part %s: %w: %w", path, firn.ErrNotSaved, err)
	}
	if err := j.setLast(file, j.part+1, path, true); err != nil {
		return err
	}
	j.before, j.total = before, total
	return nil
}

// syncBeforeRoll makes the last part durable before another one replaces it.
func (j *Journal) syncBeforeRoll() error {
	if j.opts.Sync == SyncNever {
		return nil
	}
	if err := j.syncLast(); err != nil {
		j.failed = fmt.Errorf("sync %s before a new part: %w: %w", j.path, firn.ErrNotSaved, err)
		return j.failed
	}
	return nil
}

// write appends data with one system call. On a short write, the file is truncated to its
// previous size.
func (j *Journal) write(data []byte) error {
	n, err := j.last.Write(data)
	if n > 0 && n < len(data) && (err == nil || errors.Is(err, io.ErrShortWrite)) {
		// The system wrote only a part without an error. Retrying returns the reason,
		// usually a full disk.
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
		return j.fail("append to "+j.base, fmt.Errorf("%w; cutting it back failed too: %w", err, cut))
	}
	return err
}

// cutBack removes n bytes that a failed append has written. It syncs, so that after a power
// cut none of them appear among the bytes of the next append.
func (j *Journal) cutBack(n int) error {
	if err := j.last.Truncate(j.size); err != nil || n == 0 {
		return err
	}
	return j.state.force()
}

// replaced stops the journal because the file at its path is a different one. Data in the
// files that are still open is saved to side files.
func (j *Journal) replaced(how string) error {
	err := fmt.Errorf("append to %s: %w: %s", j.path, firn.ErrReplaced, how)
	err = j.saveDeleted(err, j.last, j.path)
	if j.last != j.first {
		err = j.saveDeleted(err, j.first, j.base)
	}
	j.failed = err
	return err
}

// SaveDeleted saves the content of the journal's files that were deleted while open. It
// returns the same ErrReplaced as an append would, which names the side files, or nil if
// none was deleted. Call it before closing the journal: after that the data is lost.
func (j *Journal) SaveDeleted() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || j.failed != nil || !isDeleted(j.last) && !isDeleted(j.first) {
		return nil
	}
	return j.replaced("it was deleted")
}

// isDeleted reports whether an open file is not empty and has no name.
func isDeleted(file vfs.File) bool {
	info, err := file.Stat()
	return err == nil && info.Links == 0 && info.Size > 0
}

// saveDeleted saves the content of a part that has no name anymore, and adds the side file
// to the error.
func (j *Journal) saveDeleted(err error, file vfs.File, path string) error {
	info, statErr := file.Stat()
	if statErr != nil {
		return withRescue(err, "", statErr)
	}
	if info.Links > 0 || info.Size == 0 { // it still has another name, or is empty
		return err
	}
	saved, saveErr := rescue(j.fs, path, io.NewSectionReader(file, 0, info.Size), 0)
	return withRescue(err, saved, saveErr)
}

// cutShort stops the journal because another process truncated it. The removed bytes that
// are still in memory are saved to a side file.
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
		return fmt.Errorf("%w; saving the written data failed too: %w", err, saveErr)
	}
	return fmt.Errorf("%w; the written data is saved as %s", err, filepath.Base(saved))
}

// rescue saves bytes of a part, starting at an offset in it, in a side file.
func rescue(fsys vfs.FS, path string, r io.Reader, offset int64) (string, error) {
	return saveSideFile(fsys, fmt.Sprintf("%s.rescued-%d", path, offset), r)
}

// saveSideFile writes a new file durably. If the name exists, it adds a number, so that
// earlier side files are never overwritten.
func saveSideFile(fsys vfs.FS, name string, r io.Reader) (string, error) {
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
