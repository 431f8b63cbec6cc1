package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// change is a change to the table. It is applied to the current file under the lock.
type change struct {
	apply func(doc *document)
	done  bool
	err   error
}

// bind points a key to a session, replacing an earlier binding. The fields of the row are
// kept, except those about the old session. The change is durable when bind returns; after
// an error its outcome is unknown.
func (t *table) bind(key string, id firn.ID) error {
	err := t.change(func(doc *document) { t.pointKey(doc, key, id) })
	if err != nil {
		return fmt.Errorf("bind key %s to session %s: %w", key, id, err)
	}
	return nil
}

// claim is bind if the key is unbound or its session is not alive; otherwise it changes
// nothing. It returns the session the key points to afterwards, durably. A nil alive treats
// every session as alive. alive is called while the table is locked and must not use it.
func (t *table) claim(key string, id firn.ID, alive func(held firn.ID) bool) (firn.ID, error) {
	winner := id
	err := t.change(func(doc *document) {
		if r, ok := doc.row(key); ok && (alive == nil || alive(r.id())) {
			winner = r.id()
			return
		}
		t.pointKey(doc, key, id)
	})
	if err != nil {
		return "", fmt.Errorf("claim key %s for session %s: %w", key, id, err)
	}
	return winner, nil
}

// pointKey points a key to a session in the document.
func (t *table) pointKey(doc *document, key string, id firn.ID) {
	now := t.opts.Now()
	old := doc.get(key)
	r, ok := parseRow(old)
	if !ok {
		r = newRow(id, now)
		if old != nil {
			t.report("table %s had the invalid row %.80q for key %s; it was replaced", t.path, old, key)
		}
	}
	r.pointTo(id, now)
	doc.set(key, r.encode())
}

// unbind deletes a key and its row. The change is durable when unbind returns.
func (t *table) unbind(key string) error {
	if err := t.change(func(doc *document) { doc.remove(key) }); err != nil {
		return fmt.Errorf("unbind key %s: %w", key, err)
	}
	return nil
}

// unbindSession deletes all keys that point to a session. The change is durable when
// unbindSession returns.
func (t *table) unbindSession(id firn.ID) error {
	err := t.change(func(doc *document) {
		var keys []string
		for _, m := range doc.members {
			if r, ok := doc.row(m.name); ok && r.id() == id {
				keys = append(keys, m.name)
			}
		}
		doc.remove(keys...)
	})
	if err != nil {
		return fmt.Errorf("unbind the keys of session %s: %w", id, err)
	}
	return nil
}

// change applies a change to the table. Changes that arrive while the file is being written
// are combined into the next write. A nil apply only repairs a damaged table.
func (t *table) change(apply func(doc *document)) error {
	if t.opts.ReadOnly {
		return fmt.Errorf("table %s: %w: it was opened to be read only", t.path, firn.ErrUnsupported)
	}
	if err := t.startCall(); err != nil {
		return err
	}
	defer t.working.Done()
	c := &change{apply: apply}
	t.mu.Lock()
	t.queue = append(t.queue, c)
	t.mu.Unlock()

	t.write.Lock()
	defer t.write.Unlock()
	if !c.done { // not included in another batch
		t.mu.Lock()
		batch := t.queue
		t.queue = nil
		t.mu.Unlock()
		err := t.commit(batch)
		for _, c := range batch {
			c.done, c.err = true, err
		}
	}
	return c.err
}

// commit applies changes and pending rows to the current file. t.write must be held.
func (t *table) commit(batch []*change) error {
	unlock, err := t.lock()
	if err != nil {
		return err
	}
	defer unlock()
	t.removeTempFiles()
	now, err := t.reread()
	if err != nil {
		return err
	}
	next := now.fork()
	taken := t.take(now)
	moved := merge(next, taken)
	for _, c := range batch {
		if c.apply != nil {
			c.apply(next)
			moved = true
		}
	}
	if moved || now.repaired {
		if err := t.save(now, next); err != nil {
			return fmt.Errorf("table %s: %w", t.path, err)
		}
	}
	t.forgetWritten(taken)
	return nil
}

