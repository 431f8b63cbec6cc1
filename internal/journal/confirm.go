package journal

import (
	"errors"
	"fmt"
	"path/filepath"

	"firn"
	"firn/internal/vfs"
)

// After a failed sync the system may take the bytes for written that it could not
// write: they can be read, and no later sync writes them. What may be lost so is
// written again, the same bytes at the same place, before anything is promised of it.

// doubt notes that a part could not be synced, and from where on.
func (c *Committer) doubt(path string, from int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.doubts == nil {
		c.doubts = make(map[string]int64)
	}
	if known, ok := c.doubts[path]; ok {
		from = min(from, known)
	}
	c.doubts[path] = from
}

// doubtful reports whether a part could not be synced, and from where on.
func (c *Committer) doubtful(path string) (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	from, ok := c.doubts[path]
	return from, ok
}

// trust notes that what was doubted is durable.
func (c *Committer) trust(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.doubts, path)
}

// Confirm makes durable what stands from a position on, whoever wrote it and
// whatever became of their syncs. It takes as long as there are bytes, unless this
// journal has written and synced them itself. If it fails nothing has changed.
func (j *Journal) Confirm(from firn.Pos) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil {
		return err
	}
	if j.opts.Sync == SyncNever {
		return nil
	}
	return j.locked(func() error {
		if err := j.look(); err != nil {
			return err
		}
		part, offset := Split(from)
		if part == j.part && offset >= j.state.base && j.state.isSynced(j.size) {
			return nil
		}
		for ; part <= j.part; part, offset = part+1, 0 {
			if err := j.rewrite(PartPath(j.base, part), offset); err != nil {
				return fmt.Errorf("confirm what is in %s: %w: %w", j.base, firn.ErrUnknownOutcome, err)
			}
		}
		return nil
	})
}

// rewrite writes the bytes of a part from an offset on again and syncs them, and
// the part's name. The lock must be held.
func (j *Journal) rewrite(path string, offset int64) error {
	file, err := j.fs.Open(path, vfs.Change)
	if err != nil {
		return err
	}
	err = copyOver(file, offset)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return j.fs.SyncDir(filepath.Dir(path))
}

// copyOver writes the bytes of a file from an offset on over themselves.
func copyOver(file vfs.File, offset int64) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for offset < info.Size {
		piece := buf[:min(int64(len(buf)), info.Size-offset)]
		if _, err := file.ReadAt(piece, offset); err != nil {
			return err
		}
		if _, err := file.WriteAt(piece, offset); err != nil {
			return err
		}
		offset += int64(len(piece))
	}
	return nil
}
