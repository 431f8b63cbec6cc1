package journal

import (
	"errors"
	"fmt"
	"path/filepath"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// After a failed sync, the system may treat bytes that it could not write as written: they
// can still be read, but no later sync writes them. Such bytes are therefore rewritten in
// place before they are reported as durable.

// markUnsynced records that syncing a part failed, and from which offset on.
func (c *Committer) markUnsynced(path string, from int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unsynced == nil {
		c.unsynced = make(map[string]int64)
	}
	if known, ok := c.unsynced[path]; ok {
		from = min(from, known)
	}
	c.unsynced[path] = from
}

// unsyncedFrom returns the offset from which a part is unsynced. It reports false if no
// sync of the part has failed.
func (c *Committer) unsyncedFrom(path string) (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	from, ok := c.unsynced[path]
	return from, ok
}

// clearUnsynced records that a part is durable again.
func (c *Committer) clearUnsynced(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.unsynced, path)
}

// Confirm makes everything from a position on durable, regardless of which process wrote it
// and whether its syncs failed. It rewrites these bytes unless this journal wrote and
// synced them itself. If it fails, nothing has changed.
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
		if err := j.checkFiles(); err != nil {
			return err
		}
		part, offset := Split(from)
		if part == j.part && offset >= j.state.base && j.state.isSynced(j.size) {
			return nil
		}
		for ; part <= j.part; part, offset = part+1, 0 {
			if err := j.rewrite(PartPath(j.base, part), offset); err != nil {
				return fmt.Errorf("sync %s: %w: %w", j.base, firn.ErrUnknownOutcome, err)
			}
		}
		return nil
	})
}

// rewrite writes the bytes of a part from an offset on again and syncs them and the part's
// name. The lock must be held.
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

// copyOver overwrites the bytes of a file from an offset on with themselves.
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