// reread reads the file under the lock. A missing file is rebuilt, a damaged one is renamed
// and repaired. If a user replaces the file in the meantime, it is read again.
func (t *table) reread() (*document, error) {
	t.mu.Lock()
	last := t.doc
	t.mu.Unlock()
	for {
		doc, err := t.read(last)
		var damaged *damage
		switch {
		case errors.Is(err, fs.ErrNotExist):
			doc, err = t.rebuildMissing(last)
		case errors.As(err, &damaged):
			doc, err = t.recoverRows(damaged, last)
		default:
			return doc, err
		}
		if err != nil {
			return nil, err
		}
		if still, err := t.unchanged(damaged); err != nil {
			return nil, err
		} else if !still {
			continue
		}
		if damaged != nil {
			err = t.replace(damaged, doc)
		}
		return doc, err
	}
}

// unchanged reports whether the file is still missing, or still has the same damage.
func (t *table) unchanged(damaged *damage) (bool, error) {
	info, err := t.fs.Stat(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return damaged == nil, nil
	}
	return damaged != nil && sameVersion(info, damaged.doc.stamp.info), err
}

// replace renames a damaged file to make way for doc.
func (t *table) replace(damaged *damage, doc *document) error {
	t.mu.Lock()
	t.doc = doc // the only copy if writing fails
	t.mu.Unlock()
	name, err := t.setAside()
	if err != nil {
		return fmt.Errorf("%w; setting it aside failed: %w", damaged, err)
	}
	t.report("%v; it was moved to %s, and %d keys were restored from it and the transcripts",
		damaged, filepath.Base(name), len(doc.members))
	return nil
}

// save writes the table if it differs from the file. If not, it syncs the directory, since
// the writer of the file may have crashed before doing so.
func (t *table) save(now, next *document) error {
	if now.saved && now.equal(next.object) {
		return vfs.SyncNames(t.fs, t.dir)
	}
	next.raw = next.encode()
	t.rotate(now)
	if err := vfs.WriteFile(t.fs, t.path, next.raw); err != nil {
		return err
	}
	next.saved = true // without a stamp, so it is compared with the file once more
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doc = next
	return nil
}

const (
	// tableLockWait is how long to wait for other processes, which hold the lock for
	// milliseconds.
	tableLockWait  = 10 * time.Second
	tableLockPause = 500 * time.Microsecond
	// tableLockTries is how often to retry if the lock file was removed.
	tableLockTries = 8
)

// lock acquires the lock between processes. The lock file is never removed by firn. If a
// user removed it while we waited, the lock is useless, and lock tries again with the new
// file.
func (t *table) lock() (unlock func(), err error) {
	path := filepath.Join(t.dir, tableLockName)
	for range tableLockTries {
		f, err := t.openLock(path)
		if err != nil {
			return nil, fmt.Errorf("lock table %s: %w", t.path, err)
		}
		ours, err := t.waitLock(f, path)
		if ours {
			return func() { f.Close() }, nil // nothing was written that could be lost
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("lock table %s: %w", t.path, err)
		}
	}
	return nil, fmt.Errorf("table %s: %w: another program keeps removing the lock file", t.path, firn.ErrLocked)
}

// openLock opens the lock file, creating it and the directory if necessary.
func (t *table) openLock(path string) (vfs.File, error) {
	f, err := t.fs.Open(path, vfs.Update)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := t.fs.MkdirAll(t.dir); err != nil {
		return nil, err
	}
	return t.fs.Open(path, vfs.Update)
}

// waitLock waits for the lock and reports whether the file is still at path.
func (t *table) waitLock(f vfs.File, path string) (bool, error) {
	for waited := time.Duration(0); ; waited += tableLockPause {
		ok, err := f.TryLock()
		if err != nil {
			return false, err
		}
		if ok {
			break
		}
		if waited >= tableLockWait {
			return false, fmt.Errorf("%w by another process for %s", firn.ErrLocked, tableLockWait)
		}
		time.Sleep(tableLockPause)
	}
	ours, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := t.fs.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && there.Same(ours), err
}

// removeTempFiles removes, once, temporary files of writers that were killed. No writer is
// active under the lock. Errors are ignored.
func (t *table) removeTempFiles() {
	if t.tempFilesRemoved {
		return
	}
	t.tempFilesRemoved = true
	entries, err := t.fs.ReadDir(t.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+tableName+".tmp-") {
			t.fs.Remove(filepath.Join(t.dir, e.Name()))
		}
	}
}
